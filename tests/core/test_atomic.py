"""Files are whole or not there, and what is refused names the file that was asked for."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from core.atomic import write_file, write_files


def test_all_are_written_or_none(tmp_path: Path) -> None:
    kept, made = tmp_path / "kept", tmp_path / "made"
    kept.write_bytes(b"old")
    lost = tmp_path / "no" / "file"
    with pytest.raises(ValueError, match="cannot be written: No such file") as told:
        write_files({kept: b"new", made: b"new", lost: b"new"})
    assert str(told.value).startswith(f"{lost} cannot")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert kept.read_bytes() == b"old"
    write_files({kept: b"new", made: b"more"})
    assert (kept.read_bytes(), made.read_bytes()) == (b"new", b"more")


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        write_file(tmp_path, b"new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="links and pipes have other rules there")
def test_links_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_file(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"

    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"through")
    reader.join()
    assert read == [b"through"]
    assert pipe.is_fifo()
