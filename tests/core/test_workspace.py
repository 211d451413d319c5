"""Whatever is saved comes back equal; what is damaged is refused by the name of its field."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.workspace import from_plain, load, save, to_plain


class Colour(str, Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Leaf:
    text: str
    size: float = 1.0
    flag: bool = False


@dataclass(frozen=True)
class Tree:
    colour: Colour
    leaves: tuple[Leaf, ...] = ()
    cell: tuple[int, int] | None = None
    window: int | None = None
    words: dict[str, dict[str, str]] = field(default_factory=dict)


LEAVES = st.builds(
    Leaf, st.text(max_size=8), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)
TREES = st.builds(
    Tree,
    st.sampled_from(Colour),
    st.lists(LEAVES, max_size=3).map(tuple),
    st.none() | st.tuples(st.integers(-9, 9), st.integers(0, 10**12)),
    st.none() | st.integers(),
    st.dictionaries(st.text(max_size=3), st.dictionaries(st.text(max_size=3), st.text(max_size=3))),
)


@given(TREES)
def test_what_goes_through_json_comes_back_equal(tree: Tree) -> None:
    assert from_plain(Tree, json.loads(json.dumps(to_plain(tree))), "state") == tree


def test_a_file_comes_back_and_can_be_read_by_people(tmp_path: Path) -> None:
    path = tmp_path / "a.maskscope"
    tree = Tree(Colour.BLUE, (Leaf("Zoë & <b>"),), (1, 2), None, {"flow": {"layers": "2"}})
    save(tree, path, product="0.1")
    assert load(Tree, path) == tree
    plain = json.loads(path.read_text(encoding="utf-8"))
    assert list(plain) == ["format", "version", "product", "state"]
    assert "Zoë & <b>" in path.read_text(encoding="utf-8")
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def written(path: Path, **changes: Any) -> Path:
    plain = {
        "format": "maskscope workspace",
        "version": 1,
        "state": {"colour": "red", "leaves": [{"text": "a"}]},
    }
    path.write_text(json.dumps(plain | changes), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"colour": "green"}, 'damaged: colour is "green", but must be one of red, blue'),
        ({}, "state lacks 'colour'"),
        ({"colour": "red", "hat": 1}, "state has 'hat', which this program does not know"),
        ({"colour": "red", "leaves": 3}, "damaged: leaves is 3, but must be a list"),
        (
            {"colour": "red", "leaves": [{"text": 3}]},
            "leaves[0].text is 3, but must be a text",
        ),
        ({"colour": "red", "cell": [1]}, "damaged: cell is [1], but must be a list of 2"),
        ({"colour": "red", "window": True}, "damaged: window is true, but must be a whole number"),
        ({"colour": "red", "window": 1.5}, "damaged: window is 1.5, but must be a whole number"),
        ({"colour": "red", "words": []}, "damaged: words is [], but must be an object"),
        ([], "state is [], but must be an object"),
        (
            {"colour": "red", "leaves": [{"text": "a", "size": 10**400}]},
            "leaves[0].size is 1000",
        ),
        (
            {"colour": "red", "leaves": [{"text": "a", "size": float("nan")}]},
            "leaves[0].size is NaN, but must be a number",
        ),
        (
            {"colour": "red", "leaves": [{"text": "\ud800"}]},
            'leaves[0].text is "?", but must be a text',
        ),
    ],
)
def test_a_damaged_field_is_named(tmp_path: Path, state: Any, said: str) -> None:
    path = written(tmp_path / "a.maskscope", state=state)
    with pytest.raises(ValueError, match="is damaged: ") as told:
        load(Tree, path)
    assert str(told.value).startswith(f"{path} is damaged: ")
    assert said in str(told.value)


def test_what_is_no_workspace_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.maskscope"
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        load(Tree, path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="it is not JSON"):
        load(Tree, path)
    path.write_text("[1]")
    with pytest.raises(ValueError, match="is no workspace of maskscope"):
        load(Tree, path)
    with pytest.raises(ValueError, match="of version 2, but this program reads versions up to 1"):
        load(Tree, written(path, version=2))
    for version, said in ((-3, "-3, but must be 1 or more"), (True, "true, but must be a whole")):
        with pytest.raises(ValueError, match=f"is damaged: version is {said}"):
            load(Tree, written(path, version=version))
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        load(Tree, path)


def test_a_mark_of_the_byte_order_is_no_damage(tmp_path: Path) -> None:
    path = written(tmp_path / "a.maskscope")
    before = load(Tree, path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(Tree, path) == before


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    tree = Tree(Colour.RED)
    with pytest.raises(ValueError, match="cannot be written"):
        save(tree, tmp_path / "missing" / "a.maskscope", product="0.1")
    path = tmp_path / "a.maskscope"
    save(tree, path, product="0.1")
    with pytest.raises(ValueError, match="JSON compliant"):
        save(replace(tree, leaves=(Leaf("a", float("nan")),)), path, product="0.1")
    assert load(Tree, path) == tree
