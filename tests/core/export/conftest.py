from __future__ import annotations

from pathlib import Path

import pytest
from export_cases import NAMES, bundle

from core.checkpoints import bundled
from core.export.files import Files
from core.export.onnx_export import export
from core.export.ort_engine import OrtEngine
from core.model.transformer import Transformer
from core.run.engine import Engine


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny bundled models of every family."""
    return bundle(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def models(folder: Path) -> dict[str, Transformer]:
    return {name: bundled.load(name, folder) for name in NAMES}


@pytest.fixture(scope="session")
def exported(
    models: dict[str, Transformer], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Files]:
    """Each of them exported once; the files are for reading."""
    place = tmp_path_factory.mktemp("exported")
    return {
        name: export(model, place / f"{name}.onnx", name=name) for name, model in models.items()
    }


@pytest.fixture(scope="session")
def paths(exported: dict[str, Files]) -> dict[str, Path]:
    """What a user calls the files."""
    return {name: files.folder / f"{name}.onnx" for name, files in exported.items()}


@pytest.fixture
def engine(folder: Path) -> Engine:
    return Engine(folder)


@pytest.fixture
def onnx_engine(paths: dict[str, Path]) -> OrtEngine:
    return OrtEngine(paths)
