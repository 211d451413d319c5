from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.text.tokenizer import BOS, EOS, Tokenizer
from core.train.corpus import (
    EVERY,
    Document,
    TokenisedCorpus,
    chapters,
    grammar_documents,
    prepare,
    real_documents,
    split,
    tokenizer_texts,
)

TOKENIZER = Tokenizer.load(Path(__file__).parents[3] / "assets" / "tokenizer" / "tokenizer.json")
SENTENCE = "The old king looked at the sea and said nothing for a long time."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = ["A TALE", "[Illustration]", "", "It was late.", "The king slept."]
    lines += ["The Fox and the Crow", " ".join([SENTENCE] * 40), "word " * 500 + "end."]
    lines += ["[Illustration: A fox. Page 3.]", "He was glad."]
    (tmp_path / "one.txt").write_text("\n".join(lines), encoding="utf-8")
    many = [f"Number {n} is here, and {SENTENCE}" for n in range(600)]
    (tmp_path / "two.txt").write_text("\n".join(many), encoding="utf-8")
    (tmp_path / "README.md").write_text("This is not a story.", encoding="utf-8")
    return tmp_path


def test_headings_and_illustrations_are_dropped_and_divide(folder: Path) -> None:
    first, second, third = chapters(folder)
    assert first == ["It was late.", "The king slept."]
    assert second[-1] == "He was glad."
    assert len(third) == 600


def test_documents_fit_and_keep_the_text_in_order(folder: Path) -> None:
    documents = real_documents(folder, TOKENIZER, limit=120)
    sizes = [len(TOKENIZER.encode(d.text)) for d in documents]
    assert max(sizes) <= 120
    assert np.median(sizes) > 60
    assert all(d.real for d in documents)
    assert documents[0].text == "It was late.\nThe king slept."
    text = " ".join(d.text for d in documents)
    positions = [text.index(f"Number {n} is") for n in range(600)]
    assert positions == sorted(positions)
    assert "word word" not in text


def test_a_long_paragraph_is_cut_at_sentence_ends(folder: Path) -> None:
    parts = [d.text for d in real_documents(folder, TOKENIZER) if "sea" in d.text]
    assert all(part.endswith(".") for part in parts)


def test_a_folder_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no \.txt file"):
        real_documents(tmp_path, TOKENIZER)


def test_grammar_documents_are_distinct_and_deterministic() -> None:
    documents = grammar_documents(200, 5)
    assert len({d.text for d in documents}) == 200
    assert documents == grammar_documents(200, 5)
    left_out = frozenset(d.text for d in documents[:100])
    others = grammar_documents(150, 5, exclude=left_out)
    assert not left_out & {d.text for d in others}
    assert not any(d.real for d in documents)


def test_nothing_is_in_both_parts(folder: Path) -> None:
    documents = real_documents(folder, TOKENIZER, limit=60) + grammar_documents(300, 1)
    documents.append(documents[EVERY - 1])
    train, held = split(documents, stories=40)
    assert not set(train) & set(held)
    assert set(documents) <= set(train) | set(held)
    real = len({d for d in documents if d.real})
    assert sum(d.real for d in held) == real // EVERY
    assert sum(not d.real for d in held) == 40
    assert (train, held) == split(documents, stories=40)


def test_tokens_are_the_documents_with_begin_and_end(tmp_path: Path) -> None:
    documents = [Document("The cat sat.", True), Document("", False), Document("😀 Hello", False)]
    corpus = TokenisedCorpus.build(documents, TOKENIZER)
    assert corpus.tokens.dtype == np.int16
    assert len(corpus) == 3
    for n, document in enumerate(documents):
        assert corpus.document(n).tolist() == [BOS, *TOKENIZER.encode(document.text), EOS]
    assert corpus.lengths().sum() == len(corpus.tokens)
    stories = corpus.only(real=False)
    assert [stories.document(n).tolist() for n in range(2)] == [
        corpus.document(n).tolist() for n in (1, 2)
    ]
    corpus.save(tmp_path / "sub" / "corpus.npz")
    loaded = TokenisedCorpus.load(tmp_path / "sub" / "corpus.npz")
    for name in ("tokens", "offsets", "real"):
        assert (getattr(loaded, name) == getattr(corpus, name)).all()
        assert getattr(loaded, name).dtype == getattr(corpus, name).dtype


def test_a_missing_corpus_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no corpus file"):
        TokenisedCorpus.load(tmp_path / "none.npz")


def test_prepare_fits_a_context_of_256(folder: Path) -> None:
    train, held = prepare(folder, TOKENIZER, stories=500)
    assert train.lengths().max() <= 256
    assert held.lengths().max() <= 256
    assert train.real.any()
    assert not train.real.all()
    assert held.real.any()


def test_real_texts_weigh_as_much_as_stories_for_the_tokenizer(folder: Path) -> None:
    told = sum(len(d.text) for d in grammar_documents(400, 0))
    everything = sum(map(len, tokenizer_texts(folder, stories=400)))
    assert 1.5 < everything / told < 2.5
