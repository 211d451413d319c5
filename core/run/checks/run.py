"""All checks of one model on one text: the table of them, and the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.run import validate
from core.run.cancel import CancelToken
from core.run.checks import batch_checks, mask_checks
from core.run.checks.bench import Bench, refused
from core.run.checks.subject import Subject, Text
from core.run.prompt import one_row
from core.types import Check, CheckReport, Inputs, MaskSpec, Verdict
from core.types.wording import counted

CHECKS: dict[str, Callable[[Bench], Check]] = {
    "weights": mask_checks.attention,
    "boundary": mask_checks.boundary,
    "prefix": mask_checks.prefix,
    "padding": batch_checks.padding,
    "documents": mask_checks.documents,
    "cache": batch_checks.cache,
    "batch order": batch_checks.order,
    "determinism": batch_checks.determinism,
}
"""Each looks at the same text and the same declared mask."""
SHORTEST = 3
"""Tokens that a text must have for any check to tell right from wrong."""


def check(
    subject: Subject,
    inputs: Inputs,
    row: int = 0,
    *,
    names: Sequence[str] = (),
    progress: Callable[[str, float], None] | None = None,
    cancel: CancelToken | None = None,
) -> CheckReport:
    """Run the checks on the shown row of some inputs, its pads and its cache taken away.

    Raises
    ------
    ValueError
        for a check that there is not, and for a text that the model cannot run.
    Cancelled
        when ``cancel`` was set.
    """
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise ValueError(f"There is no check {unknown[0]!r}, only {', '.join(CHECKS)}.")
    alone = one_row(inputs, row)
    validate.check(subject, alone)
    bench, found = Bench(subject, Text.of(alone, 0)), []
    wanted = [name for name in CHECKS if not names or name in names]
    for done, name in enumerate(wanted):
        if cancel is not None:
            cancel.check()
        if progress is not None:
            progress(f"checking {name}", done / len(wanted))
        found.append(_one(bench, name))
    return CheckReport(subject.name, subject.engine, in_words(bench.text.spec), tuple(found))


def _one(bench: Bench, name: str) -> Check:
    if bench.text.length < SHORTEST:
        length = counted(bench.text.length, "token")
        sentence = f"{length} cannot show anything: {SHORTEST} or more can."
        return refused(name, sentence)
    found = CHECKS[name](bench)
    if found.verdict is Verdict.FAIL and bench.subject.blind_to_weights:
        return replace(found, sentence=f"{found.sentence} {_LATER}")
    return found


_LATER = "Weights of an exported graph are not seen: the fault may be in the layer before."


def in_words(spec: MaskSpec) -> str:
    """A mask in a line."""
    parts = [f"{spec.kind.value} mask, {counted(spec.length, 'token')}"]
    if spec.prefix:
        parts.append(f"prefix {spec.prefix}")
    if spec.window is not None:
        parts.append(f"window {spec.window}")
    if spec.documents:
        parts.append(f"documents {', '.join(str(n) for n in spec.documents)}")
    return ", ".join(parts)
