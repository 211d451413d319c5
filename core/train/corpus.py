"""Documents to train on: public-domain stories and stories of our own grammar."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.text.tokenizer import BOS, EOS, Tokenizer
from core.train.stories import story

LIMIT = 220
"""The most tokens of a real document; with begin and end it fits a context of 256."""
EVERY = 20
"""Every how manieth real document is held out."""
HELD_STORIES = 150
HELD_SEED = 2**31
"""Seed of the held-out stories: training seeds are smaller."""

_SENTENCE_END = re.compile(r"(?<=[.!?;][\"']) +|(?<=[.!?;]) +")


@dataclass(frozen=True)
class Document:
    """One text; ``real`` is False for a story of our grammar."""

    text: str
    real: bool


def _is_heading(line: str) -> bool:
    """All capitals, or a short line that ends no sentence."""
    return line == line.upper() or (len(line) < 60 and line[-1].isalnum())


def chapters(folder: Path) -> Iterator[list[str]]:
    """The paragraphs between one heading and the next of every ``*.txt`` file, in order.

    Raises
    ------
    ValueError
        if the folder has no text file.
    """
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise ValueError(f"There is no .txt file in {folder}.")
    for file in files:
        chapter: list[str] = []
        for line in map(str.strip, file.read_text(encoding="utf-8").splitlines()):
            if not line or line.startswith("[Illustration"):
                continue
            if not _is_heading(line):
                chapter.append(line)
            elif chapter:
                yield chapter
                chapter = []
        if chapter:
            yield chapter


def real_documents(folder: Path, tokenizer: Tokenizer, *, limit: int = LIMIT) -> list[Document]:
    """Documents of at most ``limit`` tokens from the text files of a folder.

    Paragraphs that follow each other are put together, one a line, as long as they fit. A
    paragraph that is too long by itself is cut at sentence ends, and a sentence that is too long
    is left out.
    """
    documents: list[Document] = []
    for chapter in chapters(folder):
        cut = [part for paragraph in chapter for part in _parts(paragraph, tokenizer, limit)]
        documents += [Document(text, True) for text in _packed(cut, "\n", tokenizer, limit)]
    return list(dict.fromkeys(documents))


def _parts(paragraph: str, tokenizer: Tokenizer, limit: int) -> list[str]:
    """The paragraph, or pieces of it that fit."""
    if len(tokenizer.encode(paragraph)) <= limit:
        return [paragraph]
    return _packed(_SENTENCE_END.split(paragraph), " ", tokenizer, limit)


def _packed(parts: Sequence[str], glue: str, tokenizer: Tokenizer, limit: int) -> list[str]:
    """Join parts that follow each other, as many as fit; drop a part that never fits."""
    packed: list[str] = []
    used = limit + 1
    for part, ids in zip(parts, tokenizer.encode_many(parts), strict=True):
        size = len(ids) + 1  # The glue is one token at most.
        if size > limit + 1:
            used = limit + 1
        elif used + size <= limit:
            packed[-1] += glue + part
            used += size
        else:
            packed.append(part)
            used = size
    return packed


def grammar_documents(
    count: int, seed: int, *, exclude: frozenset[str] = frozenset()
) -> list[Document]:
    """``count`` stories that all differ and are none of ``exclude``; the same for one seed."""
    rng = random.Random(seed)
    texts: dict[str, None] = {}
    while len(texts) < count:
        text = story(rng)
        if text not in exclude:
            texts[text] = None
    return [Document(text, False) for text in texts]


def split(
    documents: Sequence[Document], *, stories: int = HELD_STORIES
) -> tuple[list[Document], list[Document]]:
    """Documents to train on and documents held out; none is in both.

    Of the real documents every 20th is held out. The stories are all for training: new ones are
    told to be held out, and none of them is a training story.
    """
    real = list(dict.fromkeys(d for d in documents if d.real))
    told = [d for d in documents if not d.real]
    held = real[EVERY - 1 :: EVERY]
    known = set(held)
    train = [d for d in real if d not in known] + told
    exclude = frozenset(d.text for d in told)
    return train, held + grammar_documents(stories, HELD_SEED, exclude=exclude)


@dataclass(frozen=True)
class TokenisedCorpus:
    """Documents as ids, each ``BOS ... EOS``, one after the other.

    Attributes
    ----------
    tokens : int16 ``[N]``, all documents.
    offsets : int64 ``[D + 1]``: document ``d`` is ``tokens[offsets[d]:offsets[d + 1]]``.
    real : bool ``[D]``, False for a story of our grammar.
    """

    tokens: NDArray[np.int16] = field(repr=False)
    offsets: NDArray[np.int64] = field(repr=False)
    real: NDArray[np.bool_] = field(repr=False)

    @classmethod
    def build(cls, documents: Sequence[Document], tokenizer: Tokenizer) -> TokenisedCorpus:
        """Tokenise the documents, in order."""
        rows = [[BOS, *ids, EOS] for ids in tokenizer.encode_many([d.text for d in documents])]
        sizes = np.array([len(row) for row in rows], np.int64)
        return cls(
            tokens=np.array([i for row in rows for i in row], np.int16),
            offsets=np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
            real=np.array([d.real for d in documents], np.bool_),
        )

    def __len__(self) -> int:
        return len(self.real)

    def document(self, index: int) -> NDArray[np.int16]:
        """The ids of one document, int16 ``[T]``, a view."""
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each document, begin and end included, int64 ``[D]``."""
        return np.diff(self.offsets)

    def only(self, *, real: bool) -> TokenisedCorpus:
        """The real documents alone, or the stories alone."""
        chosen = np.flatnonzero(self.real == real)
        sizes = self.lengths()[chosen]
        keep = np.repeat(self.real == real, self.lengths())
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        return TokenisedCorpus(self.tokens[keep], offsets, self.real[chosen])

    def save(self, path: Path) -> None:
        """Write the corpus as one ``.npz`` file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, tokens=self.tokens, offsets=self.offsets, real=self.real)

    @classmethod
    def load(cls, path: Path) -> TokenisedCorpus:
        """Read what `save` wrote.

        Raises
        ------
        ValueError
            if the file is missing.
        """
        if not path.is_file():
            raise ValueError(f"There is no corpus file at {path}.")
        with np.load(path) as arrays:
            return cls(arrays["tokens"], arrays["offsets"], arrays["real"])


def prepare(
    folder: Path, tokenizer: Tokenizer, *, stories: int = 20_000, seed: int = 0
) -> tuple[TokenisedCorpus, TokenisedCorpus]:
    """Everything that training needs: the corpus to train on and the one held out."""
    documents = real_documents(folder, tokenizer) + grammar_documents(stories, seed)
    train, held = split(documents)
    return TokenisedCorpus.build(train, tokenizer), TokenisedCorpus.build(held, tokenizer)


def tokenizer_texts(folder: Path, *, stories: int = 20_000, seed: int = 0) -> Iterator[str]:
    """Texts to learn the tokenizer from: the real ones repeated until they weigh as much."""
    told = [d.text for d in grammar_documents(stories, seed)]
    real = ["\n".join(chapter) for chapter in chapters(folder)]
    weight = max(1, round(sum(map(len, told)) / sum(map(len, real))))
    yield from told
    for _ in range(weight):
        yield from real
