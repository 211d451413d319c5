"""What every test shares: no screen, no settings of a user, and nothing left running behind."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@pytest.fixture(autouse=True)
def isolated_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings go to a folder of the test, in child processes too."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that leaves a thread, a running timer or a top-level widget.

    A widget that is left is often held by a lambda or a partial connected to a signal.
    """
    if "qapp" not in request.fixturenames:
        yield
        return
    application = request.getfixturevalue("qapp")
    before = set(threading.enumerate())
    yield
    from PySide6.QtCore import QEvent, QTimer

    application.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    application.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    threads = [t.name for t in threading.enumerate() if t not in before]
    assert not threads, f"threads left running: {threads}"
    widgets = [repr(w) for w in application.topLevelWidgets() if w.isVisible()]
    assert not widgets, f"windows left open: {widgets}"
    timers = [repr(o) for o in gc.get_objects() if type(o) is QTimer and _active(o)]
    assert not timers, f"timers left running: {timers}"


def _active(timer: object) -> bool:
    try:
        return bool(timer.isActive())  # type: ignore[attr-defined]
    except RuntimeError:  # The C++ object is gone already.
        return False
