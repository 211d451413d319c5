"""A good workspace with one value of it damaged, for tests of what opens files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from app import workspaces
from app.state import RowState, initial
from app.workspaces import Workspace
from core.types import Family, HeadRef, Stack

DEPTHS = (3, 900, 990, 100_000)
"""Lists in lists: harmless, near the limit of the interpreter, far beyond it."""
ODD = (
    *(None, True, False, 0, 1, -1, 33, 10**6, 10**12, 10**30, -(10**400), 0.5, 1e308),
    *(float("nan"), float("inf"), "", "foo", "cross", "²", "\ud800", "[MASK]", "9" * 5000),
    *([], {}, [-1, -1], [99, 99], [[0]], {"a": {}}, [{}] * 40, "word " * 900, "cuda"),
)


def workspace() -> Workspace:
    """A workspace with something in every field."""
    rows = RowState("The cat sat", generated=(40, 41)), RowState("A dog", "a", left_pad=1)
    state = replace(
        initial(Family.PREFIX), rows=rows, row=1, prefix=2, past=4, window=3, cell=(1, 2)
    )
    two = replace(initial(Family.ENCODER_DECODER), head=HeadRef(Stack.CROSS, 1, 1))
    settings = {"flow": {"method": "rollout", "layers": "2"}, "cost": {"quantity": "flops"}}
    return Workspace(state, (initial(Family.ENCODER), two), "explore", ("flow", "cost"), settings)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a JSON value with each of its keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


@st.composite
def damaged(draw: st.DrawFn, folder: Path) -> Path:
    """A file in which one value is missing, unknown, deep, or another one."""
    path = folder / "damaged.maskscope"
    workspaces.save(workspace(), path)
    plain = json.loads(path.read_text(encoding="utf-8"))
    container, key = draw(st.sampled_from(list(_places(plain))))
    how = draw(st.sampled_from(("other", "other", "other", "missing", "unknown", "deep")))
    text = ""
    if how == "missing":
        del container[key]
    elif how == "unknown" and isinstance(container, dict):
        container["strange"] = container.pop(key)
    elif how == "deep":
        container[key] = "here"
        depth = draw(st.sampled_from(DEPTHS))
        text = json.dumps(plain).replace('"here"', "[" * depth + "]" * depth, 1)
    else:
        container[key] = draw(st.sampled_from(ODD))
    path.write_text(text or json.dumps(plain), encoding="utf-8")
    return path
