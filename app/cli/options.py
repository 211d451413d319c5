"""The options that say which model reads what, and the state that they mean."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from app.cli.mask import add_shape, spread
from app.cli.models import is_file, model_card
from app.cli.values import whole
from app.scene import scene
from app.state import FAMILY_KIND, RowState, ViewState, initial
from core import paths
from core.text.tokenizer import Tokenizer
from core.types import Family, MaskKind, ModelCard

_FAMILY = {kind: family for family, kind in FAMILY_KIND.items()}


def add_reading(
    parser: argparse.ArgumentParser, *, text_needed: bool = True, model_needed: bool = True
) -> None:
    """Add the options that say which model reads what, under which mask, and on what."""
    add_texts(parser, text_needed=text_needed, model_needed=model_needed)
    add_shape(parser)
    add_engine(parser)


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what runs the model, and where."""
    add = parser.add_argument
    add("--device", default="auto", help="auto, cpu, cuda or mps")
    add("--dtype", default="float32", help="float32; float16 or bfloat16 on cuda")
    backend = "what runs the model; default: torch, and onnx for a FILE.onnx"
    add("--backend", choices=("torch", "onnx"), help=backend)


def add_texts(
    parser: argparse.ArgumentParser, *, model_needed: bool = True, text_needed: bool = True
) -> None:
    """Add the options that say which model reads what."""
    add = parser.add_argument
    named = "a name that `maskscope models` lists, or a FILE.onnx"
    add("model", metavar="MODEL", nargs=None if model_needed else "?", help=named)
    more = "the text; once more for another batch row"
    add("--text", action="append", required=text_needed, help=more)
    add("--target", action="append", help="the decoder's text of an encoder-decoder, by row")
    add("--row", type=whole(0), default=0, metavar="N", help="the batch row that is shown")
    kinds = [kind.value for kind in _FAMILY]
    add("--mask", choices=kinds, help="the rule of the mask; default: what it was trained under")


def view_state(args: argparse.Namespace) -> ViewState:
    """The state that the options describe.

    Raises
    ------
    ValueError
        with a sentence where an option cannot be, or would not do anything.
    """
    card = card_of(args)
    state = replace(
        initial(family_under(card, args.mask)),
        model=card.name,
        rows=_rows(args, card.family is Family.ENCODER_DECODER),
        row=args.row,
        past=args.past,
        window=args.window,
        documents=args.documents,
        device=args.device,
        dtype=args.dtype,
    )
    if args.row >= len(state.rows):
        raise ValueError(f"row is {args.row}, but must be between 0 and {len(state.rows) - 1}.")
    return _with_prefix(state, args.prefix)


def card_of(args: argparse.Namespace) -> ModelCard:
    """The card of the model; raises ValueError for an unknown one, or a backend it has not."""
    card = model_card(args.model)
    if args.backend == "torch" and is_file(args.model):
        raise ValueError(f"backend is torch, but must be onnx for {args.model}.")
    return card


def family_under(card: ModelCard, mask: str | None) -> Family:
    """The family of a model under the mask of another rule; ValueError where it has no such."""
    if mask is None:
        return card.family
    family = _FAMILY[MaskKind(mask)]
    if (family is Family.ENCODER_DECODER) != (card.family is Family.ENCODER_DECODER):
        allowed = [k.value for f, k in FAMILY_KIND.items() if f is not Family.ENCODER_DECODER]
        if card.family is Family.ENCODER_DECODER:
            allowed = [MaskKind.DECODER_SELF.value]
        raise ValueError(f"mask is {mask}, but must be {' or '.join(allowed)} for {card.name}.")
    return family


def _rows(args: argparse.Namespace, two_texts: bool) -> tuple[RowState, ...]:
    texts, targets = args.text, args.target or [""]
    if args.target and not two_texts:
        raise ValueError(f"target is given, but only an encoder-decoder has one: not {args.model}.")
    if two_texts and args.documents:
        raise ValueError("documents are given, but an encoder-decoder packs none.")
    left, right = spread(args.left_pad, args.right_pad)
    count = len(texts)
    columns = []
    for name, values in (("target", targets), ("left_pad", left), ("right_pad", right)):
        if len(values) not in (1, count):
            raise ValueError(
                f"{name} has {len(values)} values, but must have one for each of the {count} texts."
            )
        columns.append(list(values) * count if len(values) == 1 else list(values))
    return tuple(
        RowState(text, target, left_pad=before, right_pad=after)
        for text, target, before, after in zip(texts, *columns, strict=True)
    )


def _with_prefix(state: ViewState, prefix: int | None) -> ViewState:
    """The prefix that was asked for, or the window's first one, cut to the shortest row."""
    if prefix is not None:
        if state.family is not Family.PREFIX and prefix:
            raise ValueError(f"prefix is {prefix}, but must be 0 unless the mask is prefix.")
        return replace(state, prefix=prefix)
    if state.family is not Family.PREFIX:
        return state
    spec = scene(replace(state, prefix=0), tokenizer(state.model)).inputs.mask
    shortest = min(spec.real_tokens(b) for b in range(spec.rows))
    return replace(state, prefix=min(state.prefix, shortest))


def tokenizer(model: str = "") -> Tokenizer:
    """The tokenizer beside an exported file, or the one of all bundled models."""
    if is_file(model):
        from core.export.files import find, read_tokenizer

        return read_tokenizer(*find(Path(model)))
    return Tokenizer.load(paths.TOKENIZER)
