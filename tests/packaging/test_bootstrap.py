from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "packaging" / "bootstrap.py"


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    """The file as a module, in a project folder of its own; nothing is really started."""
    spec = importlib.util.spec_from_file_location("bootstrap", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "CONSTRAINTS", tmp_path / "constraints.txt")
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "stamp")
    (tmp_path / "pyproject.toml").write_text("[project]")
    (tmp_path / "constraints.txt").write_text("torch==2.13.0\n")
    return module


class System:
    """Stands in for the programs that bootstrap starts."""

    def __init__(self) -> None:
        self.called: list[list[str]] = []
        self.missing = ""
        self.codes: dict[str, list[int]] = {}

    def call(self, words, **given) -> int:
        words = [str(word) for word in words]
        self.called.append(words)
        if "venv" in words:
            python = Path(words[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
        for part, codes in self.codes.items():
            if part in " ".join(words):
                return codes.pop(0)
        return 0

    def run(self, words, **given):
        return subprocess.CompletedProcess(words, 0, self.missing)

    def lines(self) -> list[str]:
        """What was started, each with the names of its files only."""
        return [" ".join(Path(word).name or word for word in words) for words in self.called]


@pytest.fixture
def system(bootstrap, monkeypatch):
    made = System()
    monkeypatch.setattr(bootstrap.subprocess, "call", made.call)
    monkeypatch.setattr(bootstrap.subprocess, "run", made.run)
    monkeypatch.setattr(bootstrap.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: 0)
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(bootstrap.sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", ":0")
    return made


def test_it_needs_nothing_but_an_old_python_to_say_what_is_missing():
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 7))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
    assert imported <= set(sys.stdlib_module_names)


def test_the_first_run_installs_and_starts(bootstrap, system):
    assert bootstrap.main(["run"]) == 0
    python, *rest = system.lines()
    assert python.endswith("-m venv --clear .venv")
    assert [line.split("constraints.txt ")[-1] for line in rest[:2]] == [
        "torch",
        f"-e {bootstrap.ROOT.name}",
    ]
    assert rest[2] == "maskscope"


def test_the_second_run_installs_nothing(bootstrap, system):
    bootstrap.main(["run"])
    system.called.clear()
    assert bootstrap.main(["run", "mask", "--length", "3"]) == 0
    assert system.lines() == ["maskscope mask --length 3"]


def test_an_environment_for_tests_serves_for_running_but_not_the_other_way(bootstrap, system):
    bootstrap.main(["run"])
    system.called.clear()
    bootstrap.main(["setup"])
    assert any(line.endswith("[test]") for line in system.lines())
    system.called.clear()
    bootstrap.main(["run"])
    bootstrap.main(["setup"])
    assert system.lines() == ["maskscope"]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_pin_installs_again(bootstrap, system, name):
    bootstrap.main(["run"])
    system.called.clear()
    (bootstrap.ROOT / name).write_text("changed")
    bootstrap.main(["run"])
    assert any("torch" in line for line in system.lines())


def test_without_a_display_a_tour_is_made(bootstrap, system, monkeypatch, capsys):
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert bootstrap.main(["run"]) == 0
    assert system.called[-1][1:] == ["tour", str(bootstrap.TOUR)]
    assert "no display" in capsys.readouterr().out


@pytest.mark.parametrize(("codes", "code"), [([0, 0], 0), ([1, 0], 1), ([0, 1], 1)])
def test_tests_run_on_all_cores_and_timed_ones_alone(bootstrap, system, codes, code):
    timed = bootstrap.ROOT / "tests" / "benchmarks"
    timed.mkdir(parents=True)
    (timed / "test_speed.py").touch()
    system.codes = {"-m pytest": codes}
    assert bootstrap.main(["test"]) == code
    first, second = system.lines()[-2:]
    assert first.endswith("pytest benchmarks")
    assert "pytest -n 2" in second


def test_words_after_test_go_to_pytest(bootstrap, system):
    assert bootstrap.main(["test", "-k", "prefix"]) == 0
    assert system.lines()[-1] == "python -m pytest -k prefix"


def test_missing_libraries_are_installed_by_root(bootstrap, system):
    system.missing = "libxcb-icccm4\nlibxcb-keysyms1\n"
    system.codes = {"apt-get install": [100, 0]}
    assert bootstrap.main(["run"]) == 0
    install = "apt-get install -y -q --no-install-recommends libxcb-icccm4 libxcb-keysyms1"
    assert system.lines()[-4:-1] == [install, "apt-get update -q", install]


def test_others_are_told_the_line_to_type(bootstrap, system, monkeypatch, capsys):
    system.missing = "libxcb-icccm4\n"
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: 1000)
    assert bootstrap.main(["run"]) == 1
    assert "    sudo apt install libxcb-icccm4\n" in capsys.readouterr().err
    assert "maskscope" not in system.lines()


def test_tests_ask_for_the_screen_tools(bootstrap, system, monkeypatch):
    monkeypatch.setattr(
        bootstrap.shutil, "which", lambda name: None if name == "xdotool" else f"/usr/bin/{name}"
    )
    bootstrap.main(["test"])
    assert any(line.endswith("xdotool") for line in system.lines())


def test_a_failed_installation_is_told_and_done_again(bootstrap, system, capsys):
    system.codes = {"pip install": [1, 0, 0]}
    assert bootstrap.main(["run"]) == 1
    assert "check the network" in capsys.readouterr().err
    assert bootstrap.main(["run"]) == 0


def test_an_old_python_is_told(bootstrap, system, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 9, 2))
    assert bootstrap.main(["run"]) == 1
    assert "Python 3.11 or newer is needed" in capsys.readouterr().err
    assert system.called == []


def test_a_missing_venv_module_is_told(bootstrap, system, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap.importlib.util, "find_spec", lambda name: None)
    assert bootstrap.main(["run"]) == 1
    assert "sudo apt install python3-venv" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "code"), [([], 0), (["--help"], 0), (["dance"], 2)])
def test_help(bootstrap, system, capsys, words, code):
    assert bootstrap.main(words) == code
    seen = capsys.readouterr()
    assert "bootstrap.py run" in (seen.err if code else seen.out)
    assert system.called == []
