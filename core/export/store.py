"""Bundled models as ONNX files in the user's cache, each made once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from core.checkpoints.cards import folder_of
from core.export.files import FORMAT, Files, find
from core.run.cancel import CancelToken

_WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class Kept:
    """The place of one bundled model; a model with other weights has another."""

    name: str
    models: Path
    path: Path

    @property
    def is_made(self) -> bool:
        """True where the files are there and can be read."""
        try:
            files, header = find(self.path)
        except ValueError:
            return False
        return header.model == self.name and files.tokenizer.is_file()

    def make(
        self,
        progress: Callable[[str, float], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Files:
        """Export the model to its place; torch is imported here.

        Raises
        ------
        EngineError
            when the exporter cannot do it.
        Cancelled
            when ``cancel`` was set.
        """
        from core.checkpoints import bundled
        from core.export.onnx_export import ExportError, export
        from core.run.contract import EngineError

        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            model = bundled.load(self.name, self.models)
            return export(model, self.path, name=self.name, progress=progress, cancel=cancel)
        except ExportError as error:
            raise EngineError(str(error)) from error


def kept(name: str, models: Path) -> Kept:
    """Where a bundled model is kept; raises ValueError for an unknown name."""
    folder = folder_of(name, models)
    told = hashlib.sha256(f"{FORMAT}".encode())
    for part in (_WEIGHTS, "card.json"):
        told.update((folder / part).read_bytes())
    place = platformdirs.user_cache_path("maskscope", appauthor=False) / "onnx"
    return Kept(name, models, place / f"{name}-{told.hexdigest()[:16]}.onnx")
