"""The plain text of a state, as objectives corrupt it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.scene import document, framed, sentence_ends
from app.state import RowState, initial
from core.paths import TOKENIZER
from core.text.tokenizer import BOS, EOS, MASK, Tokenizer, sentinel
from core.types import Family

TOKENS = Tokenizer.load(TOKENIZER)


def said(family: Family, row: RowState) -> str:
    ids = document(replace(initial(family), rows=(row,)), TOKENS)
    return " ".join(TOKENS.pieces(ids))


@pytest.mark.parametrize("end", [".", "!", "?", '."'])
def test_a_finished_text_has_an_end(end: str) -> None:
    text = tuple(TOKENS.encode(f"The cat sat{end}"))
    assert framed(text, TOKENS)[-1] == EOS


@pytest.mark.parametrize("text", ["The cat", "The cat,", ""])
def test_what_breaks_off_has_none(text: str) -> None:
    assert framed(tuple(TOKENS.encode(text)), TOKENS) == (BOS, *TOKENS.encode(text))


def test_what_was_generated_belongs_to_the_text() -> None:
    (stop,) = TOKENS.encode(".")[-1:]
    more = (*TOKENS.encode("sat"), stop, EOS)
    assert said(Family.DECODER, RowState("The cat", generated=more)) == "<s> The cat sat . </s>"


def test_spans_that_were_written_are_put_back_into_the_source() -> None:
    row = RowState(
        "Mia put her <extra_id_0> in the <extra_id_1>.",
        target="<extra_id_0> red",
        generated=tuple(TOKENS.encode("ball <extra_id_1> box")),
    )
    assert said(Family.ENCODER_DECODER, row) == "<s> Mia put her red ball in the box . </s>"
    open_ = replace(row, generated=())
    assert sentinel(1) in document(replace(initial(Family.ENCODER_DECODER), rows=(open_,)), TOKENS)


def test_gaps_and_words_end_no_sentence() -> None:
    ids = (BOS, MASK, *TOKENS.encode("The cat sat. Did it?"), EOS)
    assert [TOKENS.label(i) for i in sentence_ends(ids, TOKENS)] == [".", "?"]
