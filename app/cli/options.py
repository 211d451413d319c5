"""The options that say which model reads what, and the state that they mean."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from app.cli.mask import add_shape, spread
from app.cli.models import is_file, model_card
from app.cli.values import UsageError, whole
from app.scene import check_states, scene
from app.state import FAMILY_KIND, RowState, ViewState, fits, initial
from app.workspaces import SUFFIX, is_workspace, load
from core import paths
from core.text.tokenizer import Tokenizer
from core.types import Family, HeadRef, MaskKind, ModelCard, Stack
from core.workspace import naming

T = TypeVar("T")

_UNSET = {"past": 0, "left_pad": (0,), "right_pad": (0,), "documents": ()}
"""What options are where they are not given; others are None."""

_PACKS_NONE = "documents are given, but an encoder-decoder packs none."
_FAMILY = {kind: family for family, kind in FAMILY_KIND.items()}


def add_reading(
    parser: argparse.ArgumentParser, *, model_needed: bool = True, pads_and_cache: bool = True
) -> None:
    """Add the options that say which model reads what, under which mask, and on what."""
    add_texts(parser, model_needed=model_needed)
    kinds = [kind.value for kind in _FAMILY]
    rule = "the rule of the mask; default: what it was trained under"
    parser.add_argument("--mask", choices=kinds, help=rule)
    add_shape(parser, pads_and_cache=pads_and_cache)
    add_engine(parser)


def add_engine(parser: argparse.ArgumentParser, *, files: bool = True) -> None:
    """Add the options that say what runs the model, and where; ``files`` False: it runs no file."""
    add = parser.add_argument
    add("--device", help="auto, cpu, cuda or mps; default: auto")
    add("--dtype", help="float32; float16 or bfloat16 on cuda; default: float32")
    backend = "what runs the model; default: torch" + ", and onnx for a FILE.onnx" * files
    add("--backend", choices=("torch", "onnx"), help=backend)


def add_texts(parser: argparse.ArgumentParser, *, model_needed: bool = True) -> None:
    """Add the options that say which model reads what."""
    add = parser.add_argument
    named = f"a name that `maskscope models` lists, a FILE.onnx, or a FILE{SUFFIX} that says it all"
    add("model", metavar="MODEL", nargs=None if model_needed else "?", help=named)
    add("--text", action="append", help="the text; once more for another batch row")
    add("--target", action="append", help="the decoder's text of an encoder-decoder, by row")
    shown = "the batch row that is shown, from 0; default: 0"
    add("--row", type=whole(0), metavar="N", help=shown)


def view_state(args: argparse.Namespace) -> ViewState:
    """The state that the options describe, or that a workspace keeps in place of a model.

    Raises
    ------
    ValueError
        with a sentence where an option cannot be, or would not do anything.
    """
    state = _kept(args) if is_workspace(args.model) else _described(args)
    given = {name: getattr(args, name) for name in ("row", "device", "dtype", "backend")}
    state = replace(state, **{name: value for name, value in given.items() if value is not None})
    _check_backend(state)
    if args.dtype is not None and is_file(state.model):
        _check_dtype(state)
    if state.row >= len(state.rows):
        raise ValueError(f"row is {state.row}, but must be between 0 and {len(state.rows) - 1}.")
    return state


def text_state(args: argparse.Namespace) -> ViewState:
    """The state of a command that reads texts under no mask of the options, or of a workspace.

    Errors as in `view_state`.
    """
    given: dict[str, Any] = dict.fromkeys(("target", "row", "mask", "prefix", "window")) | _UNSET
    if is_workspace(args.model):
        given |= vars(args)
    return view_state(argparse.Namespace(**(vars(args) | given)))


def options_given(args: argparse.Namespace, *names: str) -> list[str]:
    """Those of some options that are given, as they are written."""
    return [
        f"--{name.replace('_', '-')}" for name in names if getattr(args, name) != _UNSET.get(name)
    ]


def _kept(args: argparse.Namespace) -> ViewState:
    """The state in a workspace; ValueError where an option says the same once more."""
    state = workspace_state(args.model)
    for option in options_given(args, "text", "target", "mask", "prefix", "window", *_UNSET):
        raise ValueError(
            f"{args.model} says what is read under which mask, so {option} cannot be given beside"
            " it; leave it out, or name a model."
        )
    return state


def workspace_state(path: str) -> ViewState:
    """The state in a workspace; ValueError with a sentence where it cannot be shown here."""
    file = Path(path)
    state = load(file).state
    with naming(file, "cannot be shown"):
        check_states((state,), [model_card(state.model)], tokenizer(state.model))
    return state


def _described(args: argparse.Namespace) -> ViewState:
    if not args.text:
        raise UsageError(
            f"--text is missing: say what {args.model} reads, or name a workspace in its place."
        )
    card = model_card(args.model)
    state = replace(
        initial(family_under(card, args.mask)),
        model=card.name,
        rows=_rows(args, card.family is Family.ENCODER_DECODER),
        past=args.past,
        window=args.window,
        documents=args.documents,
        backend=backend_of(card.name),
    )
    return _with_prefix(state, args.prefix)


def varied(state: ViewState, changes: dict[str, Any]) -> ViewState:
    """A state that differs from another in what ``changes`` says, by the names of the options.

    Another model keeps the mask where it can run under it, and else has its own. A prefix that
    nothing is said of is cut to the shortest row.

    Raises
    ------
    ValueError
        with a sentence where a change cannot be.
    """
    card = model_card(changes.get("model", state.model))
    family = state.family if fits(card, state.family) else card.family
    if "mask" in changes:
        family = family_under(card, changes["mask"])
    two_texts = family is Family.ENCODER_DECODER
    had_two = state.family is Family.ENCODER_DECODER
    if had_two and not two_texts and any(row.target for row in state.rows):
        raise ValueError(f"target is given, but only an encoder-decoder has one: not {card.name}.")
    if two_texts and state.documents:
        raise ValueError(_PACKS_NONE)
    own = state if state.family is family else initial(family)
    rows = state.rows
    for name in ("left_pad", "right_pad"):
        if name in changes:
            pads = _for_each(changes[name], len(rows), name)
            rows = tuple(replace(r, **{name: n}) for r, n in zip(rows, pads, strict=True))
    backend = backend_of(card.name) if "model" in changes else state.backend
    new = replace(
        state,
        family=family,
        model=card.name,
        rows=rows,
        prefix=own.prefix,
        past=changes.get("past", state.past),
        window=changes.get("window", state.window),
        head=own.head,
        backend=changes.get("backend", backend),
    )
    _check_backend(new)
    return _with_prefix(new, changes.get("prefix"))


def _check_backend(state: ViewState) -> None:
    """Raise ValueError where torch is to run a file."""
    if state.backend == "torch" and is_file(state.model):
        raise ValueError(f"backend is torch, but must be onnx for {state.model}.")


def _check_dtype(state: ViewState) -> None:
    """Raise ValueError where a file is to run in another precision than its own."""
    from core.export.files import find

    own = find(Path(state.model))[1].dtype
    if state.dtype != own:
        raise ValueError(
            f"dtype is {state.dtype}, but {state.model} was exported in {own}; leave it out."
        )


def check_head(card: ModelCard, head: HeadRef) -> None:
    """Raise ValueError with a sentence where a model has no such layer or head."""
    layers = card.layers
    if head.stack is Stack.ENCODER and card.family is Family.ENCODER_DECODER:
        layers = card.encoder_layers
    for name, number, most in (("layer", head.layer, layers), ("head", head.head, card.heads)):
        if number >= most:
            raise ValueError(f"{name} is {number + 1}, but must be between 1 and {most}.")


def backend_of(model: str) -> str:
    """What runs a model where nothing is said: ONNX Runtime runs a file."""
    return "onnx" if is_file(model) else "torch"


def family_under(card: ModelCard, mask: str | None) -> Family:
    """The family of a model under the mask of another rule; ValueError where it has no such."""
    if mask is None:
        return card.family
    family = _FAMILY.get(MaskKind(mask))
    two_texts = card.family is Family.ENCODER_DECODER
    if family is None or (family is Family.ENCODER_DECODER) != two_texts:
        allowed = [k.value for f, k in FAMILY_KIND.items() if f is not Family.ENCODER_DECODER]
        if two_texts:
            allowed = [MaskKind.DECODER_SELF.value]
        raise ValueError(f"mask is {mask}, but must be {' or '.join(allowed)} for {card.name}.")
    return family


def _rows(args: argparse.Namespace, two_texts: bool) -> tuple[RowState, ...]:
    texts, targets = args.text, args.target or [""]
    if args.target and not two_texts:
        raise ValueError(f"target is given, but only an encoder-decoder has one: not {args.model}.")
    if two_texts and args.documents:
        raise ValueError(_PACKS_NONE)
    left, right = spread(args.left_pad, args.right_pad)
    count = len(texts)
    columns = []
    for name, values in (("target", targets), ("left_pad", left), ("right_pad", right)):
        columns.append(_for_each(values, count, name))
    return tuple(
        RowState(text, target, left_pad=before, right_pad=after)
        for text, target, before, after in zip(texts, *columns, strict=True)
    )


def _for_each(values: Sequence[T], count: int, name: str) -> list[T]:
    """A value for each of ``count`` texts; a single one stands for all."""
    if len(values) not in (1, count):
        raise ValueError(
            f"{name.replace('_', '-')} has {len(values)} values, but must have one for each of the"
            f" {count} texts."
        )
    return list(values) * count if len(values) == 1 else list(values)


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
