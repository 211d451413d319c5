"""The start: the mask first, no tensor library in the GUI process, a smoke line, a picture."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app import workspaces
from app.state import RowState, initial
from app.workspaces import Workspace
from core.types import Family

ROOT = Path(__file__).resolve().parents[2]
FIRST_PAINT = """
import sys
from PySide6.QtWidgets import QApplication
from app.gui import Session
from core.types import Family
application = QApplication([])
session = Session(Family.PREFIX, "light")
session.window.show()
for _ in range(3):
    application.processEvents()
assert session.window.mask_view.grab().toImage().pixelColor(0, 0).isValid()
late = {"torch", "pyqtgraph", "onnxruntime", "onnx", "matplotlib", "transformers"}
heavy = late & set(sys.modules)
assert not heavy, heavy
print("painted", session.window.mask_view.accessibleName())
"""


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"} | environment,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )


def test_after_the_first_paint_the_gui_process_holds_no_tensor_library() -> None:
    done = run("-c", FIRST_PAINT)
    assert done.returncode == 0, done.stderr
    assert "painted Mask, 20 queries by 20 keys" in done.stdout


def test_the_smoke_run_prints_one_ready_line() -> None:
    done = run("-m", "app", "--smoke")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("ready prefix on ")


def test_a_screenshot_is_taken_once_the_first_result_is_shown(tmp_path: Path) -> None:
    from PySide6.QtGui import QImage

    picture = tmp_path / "window.png"
    done = run("-m", "app", "--screenshot", str(picture), "--size", "1280x800", "--theme", "dark")
    assert done.returncode == 0, done.stderr
    image = QImage(str(picture))
    assert (image.width(), image.height()) == (1280, 800)
    colours = {image.pixel(x, y) for x in range(0, 1280, 8) for y in range(0, 800, 8)}
    assert len(colours) > 20


def test_a_picture_of_a_workspace_is_whole_and_leaves_the_last_session_as_it_is(
    tmp_path: Path,
) -> None:
    from PySide6.QtGui import QImage

    path, data = tmp_path / "mine.maskscope", tmp_path / "data"
    state = replace(initial(Family.DECODER), rows=(RowState("The cat"),))
    workspaces.save(Workspace(state, docks=("flow",)), path)
    last = data / "maskscope" / "last.maskscope"
    last.parent.mkdir(parents=True)
    last.write_text("kept")
    picture = tmp_path / "window.png"
    words = ("-m", "app", str(path), "--screenshot", str(picture), "--size", "1280x800")
    done = run(*words, XDG_DATA_HOME=str(data), XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ready decoder on ")
    image = QImage(str(picture))
    below = [image.pixelColor(x, y) for x in range(660, 1260, 3) for y in range(540, 770, 3)]
    assert sum(colour.saturation() > 60 for colour in below) > 100, "the flow is not drawn"
    assert last.read_text() == "kept"
    assert not (tmp_path / "config").exists()


@pytest.mark.xvfb
@pytest.mark.skipif(not shutil.which("xvfb-run"), reason="needs Xvfb and xdotool")
def test_on_a_real_display_a_mouse_drag_changes_the_mask_and_the_model_follows(
    tmp_path: Path,
) -> None:
    script = ROOT / "tests" / "gui" / "drag.py"
    done = subprocess.run(
        ["xvfb-run", "-a", "-s", "-screen 0 1440x900x24", sys.executable, str(script)],
        cwd=ROOT,
        env=os.environ | {"QT_QPA_PLATFORM": "xcb", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dragged: prefix 6 -> " in done.stdout
