"""The Embeddings dock: how alike sentences are to a model, by each way to pool its states."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QWidget

from app.instruments.base import Instrument, View
from app.scene import document
from core.run.embeddings import batch, sentence_ids
from core.text.special import BOS, EOS
from core.types import EmbeddingsJob, EmbeddingsView, Family, HeadRef, MaskKind, Stack


class Embeddings(Instrument):
    """Follows the batch rows of the view; more sentences stand in a list."""

    name = "embeddings"
    title = "Embeddings"
    tip = "Vectors of sentences by mean, last and first token, and how alike they are"
    shortcut = "Ctrl+Shift+M"

    def make(self) -> QWidget:
        """The list of sentences and the squares."""
        from widgets.similarity_view import SimilarityView

        self._family: Family | None = None
        self._sentences: tuple[tuple[int, ...], ...] = ()
        self._view = SimilarityView()
        self._view.asked.connect(self.asked)
        self._view.hovered.connect(self.said)
        return self._view

    def job(self, view: View) -> EmbeddingsJob | str:
        """The rows of the view and the sentences of the list, under the mask that is chosen."""
        state = view.state
        if state.family is not self._family:
            self._family = state.family
            reads_all = state.family in (Family.ENCODER, Family.ENCODER_DECODER)
            kind = MaskKind.BIDIRECTIONAL if reads_all else MaskKind.CAUSAL
            self._view.set_mask(kind, fixed=state.family is Family.ENCODER_DECODER)
        encode, kind = self.tokenizer.encode, self._view.kind
        rows = [document(replace(state, row=row), self.tokenizer) for row in range(len(state.rows))]
        texts = [[i for i in ids if i not in (BOS, EOS)] for ids in rows]
        self._view.set_rows(tuple(self.tokenizer.decode(text) for text in texts))
        texts += [encode(sentence) for sentence in self._view.sentences]
        self._sentences = tuple(sentence_ids(text, kind) for text in texts)
        try:
            inputs = batch(self._sentences, kind, state.family)
        except ValueError as error:
            return str(error)
        run = replace(view.request, inputs=inputs, head=HeadRef(Stack.DECODER), row=0)
        return EmbeddingsJob(0, run)

    def show(self, view: View, answer: object) -> None:
        """Show the squares."""
        assert isinstance(answer, EmbeddingsView)
        pieces = self.tokenizer.pieces
        self._view.set_view(answer, tuple(tuple(pieces(ids)) for ids in self._sentences))

    def refuse(self, sentence: str) -> None:
        """Say why there is nothing to compare."""
        self._view.set_empty(sentence)

    def await_answer(self) -> None:
        """Fade what is old."""
        self._view.set_stale(True)
