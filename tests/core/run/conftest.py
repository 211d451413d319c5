from __future__ import annotations

from pathlib import Path

import pytest
from run_cases import bundle

from core.run.engine import Engine


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five tiny bundled models."""
    return bundle(tmp_path_factory.mktemp("models"))


@pytest.fixture
def engine(folder: Path) -> Engine:
    return Engine(folder)
