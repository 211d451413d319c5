"""The command line run in this process, on small models of random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.__main__ import main
from core import paths


@dataclass(frozen=True)
class Outcome:
    """What a user sees of a command."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def maskscope(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Outcome:
        code = main(words)
        seen = capsys.readouterr()
        return Outcome(code, seen.out, seen.err)

    return run


@pytest.fixture
def refused(maskscope: Command, tmp_path: Path) -> Callable[..., str]:
    """Run a command that must be refused; the sentence it is refused with."""

    def run(*words: str) -> str:
        before = sorted(tmp_path.rglob("*"))
        outcome = maskscope(*words)
        assert outcome.code == 2, outcome
        assert outcome.out == ""
        assert sorted(tmp_path.rglob("*")) == before, "something was written"
        (sentence,) = outcome.err.splitlines()
        assert sentence.startswith("maskscope: ")
        assert sentence.endswith(".")
        return sentence

    return run


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The five models as they ship, but small and untrained."""
    from dataclasses import replace

    from core.checkpoints import bundled
    from core.model.transformer import Transformer, initialise
    from core.train.recipes import RECIPES

    folder = tmp_path_factory.mktemp("models")
    for name, recipe in RECIPES.items():
        depth = 1 if recipe.config.encoder_layers else 0
        small = replace(
            recipe.config,
            width=16,
            layers=2,
            encoder_layers=depth,
            heads=2,
            kv_heads=2,
            ffn=32,
            positions=96,
        )
        model = Transformer(small)
        initialise(model, seed=1)
        card = {"title": recipe.title, "figures": {"some_ratio": 0.5}}
        bundled.save(model, card, folder / name)
    return folder


@pytest.fixture
def models(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the command line find the small models."""
    monkeypatch.setattr(paths, "MODELS", model_folder)
    return model_folder
