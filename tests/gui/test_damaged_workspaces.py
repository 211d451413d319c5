"""Whatever is wrong in a workspace, it opens or the window stays as it was and says why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from app import workspaces
from app.gui import Session
from app.state import MOST_LETTERS, MOST_PADS, MOST_ROWS, initial
from app.workspaces import Workspace
from core.types import Family
from tests.app.damage import damaged, workspace
from widgets import row_picker
from widgets.sampling_form import SamplingForm


@pytest.fixture
def window(qtbot: QtBot, qapp: QApplication) -> Iterator[Session]:
    """The window without an engine: what is asked of it waits."""
    made = Session(Family.DECODER, "light", remembers=False)
    qtbot.addWidget(made.window)
    with qtbot.waitExposed(made.window):
        made.window.show()
    yield made
    made.window.close()
    made.deleteLater()


def shown(session: Session) -> tuple[object, ...]:
    """All that a file brings back, and what the widgets make of it."""
    window, controller = session.window, session.controller
    return (
        session.files.made(),
        session.files.path,
        controller.scene.inputs,
        window.windowTitle(),
        window.text.text(),
        window.target.text(),
        window.mask_view.accessibleName(),
        window.form.knobs["left_pad"].value,
        window.run_bar.transport.play.isEnabled(),
    )


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_it_opens_or_everything_is_as_it_was(
    window: Session, tmp_path: Path, data: st.DataObject
) -> None:
    path, good = data.draw(damaged(tmp_path)), tmp_path / "good.maskscope"
    before = shown(window)
    if window.files.open_file(path):
        found = workspaces.load(path)
        assert window.controller.state.rows == found.state.rows
        assert window.files.save_file(good)
    else:
        sentence = window.window.sentence.text()
        assert sentence.startswith(str(path))
        assert sentence.endswith(".")
        assert shown(window) == before
    for box in window.window.findChildren(QMessageBox):
        box.close()
        box.setParent(None)
    workspaces.save(workspace(), good)
    assert window.files.open_file(good)
    assert window.files.made().state == workspace().state


def opens(window: Session, path: Path, changes: dict[str, Any]) -> bool:
    """Whether a file opens whose state has these changes."""
    workspaces.save(Workspace(initial(Family.DECODER)), path)
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["state"]["state"] |= changes
    path.write_text(json.dumps(plain), encoding="utf-8")
    return window.files.open_file(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "nobody"}, "cannot be shown: There is no model 'nobody' for decoder here."),
        ({"family": "prefix", "model": "prefix", "prefix": 99}, "prefix is 99, but must be"),
        ({"prefix": 3}, "damaged: state.prefix is 3, but must be between 0 and 0"),
        ({"past": 999}, "past is 999, but must be between 0 and"),
        ({"window": 10**12}, "damaged: state.window is 1000000000000, but must be between 1 and"),
        ({"rows": []}, "damaged: state.rows is 0 rows, but must be 1 to 16"),
        ({"row": 7}, "damaged: state.row is 7, but must be between 0 and 0"),
        ({"cell": [-1, -1]}, "damaged: state.cell[0] is -1, but must be between 0 and"),
        ({"head": {"stack": "cross"}}, "head.stack is cross, but must be one of decoder"),
        ({"head": {"stack": "decoder", "layer": 9}}, "head.layer is 9, but must be between 0 and"),
        ({"head": {"stack": "decoder", "head": -3}}, "damaged: state.head.head is -3, but must be"),
        ({"sampling": {"seed": 10**30}}, "damaged: state.sampling.seed is 1000000000"),
        ({"sampling": {"top_k": -1}}, "is damaged: top_k is -1, but must be 0 (off) or more"),
        ({"backend": "foo"}, "damaged: state.backend is 'foo', but must be one of torch, onnx"),
        ({"device": "foo"}, "damaged: state.device is 'foo', but must be one of auto, cpu, cuda"),
        ({"max_new_tokens": -4}, "damaged: state.max_new_tokens is -4, but must be between 1 and"),
        ({"rows": [{"text": "a", "left_pad": 10**12}]}, "damaged: state.rows[0].left_pad is 1000"),
        ({"rows": [{"text": "a" * 4001}]}, "state.rows[0].text is 4001 long, but must be at most"),
        ({"rows": [{"text": "a", "generated": [99999]}]}, "A generated token is 99999, but must"),
        ({"rows": [{"text": "a", "generated": [7] * 600}]}, "generated is 600 tokens, but must"),
    ],
)
def test_what_cannot_be_shown_is_named_with_its_file(
    window: Session, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    before, path = shown(window), tmp_path / "bad.maskscope"
    assert not opens(window, path, change)
    assert shown(window) == before
    sentence = window.window.sentence.text()
    assert sentence.startswith(str(path))
    assert said in sentence
    (box,) = window.window.findChildren(QMessageBox)
    assert box.text() == sentence
    box.close()
    assert opens(window, path, {})
    assert window.window.sentence.text() == "Opened bad.maskscope."


def test_a_file_may_hold_what_the_controls_can_make(window: Session, tmp_path: Path) -> None:
    form, path = window.window.form, tmp_path / "most.maskscope"
    pads = form.knobs["left_pad"].spin.maximum(), form.knobs["right_pad"].spin.maximum()
    assert pads == (MOST_PADS, MOST_PADS)
    assert window.window.text.maxLength() == window.window.target.maxLength() == MOST_LETTERS
    assert row_picker.MOST_ROWS == MOST_ROWS
    row = {"text": "a" * MOST_LETTERS, "left_pad": pads[0], "right_pad": pads[1]}
    assert opens(window, path, {"rows": [row, *[{"text": ""}] * (MOST_ROWS - 1)]})
    sampling = SamplingForm()
    for box in (sampling.temperature, sampling.top_k, sampling.top_p, sampling.seed, sampling.most):
        for value in (box.minimum(), box.maximum()):
            box.setValue(value)
            choice = sampling.choice()
            state = replace(
                initial(Family.DECODER),
                sampling=choice.sampling,
                max_new_tokens=choice.max_new_tokens,
            )
            workspaces.save(Workspace(state), path)
            assert window.files.open_file(path)
            assert window.controller.state == state
    sampling.deleteLater()
