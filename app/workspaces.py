"""File ▸ Open, Save: the state of the window as a workspace file, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from app.state import MOST_LETTERS, MOST_NEW_TOKENS, MOST_PADS, MOST_ROWS, ViewState
from core import workspace
from core.types import Family
from core.types.masks import require
from core.version import own_version
from core.workspace import naming

SUFFIX = workspace.SUFFIX
LARGEST = 2**31 - 1
"""The largest number that a control holds."""
DEVICES, BACKENDS = ("auto", "cpu", "cuda", "mps"), ("torch", "onnx")
DTYPES = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Workspace:
    """What a file brings back.

    ``others`` are the families that are not on screen, as they were left; ``layout`` is the name of
    the arrangement, ``docks`` the instruments that are open, ``instruments`` their own settings.
    """

    state: ViewState
    others: tuple[ViewState, ...] = ()
    layout: str = "explore"
    docks: tuple[str, ...] = ()
    instruments: dict[str, dict[str, str]] = field(default_factory=dict)


def save(made: Workspace, path: Path) -> None:
    """Write a workspace; raises ValueError with a sentence where it cannot be."""
    workspace.save(made, path, product=own_version())


def load(path: Path) -> Workspace:
    """Read a workspace; raises ValueError with a sentence where it cannot be."""
    found = workspace.load(Workspace, path)
    with naming(path):
        _check(found.state, "state")
        for n, state in enumerate(found.others):
            _check(state, f"others[{n}]")
    return found


def _check(state: ViewState, where: str) -> None:
    """Raise ValueError, naming the field, unless the window's own controls could make a state."""

    def within(name: str, value: float, least: float, most: float) -> None:
        allowed = f"between {least} and {most}"
        require(least <= value <= most, f"{where}.{name}", str(value)[:60], allowed)

    def among(name: str, value: str, names: tuple[str, ...]) -> None:
        require(value in names, f"{where}.{name}", repr(value), f"one of {', '.join(names)}")

    family, drawn = state.family, state.sampling
    rows = f"{where}.rows"
    require(0 < len(state.rows) <= MOST_ROWS, rows, f"{len(state.rows)} rows", f"1 to {MOST_ROWS}")
    within("row", state.row, 0, len(state.rows) - 1)
    for n, row in enumerate(state.rows):
        within(f"rows[{n}].left_pad", row.left_pad, 0, MOST_PADS)
        within(f"rows[{n}].right_pad", row.right_pad, 0, MOST_PADS)
        for name, text in (("text", row.text), ("target", row.target)):
            allowed = f"at most {MOST_LETTERS}"
            require(len(text) <= MOST_LETTERS, f"{rows}[{n}].{name}", f"{len(text)} long", allowed)
    within("prefix", state.prefix, 0, LARGEST if family is Family.PREFIX else 0)
    within("past", state.past, 0, 0 if family is Family.ENCODER else LARGEST)
    within("window", 1 if state.window is None else state.window, 1, LARGEST)
    packs_none = family is Family.ENCODER_DECODER and bool(state.documents)
    require(not packs_none, f"{where}.documents", "given", "empty for an encoder-decoder")
    within("head.layer", state.head.layer, 0, LARGEST)
    within("head.head", state.head.head, 0, LARGEST)
    for n, at in enumerate(state.cell or ()):
        within(f"cell[{n}]", at, 0, LARGEST)
    if not state.device.startswith("cuda:"):
        among("device", state.device, DEVICES)
    among("dtype", state.dtype, DTYPES)
    among("backend", state.backend, BACKENDS)
    within("sampling.temperature", drawn.temperature, 0, 5)
    within("sampling.top_k", drawn.top_k, 0, 1000)
    within("sampling.top_p", drawn.top_p, 0.01, 1)
    within("sampling.seed", drawn.seed, 0, LARGEST)
    within("max_new_tokens", state.max_new_tokens, 1, MOST_NEW_TOKENS)


def is_workspace(name: str) -> bool:
    """True for what is meant as a workspace file and not as a model."""
    return name.lower().endswith(SUFFIX)


def last_path() -> Path:
    """Where the last session is kept, so that closing the window loses nothing."""
    return platformdirs.user_data_path("maskscope", appauthor=False) / f"last{SUFFIX}"
