"""The sizes of a named model, without a tensor library."""

from __future__ import annotations

from pathlib import Path

from core import paths
from core.checkpoints import cards
from core.model.config import ModelConfig
from core.run.cost import sizes_of
from core.types import Inputs, ModelSizes, Workload


def config_of(model: str) -> ModelConfig:
    """The config of a bundled model, or of a file that ends in ``.onnx``.

    Raises
    ------
    ValueError
        for an unknown name, or a file that is no exported model.
    """
    if model.lower().endswith(".onnx"):
        from core.export.files import find

        return find(Path(model))[1].config
    return ModelConfig.from_json(cards.raw_card(model, paths.MODELS)["config"])


def sizes_of_model(model: str) -> ModelSizes:
    """What its cost depends on; errors as in `config_of`."""
    return sizes_of(config_of(model))


def work_of(inputs: Inputs, dtype: str, generate: int) -> Workload:
    """The work of a run, and of a generation of ``generate`` tokens that goes on from it."""
    spec = inputs.mask
    return Workload(
        length=spec.length,
        past=spec.past,
        batch=spec.rows,
        source=spec.filled if inputs.source_mask is None else inputs.source_mask.length,
        bytes=4 if dtype == "float32" else 2,
        prompt=spec.filled,
        generate=generate,
    )
