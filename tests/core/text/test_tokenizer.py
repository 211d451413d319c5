from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.special import FIRST_PIECE, SENTINELS, SPECIAL_PIECES
from core.text.tokenizer import BOS, EOS, MASK, PAD, VOCABULARY, Tokenizer, sentinel

FILE = Path(__file__).parents[3] / "assets" / "tokenizer" / "tokenizer.json"
TOKENIZER = Tokenizer.load(FILE)


def no_special(text: str) -> bool:
    return not any(piece in text for piece in SPECIAL_PIECES)


def test_vocabulary_has_2048_pieces_with_the_special_ones_first() -> None:
    assert TOKENIZER.vocabulary == VOCABULARY == 2048
    assert (PAD, BOS, EOS, MASK) == (0, 1, 2, 3)
    assert TOKENIZER.pieces(range(FIRST_PIECE)) == list(SPECIAL_PIECES)
    assert [sentinel(n) for n in range(SENTINELS)] == list(range(4, 20))


@pytest.mark.parametrize("n", [-1, 16])
def test_a_sentinel_out_of_range_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match="between 0 and 15"):
        sentinel(n)


@given(st.text().filter(no_special))
def test_every_text_comes_back(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    assert all(FIRST_PIECE <= i < VOCABULARY for i in ids)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "  two",
        "naïve café",
        "日本語",
        "😀👩‍👩‍👧",
        "a\n\nb\t c ",
        "“quoted”",
        "\0\x7f",
        "Ġ ĊÂ",
    ],
)
def test_chosen_texts_come_back(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_no_text_gives_no_ids() -> None:
    assert TOKENIZER.encode("") == []
    assert TOKENIZER.encode_many([]) == []


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    assert TOKENIZER.decode(TOKENIZER.encode("a\ud800b")) == "a?b"


def test_a_word_is_the_same_piece_at_the_start_and_later() -> None:
    first, *_ = TOKENIZER.encode("The cat")
    assert TOKENIZER.encode("See The cat")[-2] == first


@pytest.mark.parametrize(
    ("text", "plain", "at"),
    [
        ("The [MASK] sat on the mat.", "The cat sat on the mat.", 1),
        ("The cat [MASK] on the mat.", "The cat sat on the mat.", 2),
        ("The cat sat on the [MASK].", "The cat sat on the mat.", 5),
        ("[MASK] cat sat on the mat.", "The cat sat on the mat.", 0),
    ],
)
def test_a_mask_leaves_its_neighbours_alone(text: str, plain: str, at: int) -> None:
    expected = TOKENIZER.encode(plain)
    expected[at] = MASK
    assert TOKENIZER.encode(text) == expected
    assert TOKENIZER.decode(expected) == text


def test_sentinels_and_begin_and_end_are_recognised() -> None:
    text = "Thank you <extra_id_0> me to your party <extra_id_15> week."
    ids = TOKENIZER.encode(text)
    assert [i for i in ids if i < FIRST_PIECE] == [sentinel(0), sentinel(15)]
    assert TOKENIZER.decode(ids) == text
    assert TOKENIZER.encode("<s> The cat</s><pad>") == [BOS, *TOKENIZER.encode("The cat"), EOS, PAD]


def test_structure_can_be_left_out() -> None:
    ids = [PAD, BOS, *TOKENIZER.encode("The [MASK] sat"), EOS, PAD]
    assert TOKENIZER.decode(ids, structure=False) == "The [MASK] sat"
    assert TOKENIZER.decode(ids) == "<pad> <s> The [MASK] sat </s> <pad>"


def test_labels_can_be_read() -> None:
    assert TOKENIZER.pieces(TOKENIZER.encode("The cat sat.")) == ["The", "cat", "sat", "."]
    assert TOKENIZER.label(TOKENIZER.encode(" x")[0]) == "␣"
    assert TOKENIZER.label(TOKENIZER.encode("a\nb")[1]) == "⏎"
    assert TOKENIZER.label(TOKENIZER.encode("a\tb")[1]) == "⇥"
    assert "".join(TOKENIZER.pieces(TOKENIZER.encode("\0")[1:])) == "⟨00⟩"
    assert TOKENIZER.pieces(TOKENIZER.encode("😀"))[-4:] == ["⟨f0⟩", "⟨9f⟩", "⟨98⟩", "⟨80⟩"]


def test_every_label_is_visible() -> None:
    for label in TOKENIZER.pieces(range(VOCABULARY)):
        assert label
        assert label.isprintable()
        assert label == label.strip()


@pytest.mark.parametrize("token", [-1, VOCABULARY])
def test_an_id_out_of_range_is_refused(token: int) -> None:
    with pytest.raises(ValueError, match="between 0 and 2047"):
        TOKENIZER.label(token)
    with pytest.raises(ValueError, match="between 0 and 2047"):
        TOKENIZER.decode([token])


def test_a_missing_or_broken_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no tokenizer file"):
        Tokenizer.load(tmp_path / "none.json")
    broken = tmp_path / "broken.json"
    broken.write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="not a tokenizer file"):
        Tokenizer.load(broken)
    other = tmp_path / "other.json"
    text = FILE.read_text(encoding="utf-8").replace("[MASK]", "[HIDE]")
    other.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="must begin with"):
        Tokenizer.load(other)


def test_training_is_deterministic_and_needs_enough_text(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2048 are needed"):
        Tokenizer.train(["too little"], tmp_path / "small.json")
    words = [f"w{n:x} {n * 7919:x}" for n in range(4000)]
    first, second = tmp_path / "one.json", tmp_path / "sub" / "two.json"
    trained = Tokenizer.train(words, first)
    Tokenizer.train(words, second)
    assert first.read_bytes() == second.read_bytes()
    assert Tokenizer.load(first).encode("w1f") == trained.encode("w1f")
