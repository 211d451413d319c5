"""``maskscope export``: a model as ONNX files, and the proof that they say what torch says."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.mask import add_shape, shaped
from app.cli.models import is_file, model_card
from app.cli.options import family_under, workspace_state
from app.cli.output import Failure, check_target, progress
from app.cli.values import MOST, UsageError, whole
from app.state import FAMILY_KIND
from app.workspaces import SUFFIX, is_workspace
from core import paths
from core.types import MaskKind, MaskSpec, ParityReport

if TYPE_CHECKING:
    from core.export.files import Files
    from core.export.names import Part
    from core.model.transformer import Transformer

_HELP = """Write a model as ONNX files that run under any mask, with a cache.

An encoder-decoder becomes OUT.encoder.onnx and OUT.decoder.onnx. Beside them come the tokenizer
(OUT.tokenizer.json) and what a comparison with torch in 20 cases says (OUT.parity.json). With
--fixed-mask, the mask is built in and the file takes token ids of its length alone; an
encoder-decoder becomes one file then, and takes ids of a --source of fixed length as well.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "export",
        help="write a model as ONNX files, compared with torch",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    named = f"a name that `maskscope models` lists, or a FILE{SUFFIX} of one"
    option("model", metavar="MODEL", nargs="?", help=named)
    option("out", metavar="OUT.onnx", nargs="?", type=Path, help="the file to write")
    lossy = parser.add_mutually_exclusive_group()
    half = "half precision: half as large, less exact"
    lossy.add_argument("--fp16", dest="dtype", action="store_const", const="float16", help=half)
    whole_8 = "weights of 8 bits: smaller and faster, the least exact"
    lossy.add_argument("--int8", dest="dtype", action="store_const", const="int8", help=whole_8)
    option("--no-verify", action="store_true", help="do not compare with torch")
    option("--verify", type=Path, metavar="FILE.onnx", help="only compare a file with --model")
    option("--model", dest="of", metavar="MODEL", help="the model that --verify compares with")
    kinds = [kind.value for kind in FAMILY_KIND.values()]
    option("--fixed-mask", choices=kinds, help="build a mask of this rule in")
    slots = "tokens of the fixed mask, pads included"
    option("--length", type=whole(1, MOST), metavar="N", help=slots)
    add_shape(parser)
    read = "source tokens of an encoder-decoder"
    option("--source", type=whole(1, MOST), metavar="N", help=read)
    for side in ("left", "right"):
        pads = f"pads on the {side} of the source"
        option(f"--source-{side}-pad", type=whole(0, MOST), default=0, metavar="N", help=pads)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Export or verify; 1 where the parity fails, the files and the report are kept."""
    for name in ("model", "of"):
        model = getattr(args, name)
        if model is not None and is_workspace(model):
            setattr(args, name, workspace_state(model).model)
    if args.verify is not None:
        if args.model is not None or args.out is not None:
            raise UsageError("--verify writes no model; name the one to compare with by --model.")
        if args.of is None:
            raise UsageError("--verify needs --model MODEL, the model to compare with.")
        return _told(_compared(_loaded(args.of), args.verify))
    if args.of is not None:
        raise UsageError("--model goes with --verify; write `maskscope export MODEL OUT.onnx`.")
    if args.model is None or args.out is None:
        raise UsageError("export needs MODEL and OUT.onnx; `maskscope export --help` tells more.")
    check_target(args.out, suffix=".onnx")
    mask, source = _fixed_mask(args), _fixed_source(args)
    model = _loaded(args.model)
    files = _exported(model, args, mask, source)
    if args.no_verify:
        return 0
    return _told(_compared(model, files.graph(_parts(model, mask)[-1])))


def _fixed_mask(args: argparse.Namespace) -> MaskSpec | None:
    """The mask to build in, of the stack that makes the output."""
    if args.fixed_mask is None:
        given = args.prefix or args.past or args.window or args.documents or args.length
        if given or any(args.left_pad) or any(args.right_pad):
            raise UsageError("the options of a mask shape --fixed-mask, which is not given.")
        return None
    if args.length is None:
        raise UsageError("--fixed-mask needs --length, the tokens that the file will take.")
    family_under(model_card(args.model), args.fixed_mask)
    return shaped(args, MaskKind(args.fixed_mask))


def _fixed_source(args: argparse.Namespace) -> MaskSpec | None:
    """The mask of an encoder-decoder's source to build in; the window is that of both stacks."""
    if args.fixed_mask != MaskKind.DECODER_SELF.value:
        if args.source or args.source_left_pad or args.source_right_pad:
            raise UsageError("--source is what an encoder-decoder with a --fixed-mask reads.")
        return None
    if args.source is None:
        raise UsageError("the --fixed-mask of an encoder-decoder needs --source, its tokens.")
    if args.documents:
        raise ValueError("documents are given, but an encoder-decoder packs none.")
    return MaskSpec(
        MaskKind.ENCODER_SELF,
        args.source,
        left_pad=(args.source_left_pad,),
        right_pad=(args.source_right_pad,),
        window=args.window,
    )


def _loaded(name: str) -> Transformer:
    """A bundled model; torch is imported here."""
    if is_file(name):
        raise ValueError(f"{name} is exported already; name a model that `maskscope models` lists.")
    model_card(name)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # Read when torch is imported.
    from core.checkpoints import bundled

    return bundled.load(name, paths.MODELS)


def _exported(
    model: Transformer,
    args: argparse.Namespace,
    mask: MaskSpec | None,
    source: MaskSpec | None,
) -> Files:
    from core.export.onnx_export import ExportError, export

    dtype = args.dtype or "float32"
    try:
        files = export(
            model,
            args.out,
            name=args.model,
            tokenizer=paths.TOKENIZER,
            dtype=dtype,
            fixed_mask=mask,
            source_mask=source,
            progress=progress,
        )
    except ExportError as error:
        raise Failure(str(error)) from error
    made = [str(files.graph(part)) for part in _parts(model, mask)]
    print(f"Wrote {' and '.join(made)} ({dtype}), with {files.tokenizer}.")
    return files


def _parts(model: Transformer, mask: MaskSpec | None) -> tuple[Part, ...]:
    from core.export.names import Part, parts_of

    return parts_of(model.config) if mask is None else (Part.FIXED,)


def _compared(model: Transformer, path: Path) -> ParityReport:
    from core.export.parity import verify

    return verify(model, path, progress=progress)


def _told(report: ParityReport) -> int:
    provider = report.providers[0].removesuffix("ExecutionProvider")
    if not report.passed:
        raise Failure(f"{report.sentence()}; the report is kept.")
    print(f"{report.sentence()} ({provider})")
    return 0
