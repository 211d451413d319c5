"""Greedy decoding, tokens a second: the exported graph beside torch, transformers and optimum.

Run ``python -m tests.benchmarks.onnx_decode [--json FILE] [--markdown FILE]``. All run in turn in
one process on one thread, so that their ratios count where their times do not. A prompt is read
first and not counted. The floor is what the memory allows: weights, keys and values are read once
for each token, at the speed at which as many bytes are summed here.

Optimum wants an older transformers than the tests do; where it is not installed, its row says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
import transformers

from core.checkpoints import bundled
from core.export.files import find
from core.export.onnx_export import export
from core.export.ort_model import OrtModel
from core.model.cache import Cache
from core.model.config import ModelConfig
from core.model.transformer import Transformer, initialise
from core.paths import MODELS
from core.run.arrays import Arrays
from core.types import Family, MaskKind

GRAPH, EIGHT_BIT = "exported graph", "8-bit weights"
EAGER, GENERATE, OPTIMUM = "torch eager", "transformers", "optimum"
TARGETS = {EAGER: 4.0, OPTIMUM: 2.0}
"""How many times as fast as these the exported graph shall be."""

Decode = Callable[[list[int], int], tuple[list[int], list[float]]]
"""Prompt and number of tokens to the tokens and the moment at which each was there."""


@dataclass(frozen=True)
class Setting:
    """One model and how much of it is asked: ``new`` tokens after ``prompt`` ones."""

    name: str
    prompt: int
    new: int


SETTINGS = (Setting("small", 64, 128), Setting("small", 1000, 64), Setting("decoder", 64, 128))


def small() -> Transformer:
    """A random model of 4 layers, width 256, 8 heads and 4,096 tokens, with long texts."""
    config = ModelConfig(
        Family.DECODER,
        (MaskKind.CAUSAL,),
        vocabulary=4096,
        width=256,
        heads=8,
        kv_heads=8,
        ffn=1024,
        positions=1280,
    )
    model = Transformer(config)
    initialise(model, seed=0)
    return model.eval()


def decode_graph(model: OrtModel, prompt: list[int], new: int) -> tuple[list[int], list[float]]:
    """The exported graph as `core.export.ort_engine` drives it, without its pictures."""
    length = len(prompt) + new
    ids = np.zeros((1, length), np.int64)
    ids[0, : len(prompt)] = prompt
    mask = np.tri(length, dtype=bool)[None, None]
    given = Arrays(ids, np.arange(length)[None], mask)
    state, tokens, moments = model.begin(1), [], []
    for stop in range(len(prompt), length):
        last = np.array([stop - state.length - 1])
        tokens.append(int(model.chunk(state, given, stop, rows=last).logits[0, 0].argmax()))
        ids[0, stop] = tokens[-1]
        moments.append(time.perf_counter())
    return tokens, moments


def decode_eager(model: Transformer, prompt: list[int], new: int) -> tuple[list[int], list[float]]:
    """Our own model in torch with a cache that is concatenated."""
    length = len(prompt) + new
    positions, mask = torch.arange(length)[None], torch.ones(length, length, dtype=torch.bool)
    mask = mask.tril()[None, None]
    cache, ids, tokens, moments = Cache(), torch.tensor([prompt]), [], []
    with torch.inference_mode():
        for stop in range(len(prompt), length):
            past = cache.length
            logits = model(ids, positions[:, past:stop], mask[:, :, past:stop, :stop], cache)
            ids = logits[:, -1:].argmax(dim=-1)
            tokens.append(int(ids))
            moments.append(time.perf_counter())
    return tokens, moments


class _Moments:
    """A streamer that notes when each token comes."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def put(self, tokens: torch.Tensor) -> None:
        self.moments.append(time.perf_counter())

    def end(self) -> None:
        """Nothing is left to do."""


def decode_generate(model: Any, prompt: list[int], new: int) -> tuple[list[int], list[float]]:
    """``generate`` of transformers, or of what has the same one."""
    streamer, ids = _Moments(), torch.tensor([prompt])
    options = transformers.GenerationConfig(
        max_new_tokens=new, do_sample=False, use_cache=True, eos_token_id=None, pad_token_id=0
    )
    with torch.inference_mode():
        found = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            generation_config=options,
            streamer=streamer,
        )
    return found[0, len(prompt) :].tolist(), streamer.moments[1:]


def gpt2(config: ModelConfig) -> Any:
    """A GPT-2 of transformers of the same shape, with random weights."""
    torch.manual_seed(0)
    shape = transformers.GPT2Config(
        vocab_size=config.vocabulary,
        n_positions=config.positions,
        n_embd=config.width,
        n_layer=config.layers,
        n_head=config.heads,
        n_inner=config.ffn,
        bos_token_id=None,
        eos_token_id=None,
    )
    return transformers.GPT2LMHeadModel(shape).eval()


def optimum_of(model: Any, folder: Path) -> Any | None:
    """The same GPT-2 exported by optimum, on one thread; None where optimum is not installed."""
    try:
        import onnxruntime
        from optimum.onnxruntime import ORTModelForCausalLM
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model.save_pretrained(folder)
    return ORTModelForCausalLM.from_pretrained(folder, export=True, session_options=options)


