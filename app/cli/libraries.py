"""The shared libraries that Qt needs of a Linux system, and the Debian packages that have them.

Run alone, ``python -m app.cli.libraries`` prints the packages that are missing, one a line.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = {
    "libdbus-1.so.3": "libdbus-1-3",
    "libEGL.so.1": "libegl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libGL.so.1": "libgl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
}
"""The Debian and Ubuntu package of each library that Qt loads and does not bring along."""

_LOADED = (
    "QtWidgets.abi3.so",
    "QtOpenGLWidgets.abi3.so",
    "QtSvg.abi3.so",
    "QtTest.abi3.so",
    "Qt/plugins/platforms/libqxcb.so",
)
"""The files of PySide6 that the window needs, and the plugin that talks to the screen."""


def missing_libraries() -> tuple[str, ...]:
    """Names of the shared libraries that Qt asks for in vain; none where this is not Linux."""
    found = find_spec("PySide6")
    if not sys.platform.startswith("linux") or found is None or found.origin is None:
        return ()
    folder = Path(found.origin).parent
    lines = [line for name in _LOADED for line in _ldd(folder / name).splitlines()]
    return tuple(sorted({line.split()[0] for line in lines if "not found" in line}))


def _ldd(path: Path) -> str:
    try:
        done = subprocess.run(
            ["ldd", path], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError:
        return ""
    return done.stdout


def packages_of(libraries: tuple[str, ...]) -> tuple[str, ...]:
    """The Debian packages that bring the libraries; a library of no known one by its own name."""
    return tuple(sorted({PACKAGES.get(name, name) for name in libraries}))


def install_line(packages: tuple[str, ...]) -> str:
    """What a user types to install packages."""
    return f"sudo apt install {' '.join(packages)}"


def has_display() -> bool:
    """True where a window can be shown."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


if __name__ == "__main__":
    print("\n".join(packages_of(missing_libraries())))
