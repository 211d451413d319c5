from __future__ import annotations

import gc
import importlib
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QSlider,
    QWidget,
)

from widgets import palette

ROOT = Path(__file__).parents[2]
DEMOS = [
    "attention_view",
    "backend_table",
    "cache_slots",
    "check_list",
    "compare_view",
    "figure_view",
    "flow_view",
    "job_bar",
    "objective_view",
    "parity_table",
    "head_wall",
    "mask_form",
    "mask_view",
    "next_token_bars",
    "run_bar",
    "cost_form",
    "cost_plot",
    "stage_grid",
    "stages_view",
    "sampling_form",
    "similarity_view",
    "step_timeline",
    "token_strip",
]


def make(name: str) -> QWidget:
    widget: QWidget = importlib.import_module(f"widgets.{name}").make_demo()
    return widget


@pytest.mark.parametrize("name", DEMOS)
def test_nothing_keeps_a_widget_alive(qapp: QApplication, name: str) -> None:
    widget = make(name)
    widget.show()
    qapp.processEvents()
    widget.grab()
    kept = weakref.ref(widget)
    widget.close()
    widget.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    del widget
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("name", DEMOS)
def test_themes_change_while_shown(qapp: QApplication, name: str) -> None:
    widget = make(name)
    widget.show()
    qapp.processEvents()
    light = widget.grab().toImage()
    palette.apply(qapp, True)
    qapp.processEvents()
    assert widget.grab().toImage() != light
    palette.apply(qapp, False)
    qapp.processEvents()
    assert widget.grab().toImage() == light
    widget.close()
    widget.deleteLater()


@pytest.mark.parametrize("name", DEMOS)
def test_everything_has_a_name(qapp: QApplication, name: str) -> None:
    widget = make(name)
    plain = (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QSlider)
    for child in (widget, *widget.findChildren(QWidget)):
        own = type(child).__module__ == f"widgets.{name}" and child.focusPolicy().value
        if (own or isinstance(child, plain)) and not child.objectName().startswith("qt_"):
            assert child.accessibleName(), child
        if isinstance(child, plain) and not child.objectName().startswith("qt_"):
            assert child.toolTip(), child
    widget.deleteLater()


def test_heavy_libraries_stay_out(tmp_path: Path) -> None:
    code = (
        "import sys, widgets.mask_view as m, widgets.attention_view, widgets.run_bar\n"
        "from PySide6.QtWidgets import QApplication\n"
        "app = QApplication([]); view = m.make_demo(); view.grab()\n"
        "heavy = {'torch', 'pyqtgraph', 'onnxruntime', 'tokenizers', 'matplotlib', 'scipy'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_a_widget_runs_alone(tmp_path: Path) -> None:
    picture = tmp_path / "mask.png"
    done = subprocess.run(
        [sys.executable, "-m", "widgets.mask_view", "--dark", "--grab", str(picture)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 2000


def test_colours_live_in_the_palette_alone() -> None:
    for path in (ROOT / "widgets").glob("*.py"):
        if path.name != "palette.py":
            text = path.read_text(encoding="utf-8")
            assert 'QColor("' not in text, path
            assert "connect(lambda" not in text, path
            assert len(text.splitlines()) <= 350, path
