"""The house plan, held by a machine: what no linter knows about this project."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("app", "core", "widgets")
FOLDERS = {*PACKAGES, "assets", "tests", "packaging", ".ci"}
FILES = {"README.md", "LICENSE", "CONTRIBUTING.md", "pyproject.toml", ".gitignore"}
LONGEST_FILE, LONGEST_FUNCTION = 350, 60


def kept_files() -> list[Path]:
    """Files under version control; without git, those that git would not ignore by name."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0 and listed.stdout:
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
        return [path for path in found if path.is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not _ignored(path)]


def _ignored(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    names = (".venv", "__pycache__", "build", "dist", "runs", ".git", ".hypothesis", ".benchmarks")
    return any(part in names or part.endswith(("_cache", ".egg-info")) for part in parts)


def sources(*folders: str) -> Iterator[tuple[str, str]]:
    """Name and text of every Python file in some top folders."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_the_top_level_is_the_house_plan():
    tops = {path.relative_to(ROOT).parts for path in kept_files()}
    assert {parts[0] for parts in tops if len(parts) > 1} <= FOLDERS
    assert {parts[0] for parts in tops if len(parts) == 1} == FILES


def test_packaging_does_not_hide_the_library_of_that_name():
    assert not (ROOT / "packaging" / "__init__.py").exists()
    import packaging.version as library

    assert ROOT / "packaging" not in Path(library.__file__).parents


def test_files_are_short():
    lengths = {name: text.count("\n") for name, text in sources(*PACKAGES, "packaging")}
    assert {name: n for name, n in lengths.items() if n > LONGEST_FILE} == {}


def test_functions_are_short():
    long = {}
    for name, text in sources(*PACKAGES, "packaging"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno
                if length > LONGEST_FUNCTION:
                    long[f"{name}:{node.lineno} {node.name}"] = length
    assert long == {}


@pytest.mark.parametrize(
    ("folders", "pattern", "instead"),
    [
        (("tests",), r"\btime\.sleep\(", "wait for a signal or an event"),
        (("tests",), r"\bqtbot\.wait\(", "wait for a signal or a condition"),
        (("tests",), r"^\s*qtbot\.waitExposed\(", "use it as a context manager"),
        (PACKAGES, r"\bconnect\(\s*lambda\b", "connect a method: a lambda keeps its widget alive"),
        (PACKAGES, r"\bQThread\b|\bQRunnable\b", "the engine's process does the work"),
    ],
)
def test_habits(folders, pattern, instead):
    found = []
    for name, text in sources(*folders):
        if name == "tests/test_architecture.py":
            continue
        for match in re.finditer(pattern, text, re.MULTILINE):
            found.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}")
    assert found == [], instead


def run_python(code: str) -> str:
    """What a fresh Python says to some code."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_window_imports_no_heavy_library():
    code = (
        "import sys, app.gui, app.main_window;"
        "print(*sorted({'torch', 'onnx', 'onnxruntime', 'matplotlib', 'transformers', 'scipy'}"
        ".intersection(sys.modules)))"
    )
    assert run_python(code) == ""


def test_core_works_without_qt():
    modules = [
        name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for name, _ in sources("core")
        if not name.endswith("__main__.py")
    ]
    code = (
        "import importlib, sys;"
        "sys.modules.update(dict.fromkeys(('PySide6', 'shiboken6', 'pyqtgraph')));"
        f"[importlib.import_module(name) for name in {modules!r}];"
        "print('all')"
    )
    assert run_python(code) == "all"


def test_the_walls_stand():
    """Nothing below imports what is above; import-linter looks at the rest."""
    above = {
        "core": ("app", "widgets", "PySide6", "pyqtgraph"),
        "widgets": ("app", "torch", "onnx", "onnxruntime", "tokenizers"),
    }
    found = []
    for package, forbidden in above.items():
        for name, text in sources(package):
            for node in ast.walk(ast.parse(text)):
                modules = []
                if isinstance(node, ast.Import):
                    modules = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.module:
                    modules = [node.module]
                found += [f"{name}: {m}" for m in modules if m.split(".")[0] in forbidden]
    assert found == []


def test_no_path_of_a_machine_is_written_down():
    """Nothing that is kept depends on where it was made."""
    pattern = re.compile(r"(?<![\w.])/(work|root|home/\w+|Users/\w+)/")
    found = [
        path.relative_to(ROOT).as_posix()
        for path in kept_files()
        if path.suffix in (".py", ".md", ".toml", ".txt", ".json")
        and path.stat().st_size < 400_000
        and pattern.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []
