"""The generated tokens of the shown row: what was written, and the run that writes more."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.scene import Scene
from core.run.prompt import appended, prompt
from core.types import Inputs, Stack


@dataclass(frozen=True)
class Playback:
    """``written`` are all generated tokens, those scrubbed away included.

    ``running`` are the inputs that the next event was chosen under, None while nothing runs.
    """

    written: tuple[int, ...] = ()
    running: Inputs | None = None

    def begun(self, scene: Scene, shown: tuple[int, ...]) -> Playback:
        """Generation goes on after the tokens that are shown."""
        return Playback(shown, prompt(scene.inputs, scene.row))

    def advanced(self, token: int) -> Playback:
        """One more token was chosen."""
        assert self.running is not None
        return Playback((*self.written, token), appended(self.running, token))

    def ended(self) -> Playback:
        """Nothing runs any more; what was written stays."""
        return replace(self, running=None)


def scene_of(inputs: Inputs, generated: int) -> Scene:
    """The scene of a row that is being generated: one row, uncached on the axes."""
    ids = inputs.rows[0]
    if inputs.source_mask is None or inputs.cross_mask is None:
        return Scene(
            inputs,
            0,
            {Stack.DECODER: inputs.mask},
            {Stack.DECODER: ids},
            {Stack.DECODER: ids},
            generated,
        )
    source = inputs.source[0]
    return Scene(
        inputs,
        0,
        {
            Stack.ENCODER: inputs.source_mask,
            Stack.DECODER: inputs.mask,
            Stack.CROSS: inputs.cross_mask,
        },
        {Stack.ENCODER: source, Stack.DECODER: ids, Stack.CROSS: ids},
        {Stack.ENCODER: source, Stack.DECODER: ids, Stack.CROSS: source},
        generated,
    )
