"""File ▸ Open, Save: the state of the window as a workspace file, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from app.state import ViewState
from core import workspace
from core.types import Family
from core.version import own_version

SUFFIX = workspace.SUFFIX


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
    for state in (found.state, *found.others):
        _check(state, path)
    return found


def _check(state: ViewState, path: Path) -> None:
    if not state.rows:
        raise ValueError(f"{path} is damaged: state.rows is empty, but must have a row.")
    if not 0 <= state.row < len(state.rows):
        raise ValueError(
            f"{path} is damaged: state.row is {state.row}, but must be between 0 and"
            f" {len(state.rows) - 1}."
        )


def is_workspace(name: str) -> bool:
    """True for what is meant as a workspace file and not as a model."""
    return name.lower().endswith(SUFFIX)


def last_path() -> Path:
    """Where the last session is kept, so that closing the window loses nothing."""
    return platformdirs.user_data_path("maskscope", appauthor=False) / f"last{SUFFIX}"


def families(others: tuple[ViewState, ...]) -> dict[Family, ViewState]:
    """The states by their family."""
    return {state.family: state for state in others}
