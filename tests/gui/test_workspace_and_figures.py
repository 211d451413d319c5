"""Open and save, layouts, and the figure dialog in the real window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.figure_views import VIEWS
from app.gui import Session
from core.types import Family, HeadRef, Stack
from tests.gui.conftest import WAIT


def settle(qtbot: QtBot, session: Session) -> None:
    qtbot.waitUntil(lambda: not session.client.is_busy, timeout=WAIT)


def test_a_workspace_brings_everything_back(qtbot: QtBot, session: Session, tmp_path: Path) -> None:
    controller, path = session.controller, tmp_path / "mine.maskscope"
    controller.edit(controller.state.with_row(text="The cat sat on the mat", left_pad=2))
    settle(qtbot, session)
    controller.step()
    settle(qtbot, session)
    controller.update(replace(controller.state, head=HeadRef(Stack.DECODER, 2, 1), cell=(4, 3)))
    settle(qtbot, session)
    controller.pick_family(Family.PREFIX)
    settle(qtbot, session)
    controller.update(replace(controller.state, prefix=9, window=5))
    settle(qtbot, session)
    session.board.open("flow")
    session.layouts.switch("explore")
    before, others = controller.state, controller.others
    assert session.files.save_file(path)
    assert session.window.windowTitle() == "mine — maskscope"

    controller.restore(replace(before, prefix=2), ())
    session.layouts.switch("check")
    settle(qtbot, session)
    assert session.files.open_file(path)
    settle(qtbot, session)
    assert controller.state == before
    assert controller.others == others
    assert session.layouts.current == "explore"
    assert session.board.open_names == ("flow",)
    answer = controller.answer
    assert answer is not None
    assert answer.head.pattern.shape[0] == controller.scene.inputs.mask.length


def test_closing_keeps_the_session_for_the_next_start(qtbot: QtBot, session: Session) -> None:
    session.controller.edit(session.controller.state.with_row(text="Kept for later"))
    settle(qtbot, session)
    session.files.keep_last()
    session.controller.pick_family(Family.ENCODER)
    settle(qtbot, session)
    session.files.on_reopen_triggered()
    settle(qtbot, session)
    assert session.controller.state.current.text == "Kept for later"
    assert session.files.path is None


def test_layouts_open_their_instruments_and_remember_what_was_closed(
    qtbot: QtBot, session: Session
) -> None:
    assert session.board.open_names == ()
    session.layouts.buttons["check"].click()
    assert set(session.board.open_names) == {"checks", "backends"}
    session.board.places["backends"].dock.close()
    session.layouts.buttons["explore"].click()
    assert session.board.open_names == ()
    session.layouts.buttons["check"].click()
    assert session.board.open_names == ("checks",)
    assert session.layouts.to_settings()["layout"] == "check"
    with qtbot.waitSignal(session.workshop.job_ended, timeout=WAIT):
        session.board.places["backends"].errand.stop()


def test_every_view_on_screen_becomes_a_figure(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    session.controller.step()
    settle(qtbot, session)
    session.board.open("flow")
    settle(qtbot, session)
    checks = session.board.places["checks"]
    session.board.open("checks")
    with qtbot.waitSignal(session.workshop.answered, timeout=WAIT):
        checks.instrument.asked.emit()
    for name in ("compare", "flow", "stages", "objectives", "embeddings", "cost"):
        session.board.open(name)
        settle(qtbot, session)
    session.figures.open()
    dialog = session.figures.dialog
    assert dialog is not None
    names = [dialog.view.itemData(n) for n in range(dialog.view.count())]
    assert names == list(VIEWS)
    for number, name in enumerate(names):
        dialog.view.setCurrentIndex(number)
        QApplication.processEvents()
        assert dialog.save(tmp_path / f"{name}.svg"), dialog.sentence.text()
        assert "<text" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    dialog.close()


def test_what_is_not_on_screen_is_not_offered(qtbot: QtBot, session: Session) -> None:
    session.figures.open()
    dialog = session.figures.dialog
    assert dialog is not None
    names = [dialog.view.itemData(n) for n in range(dialog.view.count())]
    assert names == ["mask", "attention", "heads"]
    dialog.close()