def decoders(model: Transformer, folder: Path) -> dict[str, Decode | None]:
    """Everything that is compared; None for what is not installed."""
    out, small = folder / "model.onnx", folder / "int8.onnx"
    export(model, out)
    export(model, small, dtype="int8")
    peer = gpt2(model.config)
    exported = optimum_of(peer, folder / "optimum")
    return {
        GRAPH: partial(decode_graph, OrtModel(*find(out), "cpu")),
        EIGHT_BIT: partial(decode_graph, OrtModel(*find(small), "cpu")),
        EAGER: partial(decode_eager, model),
        GENERATE: partial(decode_generate, peer),
        OPTIMUM: None if exported is None else partial(decode_generate, exported),
    }


def measure(
    setting: Setting, model: Transformer, compared: dict[str, Decode | None], rounds: int
) -> dict[str, Any]:
    """Best and median milliseconds a token of each, measured in turn."""
    prompt = np.random.default_rng(0).integers(1, model.config.vocabulary, setting.prompt).tolist()
    times: dict[str, list[float]] = {name: [] for name, decode in compared.items() if decode}
    tokens: dict[str, list[int]] = {}
    gc.disable()
    for _ in range(rounds + 1):  # The first round warms up.
        for name in times:
            decode = compared[name]
            assert decode is not None
            tokens[name], moments = decode(prompt, setting.new)
            times[name].append(1000 * (moments[-1] - moments[0]) / (setting.new - 1))
        gc.collect()
    gc.enable()
    assert tokens[GRAPH] == tokens[EAGER], "the graph says other tokens than torch"
    found = {
        name: {"best_ms": min(all_[1:]), "median_ms": statistics.median(all_[1:])}
        for name, all_ in times.items()
    }
    for figures in found.values():
        figures["tokens_per_s"] = 1000 / figures["best_ms"]
        figures["graph_is_faster"] = figures["best_ms"] / found[GRAPH]["best_ms"]
        figures["by_median"] = figures["median_ms"] / found[GRAPH]["median_ms"]
        figures["over_eager"] = found[EAGER]["best_ms"] / figures["best_ms"]
    return found


def floor(model: Transformer, length: int, rounds: int = 50) -> dict[str, float]:
    """What the token after ``length`` others reads, and the time to sum as much in place."""
    config = model.config
    positions = config.positions * config.width  # Of them a single row is read.
    weights = sum(parameter.numel() for parameter in model.parameters()) - positions
    cached = 2 * config.layers * config.kv_heads * config.head_width * length
    array, best = torch.ones(weights + cached), float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        array.sum()
        best = min(best, time.perf_counter() - started)
    return {
        "weight_mib": 4 * weights / 2**20,
        "cache_mib": 4 * cached / 2**20,
        "gib_per_s": 4 * (weights + cached) / best / 2**30,
        "floor_ms": 1000 * best,
    }


def markdown(report: list[dict[str, Any]]) -> str:
    """The figures as the table that the README has: tokens/s, and how many times torch eager."""
    names = (GRAPH, EIGHT_BIT, EAGER, GENERATE, OPTIMUM)
    lines = [
        "| tokens/s, one thread | " + " | ".join(names) + " | floor |",
        "|---|" + "---|" * (len(names) + 1),
    ]
    for entry in report:
        cells = [f"`{entry['model']}`, after {entry['prompt']} tokens"]
        for name in names:
            figures = entry["decoders"].get(name)
            if figures is None:
                cells.append("not installed")
            else:
                ratio = "" if name == EAGER else f" ({figures['over_eager']:.1f}×)"
                cells.append(f"{figures['tokens_per_s']:,.0f}{ratio}")
        least = entry["floor"]["floor_ms"]
        over = entry["decoders"][EAGER]["best_ms"] / least
        cells.append(f"{1000 / least:,.0f} ({over:.1f}×)")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def missed(report: list[dict[str, Any]]) -> list[str]:
    """A sentence for every target that is not reached, and what the floor would allow."""
    return [
        f"{entry['model']} after {entry['prompt']}: {figures['graph_is_faster']:.2f} times {name};"
        f" the target is {TARGETS[name]:.0f}, the floor allows"
        f" {figures['best_ms'] / entry['floor']['floor_ms']:.1f}."
        for entry in report
        for name, figures in entry["decoders"].items()
        if figures["graph_is_faster"] < TARGETS.get(name, 0)
    ]


def main() -> int:
    """Measure all settings and print; the exit code is 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    report: list[dict[str, Any]] = []
    for name in dict.fromkeys(setting.name for setting in SETTINGS):
        model = small() if name == "small" else bundled.load(name, MODELS)
        with tempfile.TemporaryDirectory() as folder:
            compared = decoders(model, Path(folder))
            for setting in SETTINGS:
                if setting.name == name:
                    found = measure(setting, model, compared, args.rounds)
                    least = floor(model, setting.prompt + setting.new // 2)
                    entry = {"model": name, "prompt": setting.prompt, "new": setting.new}
                    report.append(entry | {"decoders": found, "floor": least})
    content, shown = json.dumps(report, indent=1) + "\n", markdown(report) + "\n"
    for target, text in ((args.json, content), (args.markdown, shown)):
        if target is None:
            print(text, end="")
        else:
            target.write_text(text, encoding="utf-8")
    short = missed(report)
    print("\n".join(short))
    return int(bool(short))


if __name__ == "__main__":
    raise SystemExit(main())
