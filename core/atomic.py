"""Files that are whole or not there: written under another name first, then moved into place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file over what was there; errors as in `write_files`."""
    write_files({path: content})


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write all files over what was there, or none; links, pipes and devices stay what they are.

    Raises
    ------
    ValueError
        with a sentence where one cannot be written; older files are as they were.
    """
    waiting: list[tuple[Path, Path, Path]] = []
    try:
        for path, content in files.items():
            with _told(path):
                if path.exists() and not path.is_file():
                    path.write_bytes(content)
                    continue
                target = Path(os.path.realpath(path))
                waiting.append((path, _beside(target), target))
                waiting[-1][1].write_bytes(content)
        for path, temporary, target in waiting:
            with _told(path):
                os.replace(temporary, target)
    finally:
        for _, temporary, _ in waiting:
            with suppress(OSError):
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
        with _told(path):
            temporary.mkdir()
            for name, content in files.items():
                (temporary / name).write_bytes(content)
            os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the system refuses as a sentence; a reader of a pipe who has seen enough is no error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from error


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.new")
