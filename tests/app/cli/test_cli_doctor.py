from __future__ import annotations

import pytest

from app import doctor

pytestmark = pytest.mark.usefixtures("models")


@pytest.fixture
def installed(monkeypatch):
    """Versions that the doctor finds instead of the real ones; None for a missing package."""
    real, told = doctor.version_of, {}
    monkeypatch.setattr(
        doctor, "version_of", lambda name: told[name] if name in told else real(name)
    )
    monkeypatch.setattr(doctor, "missing_libraries", lambda: ())
    return told


def test_all_is_well(maskscope, installed):
    installed.update({"onnxruntime": None, "onnxruntime-gpu": "1.31.1"})
    outcome = maskscope("doctor")
    assert outcome.code == 0, outcome
    assert "Everything is there." in outcome.out
    assert "encoder, decoder, prefix, encdec, unified" in outcome.out
    assert "maskscope.ini" in outcome.out


def test_two_runtimes_are_one_too_many(maskscope, installed):
    installed.update({"onnxruntime": "1.32.0", "onnxruntime-gpu": "1.31.1"})
    outcome = maskscope("doctor")
    assert outcome.code == 1
    assert "two packages, onnxruntime 1.32.0 and onnxruntime-gpu 1.31.1" in outcome.out
    assert "pip uninstall -y onnxruntime onnxruntime-gpu" in outcome.out


def test_no_runtime_is_told(maskscope, installed):
    installed.update({"onnxruntime": None, "onnxruntime-gpu": None})
    outcome = maskscope("doctor")
    assert outcome.code == 1
    assert "pip install onnxruntime" in outcome.out


def test_a_missing_package_is_told(maskscope, installed):
    installed["pyqtgraph"] = None
    outcome = maskscope("doctor")
    assert outcome.code == 1
    assert "python -m pip install pyqtgraph" in outcome.out


@pytest.mark.parametrize(
    ("version", "python", "code"),
    [("6.12.0", (3, 11), 1), ("6.12.0", (3, 12), 0), ("6.8.3", (3, 11), 0), ("7.0", (3, 11), 1)],
)
def test_a_qt_that_crashes_is_told(maskscope, installed, monkeypatch, version, python, code):
    installed.update({"onnxruntime": None, "onnxruntime-gpu": "1.31.1"})
    installed["PySide6-Essentials"] = version
    monkeypatch.setattr(doctor.sys, "version_info", python)
    assert maskscope("doctor").code == code


def test_missing_libraries_come_with_the_line_to_type(maskscope, installed, monkeypatch):
    monkeypatch.setattr(doctor, "missing_libraries", lambda: ("libxcb-icccm.so.4",))
    outcome = maskscope("doctor")
    assert outcome.code == 1
    assert "sudo apt install libxcb-icccm4" in outcome.out


def test_missing_models_are_named(maskscope, installed, monkeypatch, tmp_path):
    from core import paths

    monkeypatch.setattr(paths, "MODELS", tmp_path)
    outcome = maskscope("doctor")
    assert outcome.code == 1
    assert "missing: encoder, decoder, prefix, encdec, unified" in outcome.out
