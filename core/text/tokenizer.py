"""A byte-level byte-pair tokenizer of 2,048 pieces: any text in, the same text out.

Source: Sennrich et al. 2016 (byte-pair encoding of words), Radford et al. 2019 (over bytes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, models, pre_tokenizers, trainers

from core.text.special import BOS, EOS, FIRST_PIECE, MASK, PAD, SPECIAL_PIECES, sentinel
from core.text.visible import visible

__all__ = ["BOS", "EOS", "MASK", "PAD", "VOCABULARY", "Tokenizer", "sentinel"]

VOCABULARY = 2048


def _byte_of_letter() -> dict[str, int]:
    """Which byte a letter of a byte-level vocabulary stands for.

    Printable bytes stand for themselves; the others are numbered on from letter 256.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(256 + n): byte for n, byte in enumerate(hidden)}


class Tokenizer:
    """Text to ids and back.

    One space is put in front of every text, so that a word is the same piece at the start of a
    text as after a space; `decode` takes it off again. A special token that is written in a text
    is recognised and swallows the space before it, which `decode` puts back: "The [MASK] sat"
    is "The", "[MASK]", "sat", and neither neighbour is cut differently for it. All other texts
    come back exactly.
    """

    def __init__(self, library: tokenizers.Tokenizer) -> None:
        self._library = library
        letters = _byte_of_letter()
        pieces = [library.id_to_token(i) or "" for i in range(library.get_vocab_size())]
        self._bytes = [
            b" " + piece.encode() if i < FIRST_PIECE else bytes(letters[letter] for letter in piece)
            for i, piece in enumerate(pieces)
        ]

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read a tokenizer that `train` wrote.

        Raises
        ------
        ValueError
            if the file is missing, is no tokenizer, or has other special tokens.
        """
        if not path.is_file():
            raise ValueError(f"There is no tokenizer file at {path}.")
        try:
            library = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # The library raises the bare class.
            raise ValueError(f"{path} is not a tokenizer file: {error}") from error
        found = tuple(library.id_to_token(i) for i in range(FIRST_PIECE))
        if found != SPECIAL_PIECES:
            raise ValueError(f"{path} begins with {found}, but must begin with {SPECIAL_PIECES}.")
        return cls(library)

    @classmethod
    def train(cls, texts: Iterable[str], path: Path) -> Tokenizer:
        """Learn the pieces from ``texts`` and write them to ``path``.

        Raises
        ------
        ValueError
            if the texts are too few to make `VOCABULARY` pieces.
        """
        library = tokenizers.Tokenizer(models.BPE())
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=[AddedToken(piece, lstrip=True) for piece in SPECIAL_PIECES],
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        library.train_from_iterator((" " + text for text in texts), trainer)
        size = library.get_vocab_size()
        if size != VOCABULARY:
            raise ValueError(f"The texts make {size} pieces, but {VOCABULARY} are needed.")
        path.parent.mkdir(parents=True, exist_ok=True)
        library.save(str(path))
        return cls(library)

    @property
    def vocabulary(self) -> int:
        """Number of pieces ``V``."""
        return len(self._bytes)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without begin and end tokens; no text gives no ids."""
        return self.encode_many([text])[0]

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of many texts at once, which is faster."""
        # A lone surrogate is no character and has no bytes.
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        found = self._library.encode_batch_fast([" " + text for text in clean])
        return [list(one.ids) if text else [] for one, text in zip(found, clean, strict=True)]

    def decode(self, ids: Iterable[int], *, structure: bool = True) -> str:
        """The text of the ids; bytes that are no character become "�".

        Parameters
        ----------
        ids : token ids, each in ``[0, V)``.
        structure : False leaves out ``<pad>``, ``<s>`` and ``</s>``.
        """
        kept = [i for i in map(int, ids) if structure or i not in (PAD, BOS, EOS)]
        data = b"".join(self._bytes[self._checked(i)] for i in kept)
        return data.decode("utf-8", "replace").removeprefix(" ")

    def label(self, token: int) -> str:
        """A short name of a token for an axis.

        The space before a word is not shown. White space alone is shown as ␣, ⏎ and ⇥; a byte
        that is no character, or a control character, as its hexadecimal value, ⟨e2⟩.
        """
        data = self._bytes[self._checked(token)]
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return "".join(f"⟨{byte:02x}⟩" for byte in data)
        return visible(text)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """`label` of every id."""
        return [self.label(int(i)) for i in ids]

    def _checked(self, token: int) -> int:
        if not 0 <= token < self.vocabulary:
            raise ValueError(f"token is {token}, but must be between 0 and {self.vocabulary - 1}.")
        return token
