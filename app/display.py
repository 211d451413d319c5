"""Tells the widgets what to show; reads nothing from them and decides nothing."""

from __future__ import annotations

from app import presenter
from app.main_window import MainWindow
from app.scene import Scene
from app.state import FAMILY_KIND, ViewState
from core.mask.intervals import reason_counts
from core.run.validate import why_no_generation
from core.text.tokenizer import Tokenizer
from core.types import (
    Family,
    HeadPattern,
    HeadRef,
    MaskSpec,
    ModelCard,
    Reason,
    RunResult,
    Stack,
    StepEvent,
)
from widgets.next_token_bars import Candidate
from widgets.run_bar import EngineStatus
from widgets.sampling_form import SamplingChoice

BACKENDS = (("torch", "torch"), ("onnx", "ONNX"))
READS = {
    Stack.ENCODER: "The encoder runs once: every source token reads every real source token.",
    Stack.DECODER: "The decoder reads its own text: each token what came before it, and itself.",
    Stack.CROSS: "Every target token reads every real source token: a rectangle, no triangle.",
}


class Display:
    """The window as seen from the controller: a scene, an answer, a head, a step."""

    def __init__(self, window: MainWindow, tokenizer: Tokenizer) -> None:
        self._window = window
        self._tokenizer = tokenizer
        self._pairs = ""
        self._run_facts: list[str] = []
        self._said = self._told = ""
        self._rates: dict[tuple[str, str, str], dict[str, float]] = {}
        """Tokens per second of each engine, by model, device and number type."""
        self._decoding = (0, 0.0)
        """Tokens of this generation after the first, and the seconds that they took."""

    # -- the state and its mask: at once, no engine

    def state(self, state: ViewState, models: list[ModelCard]) -> None:
        """Controls that show a choice."""
        bar = self._window.run_bar
        bar.set_family(state.family)
        entries = [(m.name, f"{m.name} · {m.parameters / 1e6:.1f} M") for m in models]
        bar.set_models(entries, state.model)
        bar.set_backends(BACKENDS, state.backend)
        bar.set_sampling(SamplingChoice(state.sampling, state.max_new_tokens))
        two = state.family is Family.ENCODER_DECODER
        self._window.show_family(stacks=two)
        for edit, text in (
            (self._window.text, state.current.text),
            (self._window.target, state.current.target),
        ):
            if edit.text() != text:
                edit.setText(text)
                if not edit.hasFocus():
                    edit.home(False)  # A long text is read from its beginning.
        family = next(m.family for m in models if m.name == state.model)
        why = why_no_generation(family, FAMILY_KIND[state.family])
        bar.set_can_generate(not why, why)

    def say(self, sentence: str) -> None:
        """Say something of a run; an empty sentence takes the last one away, and no other.

        What was told stays, whatever is said.
        """
        now = self._window.sentence.text()
        if (sentence or now == self._said) and not (now and now == self._told):
            self._window.sentence.setText(sentence)
        self._said = sentence

    def tell(self, sentence: str) -> None:
        """Tell something that the runs which follow by themselves leave, until `forget`."""
        self._window.sentence.setText(sentence)
        self._told = sentence

    def forget(self) -> None:
        """The user did something: what was told before goes, and nothing else."""
        if self._window.sentence.text() == self._told:
            self._window.sentence.setText("")
        self._told = ""

    def status(self, status: EngineStatus, detail: str = "") -> None:
        """How the engine is."""
        self._window.run_bar.set_status(status, detail)
        self._window.run_bar.set_progress(-1.0 if status is EngineStatus.RUNNING else None)

    def progress(self, sentence: str, share: float) -> None:
        """What a run is doing, and the share from 0 to 1 that is done."""
        self._window.run_bar.set_status(EngineStatus.RUNNING, sentence)
        self._window.run_bar.set_progress(share)
        self.say(sentence)

    def failed(self, sentence: str, *, is_there: bool) -> None:
        """Why a run or a generation ended, and whether the engine is there for another."""
        self.status(EngineStatus.READY if is_there else EngineStatus.STOPPED, sentence)
        self._window.form.set_error(sentence)
        self.tell(sentence)

    def devices(self, state: ViewState, devices: tuple[str, ...]) -> None:
        """Where the engine can run, and in which numbers."""
        bar = self._window.run_bar
        entries = [("auto", f"auto ({devices[0]})"), *((d, d) for d in devices)]
        bar.set_devices(entries, state.device)
        half = any(device.startswith("cuda") for device in devices)
        bar.set_dtypes(("float32", "float16", "bfloat16") if half else ("float32",), state.dtype)

    def scene(self, state: ViewState, scene: Scene) -> None:
        """The mask, the form and the tokens."""
        window, spec = self._window, scene.masks[state.stack]
        self._mask(spec, scene.row, scene, state.stack)
        cell = presenter.cell_shown(state, scene)
        window.mask_view.set_selected(cell)
        window.attention_view.set_selected(cell)
        window.form.set_error("")
        window.form.set_knobs(presenter.knobs(state), presenter.limits(state, scene))
        window.form.set_rows(presenter.row_titles(state), state.row)
        window.stacks.set_masks(scene.masks, scene.row, state.stack)
        window.strip.set_tokens(presenter.strip(self._tokenizer, scene, state.stack, cell[0]))
        window.reads.setText(READS[state.stack])

    def _mask(self, spec: MaskSpec, row: int, scene: Scene, stack: Stack) -> None:
        window = self._window
        counts = reason_counts(spec, row)
        window.mask_view.set_mask(spec, row, *self._labels(scene, stack))
        window.form.set_counts(counts)
        note = f"rows read columns · {spec.length} × {spec.keys}"
        if spec.past:
            note += f" · {spec.past} cached"
        window.mask_card.note.setText(note)
        self._pairs = presenter.pairs_text(spec, counts[Reason.OPEN])
        self._say_facts()

    def _say_facts(self) -> None:
        self._window.facts.setText("  ·  ".join((self._pairs, *self._run_facts)))

    def _labels(self, scene: Scene, stack: Stack) -> tuple[list[str], list[str]]:
        return (
            presenter.labels(self._tokenizer, scene.query_ids[stack]),
            presenter.labels(self._tokenizer, scene.key_ids[stack]),
        )

    # -- answers of the engine

    def awaiting(self) -> None:
        """Fade what the new mask has made old."""
        self._window.attention_view.set_stale(True)
        self._window.heads.set_stale(True)

    def refused(self, sentence: str) -> None:
        """A run that cannot be: nothing old stays beside the new mask, and the reason is said."""
        self._window.attention_view.set_empty(sentence)
        self._window.heads.set_empty("No attention: the model did not run.")
        self._window.bars.set_empty("The model did not run.")
        self._window.cache.set_empty("no cache: the model did not run")
        self._window.forget_curves()
        self._run_facts = []
        self._say_facts()

    def result(self, state: ViewState, scene: Scene, result: RunResult) -> None:
        """Everything that a run says."""
        self._window.heads.set_maps(result.maps)
        self.pattern(state, scene, result.head)
        self.candidates(state, scene, result)
        self.cache(state, scene.inputs.mask, scene.row, result.cache_bytes, result.cross_bytes)
        facts = [f"{result.engine or 'model'} {1000 * result.seconds:.0f} ms on {result.device}"]
        if result.cache_difference is not None:
            facts.append(f"cached − uncached ≤ {result.cache_difference:.1e}")
        facts += self._all_rates(state)
        self._run_facts = facts
        self._say_facts()
        self.say(f"{result.model}: {result.note}." if result.note else "")

    def pattern(self, state: ViewState, scene: Scene, head: HeadPattern) -> None:
        """One head in full."""
        stack = head.head.stack
        spec, row = scene.masks[stack], scene.row
        view = self._window.attention_view
        view.set_pattern(head.pattern, spec, row, *self._labels(scene, stack))
        if stack is state.stack:
            view.set_selected(presenter.cell_shown(state, scene))
        self.head(head.head)

    def curves(self, scene: Scene, result: RunResult, head: HeadPattern) -> None:
        """The curves along the text, if they are open."""
        if self._window.curves_dock.isVisible():
            names = presenter.labels(self._tokenizer, scene.query_ids[head.head.stack])
            found = presenter.curves(scene, result, head)
            first = scene.masks[head.head.stack].past
            self._window.curve_plot().set_curves(found, names, first)

    def head(self, head: HeadRef) -> None:
        """Which head is shown."""
        self._window.heads.set_selected(head)
        many = self._window.stacks.isVisibleTo(self._window)
        where = f"{head.stack.value} · " if many else ""
        note = f"{where}layer {head.layer + 1} · head {head.head + 1}"
        self._window.attention_card.note.setText(note)

    def candidates(self, state: ViewState, scene: Scene, result: RunResult) -> None:
        """The likeliest tokens at the selected query."""
        row = state.cell[0] if state.cell else None
        self._window.bars.set_candidates(
            *presenter.candidates(self._tokenizer, scene, state.stack, result, row)
        )

    def cache(self, state: ViewState, spec: MaskSpec, row: int, size: int, cross: int) -> None:
        """The KV cache after a run: its slots, and room for one more Play."""
        window = self._window
        window.cache.setVisible(spec.kind.is_causal)
        used = spec.filled
        capacity = used + state.max_new_tokens
        own = size - cross
        window.cache.set_cache(
            used, spec.left_pad[row], capacity, own, round(own / used * capacity), cross
        )

    def step(self, state: ViewState, before: Scene, event: StepEvent) -> None:
        """One generated token: mask and heads as they were read to choose it."""
        spec = before.masks[state.stack]
        self._mask(spec, 0, before, state.stack)
        self._window.heads.set_maps(event.maps)
        if event.head is not None:
            self.pattern(state, before, event.head)
        label = self._tokenizer.label
        bars = [
            Candidate(int(i), label(int(i)), float(p))
            for i, p in zip(event.candidate_ids, event.candidate_probs, strict=True)
        ]
        chosen = f"chose “{label(event.token)}” at {event.cache_length}"
        self._window.bars.set_candidates("Next token", chosen, bars)
        self.cache(state, before.inputs.mask, 0, event.cache_bytes, event.cross_bytes)
        self._run_facts = [f"cache offset {event.cache_length}", *self._rate(state, event)]
        self._say_facts()

    def _rate(self, state: ViewState, event: StepEvent) -> list[str]:
        """Tokens per second so far; the first token is left out, which reads the whole prompt."""
        if event.step == 0:
            self._decoding = 0, 0.0
            return []
        tokens, seconds = self._decoding
        self._decoding = tokens, seconds = tokens + 1, seconds + event.seconds
        rates = self._rates.setdefault((state.model, state.device, state.dtype), {})
        rates[state.backend] = tokens / max(seconds, 1e-9)
        return self._all_rates(state)

    def _all_rates(self, state: ViewState) -> list[str]:
        """Tokens per second of the last generation of a model by each engine."""
        titles = dict(BACKENDS)
        rates = self._rates.get((state.model, state.device, state.dtype), {})
        return [f"{titles[name]} {rate:,.0f} tokens/s" for name, rate in rates.items()]

    def timeline(self, written: tuple[int, ...], at: int) -> None:
        """The generated tokens, and how many of them are in the text."""
        self._window.timeline.set_steps([self._tokenizer.label(t) for t in written], at)
        self._window.run_bar.set_steps(len(written), at)
