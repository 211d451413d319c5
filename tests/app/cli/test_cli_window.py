from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from app import workspaces
from app.cli import libraries
from app.state import initial
from app.workspaces import Workspace
from core.types import Family


@pytest.fixture
def window(monkeypatch):
    """Stand in for the window; what it was started with."""
    asked: list[dict[str, object]] = []
    module = ModuleType("app.gui")
    module.run_gui = lambda **given: asked.append(given) or 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "app.gui", module)
    return asked


@pytest.fixture
def no_display(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)


def test_the_window_is_told_what_was_asked(maskscope, window, tmp_path):
    words = ("--screenshot", "a.png", "--family", "prefix", "--size", "1280x800", "--theme", "dark")
    assert maskscope(*words).code == 0
    (asked,) = window
    assert asked["screenshot"].name == "a.png"
    assert asked["family"] is Family.PREFIX
    assert (asked["size"], asked["theme"], asked["smoke"]) == ((1280, 800), "dark", False)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("words", [("{}",), ("--open", "{}"), ("--size", "640x480", "{}")])
def test_a_workspace_is_opened_by_its_name(maskscope, window, tmp_path, words):
    workspaces.save(Workspace(initial(Family.ENCODER)), tmp_path / "a.maskscope")
    assert maskscope(*(word.format("a.maskscope") for word in words)).code == 0
    assert window[0]["workspace"] == Path("a.maskscope")


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("no.maskscope",), "no.maskscope cannot be read: No such file"),
        (("a.maskscope", "--family", "encoder"), "a.maskscope says which family is shown"),
        (("strange.maskscope",), "strange.maskscope cannot be shown: There is no model 'nobody'"),
        (("--open", "a.maskscope", "models"), "--open before a command"),
        (("a.maskscope", "models"), "--open before a command"),
    ],
)
def test_a_workspace_that_cannot_be_shown_opens_no_window(refused, window, tmp_path, words, told):
    shown = initial(Family.ENCODER)
    for name, state in (("a", shown), ("strange", replace(shown, model="nobody"))):
        workspaces.save(Workspace(state), tmp_path / f"{name}.maskscope")
    assert told in refused(*words)
    assert window == []


@pytest.mark.usefixtures("no_display")
def test_no_display_is_told(maskscope, window):
    outcome = maskscope()
    assert (outcome.code, outcome.out, window) == (1, "", [])
    assert "maskscope tour FOLDER" in outcome.err


@pytest.mark.usefixtures("no_display")
@pytest.mark.parametrize("words", [("--smoke",), ("--screenshot", "a.png")])
def test_a_picture_needs_no_display(maskscope, window, monkeypatch, words):
    assert maskscope(*words).code == 0
    assert len(window) == 1
    assert os.environ["QT_QPA_PLATFORM"] == "offscreen"
    monkeypatch.delenv("QT_QPA_PLATFORM")


def test_a_qt_that_cannot_start_is_told(maskscope, monkeypatch):
    monkeypatch.setitem(sys.modules, "app.gui", None)
    outcome = maskscope("--smoke")
    assert outcome.code == 1
    assert "Qt cannot start" in outcome.err
    assert "maskscope doctor" in outcome.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--size", "big"), "'big' is not a size"),
        (("--theme", "pink"), "'pink'"),
        (("--family", "causal"), "'causal'"),
        (("--screenshot", "a.bmp"), "must end in .png"),
        (("--screenshot", "no/a.png"), "no folder"),
        (("--smoke", "models"), "--smoke before a command"),
        (("dance",), "'dance'"),
        (("--dance",), "--dance"),
    ],
)
def test_bad_input_gets_a_sentence(refused, window, words, told):
    assert told in refused(*words)
    assert window == []


def test_the_command_line_imports_neither_torch_nor_qt():
    code = (
        "import sys; from app.__main__ import main;"
        "main(['mask', '--family', 'causal', '--length', '2']);"
        "print(*{'torch', 'PySide6', 'onnxruntime'}.intersection(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "10\n11\n\n"


def test_help_and_version_end_well(maskscope, capsys):
    for words in (("--help",), ("--version",), ("mask", "--help")):
        with pytest.raises(SystemExit) as ended:
            maskscope(*words)
        assert ended.value.code == 0
        assert "maskscope" in capsys.readouterr().out


def test_a_library_is_told_by_its_package():
    missing = ("libxcb-icccm.so.4", "libnobody.so.1")
    packages = libraries.packages_of(missing)
    assert packages == ("libnobody.so.1", "libxcb-icccm4")
    assert libraries.install_line(packages[1:]) == "sudo apt install libxcb-icccm4"


def test_ldd_output_is_read(monkeypatch):
    text = "\tlibxcb.so.1 => /lib/libxcb.so.1 (0x1)\n\tlibxcb-icccm.so.4 => not found\n"
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(libraries, "_ldd", lambda path: text)
    assert libraries.missing_libraries() == ("libxcb-icccm.so.4",)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert libraries.missing_libraries() == ()
