"""What is remembered between starts: the window's layout and its theme. Nothing else."""

from __future__ import annotations

from pathlib import Path

import platformdirs
from PySide6.QtCore import QByteArray, QSettings

NAME = "maskscope"


def path() -> Path:
    """The settings file."""
    return Path(platformdirs.user_config_dir(NAME, appauthor=False)) / "maskscope.ini"


class Settings:
    """Typed access to the settings file."""

    def __init__(self) -> None:
        self._store = QSettings(str(path()), QSettings.Format.IniFormat)

    def bytes(self, key: str) -> QByteArray:
        """A saved layout, empty if there is none."""
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    def text(self, key: str, default: str = "") -> str:
        """A saved text."""
        value = self._store.value(key)
        return value if isinstance(value, str) else default

    def save(self, **values: QByteArray | str) -> None:
        """Write values and flush them to the file."""
        for key, value in values.items():
            self._store.setValue(key, value)
        self._store.sync()
