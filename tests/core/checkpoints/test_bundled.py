from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.checkpoints import bundled, cards
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.types import Family, MaskKind

CONFIG = ModelConfig(
    Family.ENCODER_DECODER,
    (MaskKind.DECODER_SELF,),
    vocabulary=30,
    width=8,
    layers=2,
    encoder_layers=1,
    heads=2,
    kv_heads=1,
    ffn=8,
    positions=16,
)
CARD = {"title": "Tiny", "figures": {"check": 1.5}, "licence": "Apache-2.0"}


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(CONFIG)


@pytest.fixture
def saved(model: Transformer, tmp_path: Path) -> Path:
    """The folder of the models; ours is ``tiny`` in it."""
    bundled.save(model, CARD, tmp_path / "tiny")
    return tmp_path


def edit_weights(folder: Path, **changes: torch.Tensor | None) -> None:
    """Replace weights by name, or take away those that are None."""
    file = folder / "tiny" / bundled.WEIGHTS
    weights = load_file(file)
    for name, tensor in changes.items():
        weights.pop(name, None)
        if tensor is not None:
            weights[name] = tensor
    save_file(weights, file)


def test_a_model_comes_back_rounded_to_half_precision(model: Transformer, saved: Path) -> None:
    loaded = bundled.load("tiny", saved)
    assert loaded.config == CONFIG
    assert not loaded.training
    theirs = dict(loaded.named_parameters())
    for name, ours in model.named_parameters():
        assert theirs[name].dtype is torch.float32
        assert torch.equal(theirs[name], ours.half().float())
    assert all(
        t.dtype is torch.float16 for t in load_file(saved / "tiny" / bundled.WEIGHTS).values()
    )


def test_what_was_loaded_is_saved_byte_for_byte(saved: Path) -> None:
    bundled.save(bundled.load("tiny", saved), CARD, saved / "again")
    for name in (bundled.WEIGHTS, "card.json"):
        assert (saved / "again" / name).read_bytes() == (saved / "tiny" / name).read_bytes()


def test_a_card_says_what_the_model_is(model: Transformer, saved: Path) -> None:
    card = cards.card("tiny", saved)
    assert (card.name, card.title, card.family) == ("tiny", "Tiny", Family.ENCODER_DECODER)
    assert (card.layers, card.encoder_layers, card.heads, card.width) == (2, 1, 2, 8)
    assert (card.vocabulary, card.positions) == (30, 16)
    assert card.kinds == (MaskKind.DECODER_SELF,)
    assert card.figures == {"check": 1.5}
    assert card.parameters == sum(p.numel() for p in model.parameters())
    assert cards.raw_card("tiny", saved)["licence"] == "Apache-2.0"


def test_the_old_model_stays_until_the_new_one_is_complete(
    model: Transformer, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills up while the card is written."""
    folder = saved / "tiny"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(*_: object, **__: object) -> int:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with torch.no_grad():
        model.bias.fill_(5.0)
    with pytest.raises(OSError, match="no space left"):
        bundled.save(model, CARD, folder)
    assert all((folder / name).read_bytes() == content for name, content in before.items())
    assert not bundled.load("tiny", saved).bias.eq(5.0).any()
    monkeypatch.undo()
    bundled.save(model, CARD, folder)
    assert bundled.load("tiny", saved).bias.eq(5.0).all()
    assert sorted(os.listdir(folder)) == ["card.json", bundled.WEIGHTS]


def test_weights_of_another_shape_are_refused(saved: Path) -> None:
    edit_weights(saved, bias=torch.zeros(31))
    told = r"bias of 'tiny' has shape \(31,\), but the config asks for \(30,\)\."
    with pytest.raises(ValueError, match=told):
        bundled.load("tiny", saved)


@pytest.mark.parametrize("changes", [{"bias": None}, {"extra": torch.zeros(1)}])
def test_weights_of_other_names_are_refused(saved: Path, changes: dict) -> None:
    edit_weights(saved, **changes)
    told = f"The weights of 'tiny' do not fit its config: {next(iter(changes))}."
    with pytest.raises(ValueError, match=told):
        bundled.load("tiny", saved)


def test_a_config_of_another_program_is_refused(saved: Path) -> None:
    file = saved / "tiny" / "card.json"
    plain = json.loads(file.read_text())
    plain["config"]["norm"] = "rmsnorm"
    file.write_text(json.dumps(plain))
    with pytest.raises(ValueError, match="norm is 'rmsnorm', but must be one of layernorm"):
        bundled.load("tiny", saved)


def test_an_unknown_name_lists_the_known_ones_in_their_order(
    model: Transformer, saved: Path
) -> None:
    for name in ("decoder", "encoder", "apple"):
        bundled.save(model, CARD, saved / name)
    assert cards.names(saved) == ("encoder", "decoder", "apple", "tiny")
    told = r"There is no model 'bert'; choose one of encoder, decoder, apple, tiny\."
    for ask in (bundled.load, cards.card, cards.raw_card, cards.folder_of):
        with pytest.raises(ValueError, match=told):
            ask("bert", saved)


@pytest.mark.parametrize("name", ["..", "tiny/../tiny", ""])
def test_a_name_is_no_path(saved: Path, name: str) -> None:
    with pytest.raises(ValueError, match="There is no model"):
        bundled.load(name, saved)


def test_a_folder_without_models_has_no_names(tmp_path: Path) -> None:
    assert cards.names(tmp_path / "nowhere") == ()
