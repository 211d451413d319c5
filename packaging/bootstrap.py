#!/usr/bin/env python3
"""Make maskscope's environment, then start it or test it. Needs Python 3.11 and nothing else.

python3 packaging/bootstrap.py run [...]    start the window; words after it go to maskscope
python3 packaging/bootstrap.py test [...]   run the tests; words after it go to pytest
python3 packaging/bootstrap.py setup        only install, with what the tests need
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "maskscope-installed.txt"
TOUR = ROOT / "build" / "tour"
OLDEST = (3, 11)

TEST_TOOLS = {
    "Xvfb": "xvfb",
    "xauth": "xauth",
    "xdotool": "xdotool",
    "rsvg-convert": "librsvg2-bin",
    "pdftotext": "poppler-utils",
}
"""Programs that the tests of the window and of figures use, and their Debian packages."""


class Trouble(Exception):
    """Something that stops us; the message is a sentence for the user."""


def main(words: list[str]) -> int:
    """Do what the first word says; returns the exit code."""
    command, *rest = words or ["help"]
    try:
        check_python()
        if command == "run":
            return run(rest)
        if command == "test":
            return test(rest)
        if command == "setup" and not rest:
            prepare("test")
            return 0
        print(__doc__.strip(), file=sys.stdout if command in ("help", "--help") else sys.stderr)
        return 0 if command in ("help", "--help") else 2
    except Trouble as trouble:
        print(f"bootstrap: {trouble}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def check_python() -> None:
    """Raise `Trouble` where this Python is too old or cannot make environments."""
    if sys.version_info < OLDEST:
        raise Trouble(
            f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed, but this is"
            f" {sys.version.split()[0]}; start this file with a newer one."
        )
    if not python_of(ENVIRONMENT).exists():
        for module in ("venv", "ensurepip"):
            if importlib.util.find_spec(module) is None:
                raise Trouble(
                    f"Python's {module} module is missing; on Debian or Ubuntu install it with"
                    " `sudo apt install python3-venv`."
                )


def python_of(environment: Path) -> Path:
    """The Python of an environment."""
    windows = os.name == "nt"
    return environment / ("Scripts/python.exe" if windows else "bin/python")


# -- environment


def prepare(extra: str) -> Path:
    """Install what is not installed yet, libraries of the system too; the Python to start.

    ``extra`` is "run" or "test"; an environment for tests is good for running as well.
    """
    python = python_of(ENVIRONMENT)
    good = {stamp("test")} | ({stamp("run")} if extra == "run" else set())
    if not python.exists() or read(STAMP) not in good:
        install(python, extra)
        STAMP.write_text(stamp(extra), encoding="utf-8")
    return python


def stamp(extra: str) -> str:
    """What an environment was made from: if this is unchanged, nothing is installed again."""
    made_from = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", CONSTRAINTS):
        made_from.update(path.read_bytes())
    made_from.update(f"{sys.version_info[:2]} {ROOT}".encode())
    return f"{made_from.hexdigest()} {extra}"


def read(path: Path) -> str:
    """The text of a file, empty if there is none."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def install(python: Path, extra: str) -> None:
    """Make the environment and install the project with the pinned packages into it."""
    print(f"Installing into {ENVIRONMENT}; the first time takes some minutes.", flush=True)
    if not python.exists():
        call([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], "The environment")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "-c", CONSTRAINTS]
    what = "The installation"
    # Torch alone first, so that the pinned build is there before anything else asks for one.
    call([*pip, "torch"], what)
    call([*pip, "-e", f"{ROOT}[test]" if extra == "test" else ROOT], what)


def call(words: list[object], what: str) -> None:
    """Run a program; raise `Trouble` if it fails."""
    if subprocess.call([str(word) for word in words]) != 0:
        raise Trouble(
            f"{what} failed, as told above; check the network and the free space on the disk, and"
            " start this again: it goes on from where it stopped."
        )


# -- libraries of the system


def prepare_system(python: Path, tools: dict[str, str]) -> bool:
    """Install missing Debian packages, or say how; True if nothing is missing afterwards."""
    asked = subprocess.run(
        [python, "-m", "app.cli.libraries"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    missing = asked.stdout.split()
    if sys.platform.startswith("linux"):
        missing += [package for tool, package in tools.items() if shutil.which(tool) is None]
    if not missing:
        return True
    if shutil.which("apt-get") and os.geteuid() == 0:
        print(f"Installing {' '.join(missing)}.", flush=True)
        return apt_install(missing)
    print(
        "Libraries or programs of the system are missing; on Debian or Ubuntu install them with\n"
        f"    sudo apt install {' '.join(missing)}",
        file=sys.stderr,
    )
    return False


def apt_install(packages: list[str]) -> bool:
    """Install Debian packages; the lists are renewed where the ones that are there do not do."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    words = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    if subprocess.call(words, env=environment) == 0:
        return True
    subprocess.call(["apt-get", "update", "-q"], env=environment)
    return subprocess.call(words, env=environment) == 0


def has_display() -> bool:
    """True where a window can be shown."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


# -- commands


def run(words: list[str]) -> int:
    """Start maskscope; without a display and without words, make a tour instead."""
    python = prepare("run")
    complete = prepare_system(python, {})
    start = [str(python.with_name("maskscope"))]
    if words:
        return subprocess.call([*start, *words])
    if has_display():
        if not complete:
            raise Trouble("The window cannot start before they are installed; then try again.")
        return subprocess.call(start)
    print("There is no display, so the tour is made instead of a window.", flush=True)
    return subprocess.call([*start, "tour", str(TOUR)])


def test(words: list[str]) -> int:
    """Run the tests: those that measure time alone and first, then the others on several cores."""
    python = prepare("test")
    prepare_system(python, TEST_TOOLS)
    cores = os.cpu_count() or 1
    workers = min(cores, 4)
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "OMP_NUM_THREADS": str(cores // workers),
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    pytest = [str(python), "-m", "pytest"]
    if words:
        return subprocess.call([*pytest, *words], cwd=ROOT, env=environment)
    timed, code = ROOT / "tests" / "benchmarks", 0
    if any(timed.glob("test_*.py")):
        code = subprocess.call([*pytest, str(timed)], cwd=ROOT, env=environment)
    spread = ("-n", str(workers), f"--ignore={timed}")
    return subprocess.call([*pytest, *spread], cwd=ROOT, env=environment) or code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
