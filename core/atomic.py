"""Files that are whole or not there: written under another name first, then moved into place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file over what was there.

    Raises
    ------
    ValueError
        with a sentence where nothing can be written; an older file is as it was.
    """
    temporary = _beside(path)
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files, by their names, into a new folder.

    Raises
    ------
    ValueError
        with a sentence where nothing can be written, or a folder with files in it is there.
    """
    temporary = _beside(path)
    try:
        temporary.mkdir()
        for name, content in files.items():
            (temporary / name).write_bytes(content)
        os.replace(temporary, path)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.new")
