"""``maskscope generate``: text token by token, or the gaps of a text where there is no next."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.cli.models import add_json
from app.cli.options import add_reading, options_given, tokenizer, view_state
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, to_json
from app.cli.reading import Reading, candidates, engine, in_words, read
from app.cli.values import decimal, whole
from app.scene import request, scene
from app.state import ViewState
from core.text.tokenizer import MASK, Tokenizer
from core.types import Family, GenerateRequest, MaskKind, StepEvent

if TYPE_CHECKING:
    from core.run.contract import Runs

_DRAWN = ("max_new_tokens", "temperature", "top_k", "top_p", "seed")
"""Options that say how many tokens are drawn, and how: those of `Sampling` after the first."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "generate",
        help="continue a text, or fill its [MASK]s",
        description="Continue a text token by token with a cache. An encoder cannot: it fills every"
        " [MASK] instead. In JSON, the probability of a candidate is the model's; a token is"
        " drawn_with the one that temperature, top-k and top-p make of it.",
    )
    add_reading(parser)
    add = parser.add_argument
    add("--max-new-tokens", type=whole(1, 100_000), metavar="N", help="default: 24")
    add("--temperature", type=decimal, help="0, the default, takes the likeliest")
    add("--top-k", type=whole(0), metavar="N", help="0, the default, is off")
    add("--top-p", type=decimal, help="1, the default, is off")
    add("--seed", type=whole(0, 2**32 - 1), metavar="N", help="default: 0")
    add_json(parser)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Generate or fill; print the text, or write what was asked for."""
    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    state = _sampled(args, view_state(args))
    words = tokenizer(state.model)
    with engine(state.model, state.backend) as runs:
        try:
            text = generate(runs, state, words)
            printed, plain = text.whole, text.as_plain()
        except ValueError as error:
            reads_only = scene(state, words).inputs.mask.kind is MaskKind.BIDIRECTIONAL
            if not reads_only or not masked(state, words):
                raise
            for option in options_given(args, *_DRAWN):
                raise ValueError(
                    f"{option} is given, but every [MASK] becomes its likeliest token, and nothing"
                    " is drawn; leave it out."
                ) from error
            filled = fill(read(runs, state), words)
            print(f"maskscope: {error}", file=sys.stderr)
            printed, plain = filled.as_text(), filled.as_plain()
    if args.json is None:
        print(printed)
    else:
        deliver(to_json(plain), args.json)
    return 0


def _sampled(args: argparse.Namespace, state: ViewState) -> ViewState:
    """The state with the sampling that was asked for, and its own where nothing was."""
    given = {name: getattr(args, name) for name in _DRAWN[1:] if getattr(args, name) is not None}
    count = args.max_new_tokens or state.max_new_tokens
    return replace(state, sampling=replace(state.sampling, **given), max_new_tokens=count)


@dataclass(frozen=True)
class Generated:
    """A text and what was written after it.

    ``prompt`` is all that was read, tokens that were generated before included; ``whole`` begins
    with it.
    """

    model: str
    prompt: str
    whole: str
    steps: list[dict[str, Any]]
    seconds: float
    stopped: bool

    def as_plain(self) -> dict[str, Any]:
        """The content of a JSON file."""
        rate = len(self.steps) / self.seconds if self.seconds else None
        return {
            "model": self.model,
            "prompt": self.prompt,
            "text": self.whole,
            "reached_end": self.stopped,
            "seconds": round(self.seconds, 6),
            "tokens_per_second": None if rate is None else round(rate, 1),
            "steps": self.steps,
        }


def generate(engine: Runs, state: ViewState, words: Tokenizer) -> Generated:
    """Continue the shown row of a state; an encoder-decoder continues its target.

    Raises
    ------
    ValueError
        with the reason in a sentence if the family or the mask cannot generate.
    """
    shown = scene(state, words)
    wanted = GenerateRequest(request(state, shown), state.sampling, state.max_new_tokens)
    events = list(engine.generate(wanted))
    row, two_texts = state.current, state.family is Family.ENCODER_DECODER
    ids = [*words.encode(row.target if two_texts else row.text), *row.generated]
    return Generated(
        state.model,
        _text(ids, words),
        _text([*ids, *(event.token for event in events)], words),
        [_step(event, words) for event in events],
        sum(event.seconds for event in events),
        bool(events) and events[-1].stopped,
    )


def _step(event: StepEvent, words: Tokenizer) -> dict[str, Any]:
    return {
        "id": event.token,
        "token": words.label(event.token),
        "drawn_with": round(event.probability, 6),
        "cache_length": event.cache_length,
        "candidates": candidates(event.candidate_ids, event.candidate_probs, words),
    }


def masked(state: ViewState, words: Tokenizer) -> bool:
    """True if the shown row has a ``[MASK]``."""
    return MASK in words.encode(state.current.text)


@dataclass(frozen=True)
class Filled:
    """A text with its gaps filled, and what else would fit each."""

    model: str
    text: str
    filled: str
    gaps: list[dict[str, Any]]

    def as_text(self) -> str:
        """The filled text, then a line for each gap."""
        gaps = (f"[MASK] at {gap['column']}: {in_words(gap['candidates'])}" for gap in self.gaps)
        return "\n".join((self.filled, *gaps))

    def as_plain(self) -> dict[str, Any]:
        """The content of a JSON file."""
        return {"model": self.model, "text": self.text, "filled": self.filled, "gaps": self.gaps}


def fill(reading: Reading, words: Tokenizer) -> Filled:
    """The likeliest tokens for every ``[MASK]`` of a run, each gap by itself."""
    result = reading.result
    filled, gaps = list(reading.query_ids), []
    for row, token in enumerate(reading.query_ids):
        if token == MASK:
            found = candidates(result.top_ids[row], result.top_probs[row], words)
            gaps.append({"column": row, "candidates": found})
            filled[row] = found[0]["id"]
    return Filled(result.model, reading.state.current.text, _text(filled, words), gaps)


def _text(ids: Sequence[int], words: Tokenizer) -> str:
    return words.decode(ids, structure=False)
