"""The export dialog: what it offers, what it asks for, what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.export_dialog import ExportDialog, choices
from app.exporting import Exporting
from core.types import (
    Exported,
    ExportJob,
    Family,
    Inputs,
    MaskKind,
    MaskSpec,
    ParityCase,
    ParityReport,
)
from tests.app.test_controller import Desk

FOLDER = Path("some") / "folder"
PADDED = Inputs(
    ((0, 1, 2, 3), (1, 2, 3, 4)),
    MaskSpec(MaskKind.PREFIX, 2, past=2, prefix=2, left_pad=(1, 0), right_pad=(0, 0)),
)


def report(passed: bool) -> ParityReport:
    good = ParityCase("pads", 1, 4, 1, 1e-5, 1e-6, 1e-7, True, True, "float32")
    bad = ParityCase("prefix", 1, 4, 1, 0.5, 1e-6, 1e-7, False, False, "float32")
    cases = (good,) if passed else (good, bad)
    largest: dict[str, float | None] = {"logits": 0.5, "present": 1e-6, "attention": 1e-7}
    verdict = "PASS" if passed else "FAIL"
    return ParityReport(verdict, largest, passed, cases, ("CPUExecutionProvider",), {})


@pytest.fixture
def dialog(qtbot: QtBot) -> ExportDialog:
    made = ExportDialog()
    qtbot.addWidget(made)
    made.set_choices(choices("decoder", PADDED, 1), FOLDER)
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_the_mask_that_is_built_in_is_the_shown_row_without_a_cache() -> None:
    found = choices("decoder", PADDED, 0).mask
    assert found == MaskSpec(MaskKind.PREFIX, 4, prefix=2, left_pad=(1,), right_pad=(0,))


@pytest.mark.parametrize("fixed", [False, True])
def test_a_click_asks_for_what_is_chosen(qtbot: QtBot, dialog: ExportDialog, fixed: bool) -> None:
    dialog.masks.setCurrentIndex(int(fixed))
    dialog.numbers.setCurrentIndex(2)
    with qtbot.waitSignal(dialog.export_requested) as asked:
        dialog.export.click()
    mask = MaskSpec(MaskKind.PREFIX, 4, prefix=2) if fixed else None
    path = str(FOLDER / "decoder.onnx")
    assert asked.args[0] == ExportJob(0, "decoder", path, "int8", mask, None, True)
    assert not dialog.export.isEnabled()
    assert dialog.bar.isVisible()


def test_a_failed_case_stands_first_and_the_report_is_told(dialog: ExportDialog) -> None:
    dialog.set_done(Exported(("a/x.onnx",), (2**20,), "a/x.tokenizer.json", report(False), "a/p"))
    assert dialog.sentence.text().startswith("Wrote x.onnx (1.0 MiB), with x.tokenizer.json.")
    assert "the first that fails is 'prefix'" in dialog.sentence.text()
    table = dialog.table.table
    cells = [[table.item(row, column).text() for column in (0, 3, 7)] for row in range(3)]
    assert cells == [
        ["largest of all", "5.0e-01", "FAIL"],
        ["prefix", "5.0e-01", "FAIL"],
        ["pads", "1.0e-05", "PASS"],
    ]


def test_the_mask_that_is_built_in_is_the_one_on_screen_when_it_is_asked_for(
    qtbot: QtBot,
) -> None:
    desk = Desk(Family.DECODER)
    qtbot.addWidget(desk.window)
    exporting = Exporting(desk.window, desk.controller, desk.client)
    exporting.open()
    dialog = exporting.dialog
    dialog.path.setText("mine.onnx")
    dialog.masks.setCurrentIndex(1)
    desk.window.text.textEdited.emit("Tom sat.")
    asked: list[ExportJob] = []
    dialog.export_requested.disconnect()
    dialog.export_requested.connect(asked.append)
    dialog.export.click()
    assert asked[0].mask == desk.controller.scene.inputs.mask
    assert asked[0].out == "mine.onnx"
    dialog.close()
    desk.client.deleteLater()


def test_files_without_a_comparison_are_told_as_they_are(dialog: ExportDialog) -> None:
    dialog.set_done(Exported(("a/x.onnx",), (2**20,), "a/x.tokenizer.json"))
    assert dialog.sentence.text() == "Wrote x.onnx (1.0 MiB), with x.tokenizer.json."
    said = "The file is there, but was not compared with torch."
    assert dialog.table.empty.text() == said


def test_progress_a_stop_and_a_failure_are_shown_and_the_choices_come_back(
    qtbot: QtBot, dialog: ExportDialog
) -> None:
    dialog.export.click()
    dialog.set_progress("exporting decoder.onnx", 0.25)
    assert dialog.bar.progress.value() == 250
    with qtbot.waitSignal(dialog.stop_requested):
        dialog.bar.stop.click()
    dialog.set_failed("A sentence.")
    assert dialog.sentence.text() == "A sentence."
    assert dialog.export.isEnabled()
    assert not dialog.bar.isVisible()


def test_without_a_file_name_nothing_can_be_exported(dialog: ExportDialog) -> None:
    dialog.path.setText("  ")
    assert not dialog.export.isEnabled()


def test_of_an_encoder_decoder_both_masks_are_built_in(qtbot: QtBot, dialog: ExportDialog) -> None:
    source = MaskSpec(MaskKind.ENCODER_SELF, 4, right_pad=(1,))
    body = MaskSpec(MaskKind.DECODER_SELF, 2)
    cross = MaskSpec(MaskKind.CROSS, 2, source=4, right_pad=(1,))
    inputs = Inputs(((1, 2),), body, ((1, 2, 3, 0),), source, cross)
    dialog.set_choices(choices("encdec", inputs, 0), FOLDER)
    dialog.masks.setCurrentIndex(1)
    with qtbot.waitSignal(dialog.export_requested) as asked:
        dialog.export.click()
    assert (asked.args[0].mask, asked.args[0].source_mask) == (body, source)
