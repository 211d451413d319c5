from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "packaging" / "constraints.txt").read_text(encoding="utf-8").splitlines()
PINS = [Requirement(line) for line in LINES if line and not line.startswith("#")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIRED = [
    Requirement(line)
    for line in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
]
MACHINES = [
    ("linux", "x86_64", "onnxruntime-gpu"),
    ("linux", "aarch64", "onnxruntime"),
    ("darwin", "arm64", "onnxruntime"),
    ("darwin", "x86_64", "onnxruntime"),
    ("win32", "AMD64", "onnxruntime-gpu"),
    ("win32", "ARM64", "onnxruntime"),
]


def holds(marker: Marker | None, system: str, machine: str) -> bool:
    given = {**default_environment(), "sys_platform": system, "platform_machine": machine}
    return marker is None or marker.evaluate(given)


@pytest.mark.parametrize(("system", "machine", "runtime"), MACHINES)
@pytest.mark.parametrize("requirements", [REQUIRED, PINS], ids=["required", "pinned"])
def test_each_machine_gets_one_runtime(system, machine, runtime, requirements):
    found = [r.name for r in requirements if r.name.startswith("onnxruntime")]
    assert sorted(found) == ["onnxruntime", "onnxruntime-gpu"]
    chosen = [r.name for r in requirements if r.name in found and holds(r.marker, system, machine)]
    assert chosen == [runtime]


def test_every_requirement_is_pinned_within_its_range():
    pins = {canonicalize_name(pin.name): pin for pin in PINS}
    assert len(pins) == len(PINS)
    for requirement in REQUIRED:
        (pin,) = pins[canonicalize_name(requirement.name)].specifier
        assert pin.operator == "=="
        assert requirement.specifier.contains(pin.version), requirement
