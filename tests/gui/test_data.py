"""File ▸ Export data… in the real window: what is on screen, and nothing of an earlier view."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.data_menu import FILTERS
from app.gui import Session
from core.types import HeadRef, Stack
from tests.gui.conftest import WAIT


def settle(qtbot: QtBot, session: Session) -> None:
    qtbot.waitUntil(lambda: not session.client.is_busy, timeout=WAIT)


def saved(qtbot: QtBot, session: Session, path: Path) -> dict[str, np.ndarray]:
    with qtbot.waitSignal(session.workshop.job_ended, timeout=WAIT):
        session.data.save(path)
    assert session.window.sentence.text().endswith(f" arrays to {path}.")
    with np.load(path) as file:
        return dict(file)


def test_what_is_on_screen_is_written_with_what_was_computed_of_it(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    controller = session.controller
    session.board.open("flow")
    settle(qtbot, session)
    session.board.open("checks")
    with qtbot.waitSignal(session.workshop.answered, timeout=WAIT):
        session.board.places["checks"].instrument.asked.emit()
    controller.update(replace(controller.state, head=HeadRef(Stack.DECODER, 1, 2)))
    session.board.open("flow")
    settle(qtbot, session)
    session.board.open("checks")
    found = saved(qtbot, session, tmp_path / "a.npz")
    assert controller.head is not None
    shown = found["decoder_attention"][1, 2]
    np.testing.assert_allclose(shown, controller.head.pattern, atol=1e-6)
    assert "check_verdict" in found

    controller.update(replace(controller.state, window=2))
    settle(qtbot, session)
    found = saved(qtbot, session, tmp_path / "b.npz")
    assert "check_verdict" not in found, "the report is of the earlier view"
    assert json.loads(str(found["parameters"]))["masks"]["decoder"]["window"] == 2
    assert found["decoder_mask"].sum(axis=-1).max() == 2


def test_the_flow_that_is_open_is_written(qtbot: QtBot, session: Session, tmp_path: Path) -> None:
    assert "flow_decoder_reach" not in saved(qtbot, session, tmp_path / "a.npz")
    session.board.open("flow")
    settle(qtbot, session)
    found = saved(qtbot, session, tmp_path / "b.npz")
    assert found["flow_decoder_reach"].shape == found["flow_decoder_rollout"].shape


@pytest.mark.parametrize(("chosen", "suffix"), list(FILTERS.items()))
def test_the_kind_that_is_chosen_is_written(
    qtbot: QtBot,
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chosen: str,
    suffix: str,
) -> None:
    answer = str(tmp_path / "mine"), chosen
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *given: answer)
    with qtbot.waitSignal(session.workshop.job_ended, timeout=WAIT):
        session.data.open()
    assert (tmp_path / f"mine{suffix}").exists()


def test_what_cannot_be_written_is_told(qtbot: QtBot, session: Session, tmp_path: Path) -> None:
    with qtbot.waitSignal(session.workshop.job_ended, timeout=WAIT):
        session.data.save(tmp_path / "no" / "a.npz")
    assert "there is no folder" in session.window.sentence.text()
    (box,) = session.window.findChildren(QMessageBox)
    assert "there is no folder" in box.text()
    box.close()
    assert not (tmp_path / "no").exists()


def test_while_the_model_runs_there_is_nothing_to_write(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    session.controller.update(replace(session.controller.state, window=3))
    session.data.save(tmp_path / "a.npz")
    told = "There is no result to export yet: wait until the model has run."
    assert session.window.sentence.text() == told
    (box,) = session.window.findChildren(QMessageBox)
    box.close()
    assert not session.workshop.is_busy
    settle(qtbot, session)
    assert "logits" in saved(qtbot, session, tmp_path / "a.npz")


def test_a_stop_while_the_numbers_are_written_leaves_the_file_that_was_there(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    path, job = tmp_path / "a.json", session.window.job
    path.write_bytes(b"kept")
    controller = session.controller
    controller.edit(controller.state.with_row(text="The cat sat on the mat. " * 40))
    settle(qtbot, session)
    assert job.isHidden()
    session.data.save(path)
    tab_to(qtbot, session.window, job.stop)
    qtbot.waitUntil(lambda: job.progress.value() == 800, timeout=WAIT)
    with qtbot.waitSignal(session.workshop.job_ended, timeout=WAIT) as end:
        qtbot.keyClick(job.stop, Qt.Key.Key_Space)
    assert end.args[0].stopped
    assert session.window.sentence.text() == "Stopped: nothing was written over."
    assert job.isHidden()
    assert [one.read_bytes() for one in tmp_path.glob("*a.json*")] == [b"kept"]


def tab_to(qtbot: QtBot, window: QWidget, wanted: QPushButton) -> None:
    """Press Tab until a button has the focus; once around at most."""
    for _ in window.findChildren(QWidget):
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        if wanted.hasFocus():
            return
    pytest.fail(f"Tab never reaches {wanted.accessibleName()}")


def test_an_export_that_still_waits_for_its_process_can_be_stopped(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    job = session.window.job
    session.data.save(tmp_path / "a.npz")
    assert job.sentence.text() == "writing a.npz"
    assert job.stop.accessibleName()
    assert job.stop.toolTip()
    job.stop.click()
    assert session.window.sentence.text() == "Stopped: nothing was written over."
    assert job.isHidden()
    assert not session.workshop.is_busy
    assert not (tmp_path / "a.npz").exists()


def test_a_process_that_dies_while_writing_is_told(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    session.data.save(tmp_path / "a.npz")
    session.workshop.died.emit("The engine stopped.")
    assert session.window.sentence.text() == "The engine stopped. No data was written."
    assert session.window.job.isHidden()
    (box,) = session.window.findChildren(QMessageBox)
    box.close()
    qtbot.waitUntil(lambda: not session.workshop.is_busy, timeout=WAIT)
