from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from figure_cases import WORDS, colors_of, every_view, extent, maps, specs, weights
from hypothesis import given, settings
from hypothesis import strategies as st

from core.figure.attention import attention_figure
from core.figure.axes import SMALLEST, nice_step
from core.figure.difference import difference_figure
from core.figure.flow import FlowEdge, FlowRow, flow_figure
from core.figure.mask import mask_figure
from core.figure.report import report_figure
from core.figure.steps import MOST, GrowthStep, chosen, steps_figure
from core.figure.style import (
    ONE_COLUMN,
    PRESETS,
    REASON_HATCH,
    REASON_NAMES,
    Style,
    diverging,
    preset,
    reason_colors,
)
from core.figure.views import VIEWS
from core.figure.wall import wall_figure
from core.mask.reference import reference_reasons
from core.types import Check, CheckReport, MaskKind, MaskSpec, Reason, Stack, Verdict
from core.types.checks import COLUMNS
from core.types.colors import REASONS, light_map
from core.types.figure import HATCHES, Cells, Curve, Figure, Polygon, Polyline, Text

LOOKS = [
    *PRESETS.values(),
    Style(
        width=300.0,
        height=420.0,
        title="A long title that has to be broken into lines",
        map_name="grey",
    ),
    Style(labels=False, color_bar=False, background=None),
]


def mask_of(rows: int, cols: int, style: Style) -> Figure:
    return mask_figure(MaskSpec(MaskKind.CROSS, rows, source=cols), style=style)


def attention_of(rows: int, cols: int, style: Style) -> Figure:
    words = [f"word {n}" for n in range(max(rows, cols))]
    return attention_figure(
        np.full((rows, cols), 0.5), None, 0, words[:rows], words[:cols], style=style
    )


def difference_of(rows: int, cols: int, style: Style) -> Figure:
    return difference_figure(np.full((rows, cols), 0.5), np.full((rows, cols), 0.1), style=style)


@pytest.mark.parametrize("style", LOOKS, ids=range(len(LOOKS)))
def test_every_view_stays_on_its_page(style: Style) -> None:
    names = []
    for name, figure in every_view(style):
        names.append(name)
        left, top, right, bottom = extent(figure)
        assert min(left, top) >= 0.0, name
        assert right <= figure.width + 0.01, name
        assert bottom <= figure.height + 0.01, name
        assert figure.width == style.width
        assert style.height in (None, figure.height)
        assert figure.background == style.background
        assert figure.parameters
    assert names == list(VIEWS)


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.floats(36.0, 900.0),
    st.none() | st.floats(36.0, 900.0),
    st.booleans(),
    st.sampled_from([mask_of, attention_of, difference_of]),
)
@settings(deadline=None, max_examples=60)
def test_any_size_fits_or_is_refused(rows, cols, width, height, labels, make) -> None:
    style = Style(width=width, height=height, labels=labels, title="A title")
    try:
        figure = make(rows, cols, style)
    except ValueError:
        figure = None
    if figure is None:
        assert min(width, height or 900.0) < 300.0
        with pytest.raises(ValueError, match="needs at least"):
            make(rows, cols, style)
        return
    left, top, right, bottom = extent(figure)
    assert min(left, top) >= 0.0
    assert right <= width + 0.01
    assert bottom <= figure.height + 0.01


def test_the_same_data_make_the_same_figure() -> None:
    for (name, one), (_, other) in zip(every_view(Style()), every_view(Style()), strict=True):
        assert one == other, name


def test_a_figure_differs_where_a_cell_does() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 5)
    assert mask_figure(spec) != mask_figure(MaskSpec(MaskKind.PREFIX, 5, prefix=3))


@given(specs())
@settings(deadline=None)
def test_mask_cells_have_the_colour_of_their_reason(spec: MaskSpec) -> None:
    told = reference_reasons(spec)[0]
    seen = colors_of(mask_figure(spec, style=Style(width=600.0)), told.shape)
    for row in range(told.shape[0]):
        for key in range(told.shape[1]):
            ground, _ = reason_colors(Reason(told[row, key]))
            assert tuple(seen[row, key]) == ground


@given(specs(), st.integers(0, 99))
@settings(deadline=None)
def test_attention_cells_have_the_colour_of_their_weight(spec: MaskSpec, seed: int) -> None:
    told = reference_reasons(spec)[0]
    pattern = np.random.default_rng(seed).random(told.shape).astype(np.float32) * (told == 0)
    figure = attention_figure(pattern, spec, style=Style(width=600.0))
    seen = colors_of(figure, told.shape)
    lut = light_map("even")
    for row in range(told.shape[0]):
        for key in range(told.shape[1]):
            reason = Reason(told[row, key])
            expected = reason_colors(reason, quiet=True)[0]
            if reason is Reason.OPEN:
                expected = tuple(lut[round(255 * float(np.sqrt(pattern[row, key])))].tolist())
            assert tuple(seen[row, key]) == expected


def test_tiny_cells_are_drawn_in_blocks_of_their_largest() -> None:
    pattern = np.zeros((900, 900), np.float32)
    pattern[450, 100] = 1.0
    figure = attention_figure(pattern)
    assert "largest of each" in figure.parameters["cells drawn"]
    darkest = tuple(light_map("even")[255].tolist())
    lit = [m for m in figure.marks if isinstance(m, Cells) and m.color == darkest]
    assert any((mark.rects[:, 3] > 0.3).all() for mark in lit)


def test_labels_are_whole_faded_and_visible() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 4, left_pad=(1,))
    figure = mask_figure(spec, 0, ["<pad>", " cat", "\n", "  "], ["<pad>", " cat", "\n", "  "])
    texts = [mark for mark in figure.marks if isinstance(mark, Text)]
    assert [t.string for t in texts].count("cat") == 2
    assert [t.string for t in texts].count("⏎") == 2
    assert [t.string for t in texts].count("␣␣") == 2
    (faded,) = {t.color for t in texts if t.string == "<pad>"}
    (plain,) = {t.color for t in texts if t.string == "cat"}
    assert faded != plain


def test_dense_labels_are_thinned_at_an_even_pace() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 300)
    words = [f"w{n}" for n in range(300)]
    shown = [t for t in mask_figure(spec, 0, words, words).texts() if t.startswith("w")]
    numbers = sorted({int(t[1:]) for t in shown})
    assert 10 < len(numbers) < 150
    assert len(set(np.diff(numbers))) == 1
    assert not {"w0", "w1"} <= set(shown)


def test_without_labels_no_token_is_written() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 3)
    texts = mask_figure(spec, 0, "abc", "abc", style=Style(labels=False)).texts()
    assert texts == ["key", "query", "may read", "in the future"]


def test_positions_are_absolute() -> None:
    texts = mask_figure(MaskSpec(MaskKind.CAUSAL, 2, past=3)).texts()
    assert texts.count("3") == texts.count("4") == 2
    assert texts.count("0") == 1


@given(st.floats(0.1, 100.0), st.floats(0.01, 50.0))
def test_a_step_has_room_and_is_round(wanted: float, cell: float) -> None:
    step = nice_step(wanted, cell)
    assert step * cell >= wanted
    assert str(step).strip("0") in ("1", "2", "5")
    smaller = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if n < step]
    assert all(n * cell < wanted for n in smaller)


def test_heads_are_numbered_from_one_and_stacks_named() -> None:
    stacks = [maps(Stack.ENCODER, 2, 3, (4, 4)), maps(Stack.CROSS, 2, 3, (2, 4))]
    texts = wall_figure(stacks).texts()
    assert {"Encoder", "Cross", "H1", "H3", "L1", "L2"} <= set(texts)
    assert not {"H0", "L0", "H4", "L3"} & set(texts)


def test_many_steps_are_shown_at_an_even_pace() -> None:
    assert chosen(3) == [0, 1, 2]
    assert len(chosen(100)) == MOST
    assert chosen(100)[0] == 0
    assert chosen(100)[-1] == 99
    steps = [GrowthStep("a", np.ones(n + 1, bool)) for n in range(30)]
    figure = steps_figure(steps)
    assert figure.parameters["steps"] == "30"
    assert sum(text.endswith("  a") for text in figure.texts()) == MOST


def test_axes_of_steps_have_the_tokens_and_generated_ones_are_bold() -> None:
    tokens = [f"w{n}" for n in range(8)]
    steps = [
        GrowthStep(tokens[n], np.ones(n, bool), weights(n, n), MaskSpec(MaskKind.CAUSAL, n))
        for n in (3, 4, 5, 6, 7)
    ]
    figure = steps_figure(steps, tokens, 3, style=Style(width=260.0))
    said = [mark for mark in figure.marks if isinstance(mark, Text) and mark.string in tokens]
    queries = [mark.string for mark in said if not mark.rotation]
    keys = [mark.string for mark in said if mark.rotation]
    assert queries == [*tokens[:3], *tokens[:6]]  # Three panels in a line, and two.
    assert keys == [*tokens[:6], *tokens[:7]]
    assert all(mark.bold == (tokens.index(mark.string) >= 3) for mark in said)
    assert "bold: generated" in figure.texts()
    assert figure.parameters["prompt"] == "3"
    foot = max(mark.y for mark in said if not mark.rotation)
    assert all(mark.y > foot for mark in said if mark.rotation)


def test_labels_of_steps_are_thinned_where_cells_are_narrow() -> None:
    tokens = [f"w{n}" for n in range(200)]
    figure = steps_figure([GrowthStep("a", np.ones(200, bool), weights(200, 200))], tokens, 190)
    said = [mark for mark in figure.marks if isinstance(mark, Text) and mark.string in tokens]
    for place in ([m.y for m in said if not m.rotation], [m.x for m in said if m.rotation]):
        assert len(place) > 10
        assert min(np.diff(place)) >= SMALLEST * 7.0


@pytest.mark.parametrize("name", ["even", "grey"])
def test_a_difference_is_white_or_even_grey_at_zero(name: str) -> None:
    lut = diverging(name).astype(float)
    assert lut.shape == (255, 3)
    grey = lut @ [0.2126, 0.7152, 0.0722]
    if name == "grey":
        assert (np.diff(grey) <= 0).all()
    else:
        assert (lut[127] == 255).all()
        assert lut[0, 2] > lut[0, 0]
        assert lut[-1, 0] > lut[-1, 2]
        np.testing.assert_allclose(grey[0], grey[-1], atol=25)


def test_a_difference_hatches_what_is_closed_and_says_why() -> None:
    pattern = np.array([[1.0, 0.0], [0.5, 0.5]])
    future, padding = Reason.FUTURE, Reason.PADDING
    reasons = np.array([[[0, future], [0, 0]], [[0, future], [padding, 0]]], np.uint8)
    figure = difference_figure(pattern, pattern, reasons=reasons)
    hatched = [m for m in figure.marks if isinstance(m, Cells) and m.hatch is not None]
    ground = {one: reason_colors(one, quiet=True)[0] for one in (future, padding)}
    count = {one: sum(m.color == ground[one] for m in hatched) for one in ground}
    assert count == {future: 3 + 1, padding: 1 + 1}  # The last of each is the legend's.


def test_titles_of_a_difference_are_whole_on_a_narrow_page() -> None:
    names = ("masked before", "zeroed after")
    figure = difference_figure(weights(8, 8), weights(8, 8, seed=1), names=names)
    titles = [mark.string for mark in figure.marks if isinstance(mark, Text) and mark.bold]
    assert " ".join(titles) == "masked before zeroed after masked before − zeroed after"


def test_no_difference_has_a_scale_of_0_alone() -> None:
    said = difference_figure(weights(4, 4), weights(4, 4)).texts()
    assert "−0" not in said
    assert said[said.index("difference") :] == ["difference", "0"]


def test_a_difference_shows_its_sign() -> None:
    first, second = np.full((1, 2), 0.5), np.array([[0.9, 0.1]])
    figure = difference_figure(first, second, names=("mine", "theirs"))
    assert "mine − theirs" in figure.texts()
    assert figure.parameters["largest difference"] == "0.4"
    blue, orange = (tuple(diverging("even")[n].tolist()) for n in (0, 254))
    spots = {m.color: m.rects[0, 0] for m in figure.marks if isinstance(m, Cells)}
    assert spots[blue] < spots[orange]


ROWS = (FlowRow("a", (True, True), share=0.7), FlowRow("b", (True, False), share=0.3))


def test_flow_is_as_wide_as_its_share_and_the_key_says_so() -> None:
    edges = [FlowEdge(0, 0, 0, 0.5), FlowEdge(0, 1, 0, 0.1), FlowEdge(0, 1, 1, 0.001)]
    figure = flow_figure(("input", "1"), ROWS, edges)
    thin, thick = (mark for mark in figure.marks if isinstance(mark, Curve))
    assert thick.width == pytest.approx(5 * thin.width)
    assert thick.points[0][0] < thick.points[3][0]
    strokes = [m for m in figure.marks if isinstance(m, Polyline) and len(m.points) == 2]
    assert [m.width for m in strokes] == pytest.approx([thick.width, 0.4 * thick.width, thin.width])
    said = figure.texts()
    assert [text for text in said if text in ("1", "0.5", "0.2", "0.1", "0.05")][-3:] == [
        "0.5",
        "0.2",
        "0.1",
    ]


def test_what_can_reach_the_output_is_filled_and_the_rest_hollow() -> None:
    rows = (
        FlowRow("a", (True, True, False)),
        FlowRow("b", (False, False, False)),
        FlowRow("c", (True, True), first=1),
    )
    figure = flow_figure(("in", "1", "2"), rows, ())
    filled = [m for m in figure.marks if isinstance(m, Polygon)]
    hollow = [m for m in figure.marks if isinstance(m, Polyline) and len(m.points) == 5]
    assert (len(filled), len(hollow)) == (4 + 1, 4 + 1)  # The last of each is the key's.
    assert filled[2].points[0][0] == pytest.approx(filled[1].points[0][0])  # c begins at level 1.
    assert {"can reach the output", "cannot"} <= set(figure.texts())
    assert "of the output" not in figure.texts()


def test_shares_of_inputs_are_written_with_a_sign_where_some_are_below_zero() -> None:
    levels = ("in", "1")
    said = flow_figure(levels, ROWS, (), caption="What made it.").texts()
    assert {"0.700", "0.300", "share", "What made it."} <= set(said)
    rows = (*ROWS, FlowRow("c", (True, False), share=-0.25), FlowRow("d", (False,) * 2, share=0.0))
    assert {"+0.700", "+0.300", "−0.250", "0"} <= set(flow_figure(levels, rows, ()).texts())
    unknown = [replace(row, share=None) for row in ROWS]
    assert "share" not in flow_figure(levels, unknown, ()).texts()


def test_of_many_tokens_the_strongest_are_drawn_and_the_one_asked_about() -> None:
    rows = [FlowRow(f"w{n}", (True, n == 7), share=n / 1000) for n in range(300)]
    edges = [FlowEdge(0, 299, 7, 0.5), FlowEdge(0, 0, 7, 0.4)]
    figure = flow_figure(("in", "1"), rows, edges, focus=7)
    said = figure.texts()
    shown = [int(text[1:]) for text in said if text[:1] == "w"][::2]
    assert shown == [7, *range(301 - len(shown), 300)]
    assert f"Only the {len(shown)} strongest of 300 tokens are shown." in " ".join(said)
    assert min(m.size for m in figure.marks if isinstance(m, Text)) >= 0.86 * SMALLEST * 7.0
    assert sum(isinstance(mark, Curve) for mark in figure.marks) == 1
    assert figure.parameters["nodes"] == "300"


def report_of(*checks: Check) -> CheckReport:
    return CheckReport("decoder", "torch", "causal mask, 9 tokens", checks)


@pytest.mark.parametrize("name", ["one-column", "two-column"])
def test_a_report_says_what_was_checked_and_everything_found(name: str) -> None:
    checks = (
        Check("boundary", Verdict.FAIL, "All is well " * 12, 3e-6, 2e-4),
        Check("weights", Verdict.PASS, "Good.", 0.0, 0.0),
        Check("prefix", Verdict.REFUSED, "A causal mask has none."),
    )
    report = report_of(*checks)
    figure = report_figure(report, "One day Tom lost his ball.", style=preset(name))
    texts = figure.texts()
    said = " ".join(texts)
    assert said.startswith(f"decoder on torch, causal mask, 9 tokens: {report.sentence()}.")
    assert "“One day Tom lost his ball.”" in texts
    assert {*COLUMNS, "✓", "PASS", "✗", "FAIL", "–", "NOT SHOWN"} <= set(texts)
    for number in ("3.0e-06", "2.0e-04", "0"):
        assert number in texts
    assert said.count("All is well") == 12
    told = figure.parameters
    assert (told["model"], told["engine"], told["mask"]) == (report.model, "torch", report.mask)
    assert told["text"] == "One day Tom lost his ball."
    assert told["boundary"] == "FAIL 3.0e-06"


def test_a_long_text_is_cut_to_two_lines_and_kept_whole_in_the_parameters() -> None:
    text = "Once upon a time there was a little cat. " * 30
    figure = report_figure(report_of(Check("weights", Verdict.PASS, "Good.")), text)
    texts = figure.texts()
    first = next(n for n, line in enumerate(texts) if line.startswith("“"))
    assert texts[first + 1].endswith("…")
    assert texts[first + 2] == "check"
    assert figure.parameters["text"] == text


def test_a_narrow_report_holds_every_column_or_is_refused() -> None:
    checks = (
        Check("determinism", Verdict.REFUSED, "All is well.", 3e-6, 2e-4),
        Check("weights", Verdict.FAIL, "Good.", 0.0, 0.0),
    )
    refused = []
    for wide in range(40, 300, 4):
        style = Style(width=float(wide))
        try:
            figure = report_figure(report_of(*checks), "One day Tom lost his ball.", style=style)
        except ValueError as error:
            refused.append(wide)
            said_why = str(error)
            continue
        texts = [mark for mark in figure.marks if isinstance(mark, Text)]
        said = {mark.string for mark in texts}
        assert {*COLUMNS, "NOT SHOWN", "FAIL", "3.0e-06", "2.0e-04", "determinism"} <= said
        assert all(m.x + style.measure(m.string, m.size) <= wide for m in texts), wide
    assert refused == list(range(40, refused[-1] + 4, 4))
    assert refused[-1] < ONE_COLUMN.width
    assert said_why.endswith("take a larger size.")


def test_every_reason_has_a_look_of_its_own() -> None:
    closed = [reason for reason in Reason if reason is not Reason.OPEN]
    assert set(REASONS) == set(REASON_NAMES) == set(Reason)
    assert set(REASON_HATCH) == set(closed)
    lines = [HATCHES[REASON_HATCH[reason]] for reason in closed]
    assert len(set(lines)) == len(closed)
    assert len({reason_colors(reason) for reason in Reason}) == len(Reason)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: preset("poster"), "preset is 'poster'"),
        (lambda: Style(width=10.0), "width is 10 pt"),
        (lambda: Style(height=1e6), "height is 1e\\+06 pt"),
        (lambda: Style(map_name="jet"), "jet"),
        (lambda: Figure(5.0, 100.0, ()), "width is 5 pt"),
        (lambda: mask_figure(MaskSpec(MaskKind.CAUSAL, 3), 0, ["a"]), "1 labels"),
        (lambda: mask_figure(MaskSpec(MaskKind.CAUSAL, 3), 0, (), "abcd"), "4 labels"),
        (lambda: mask_figure(MaskSpec(MaskKind.CAUSAL, 3), 2), "b is 2"),
        (lambda: mask_figure(MaskSpec(MaskKind.CAUSAL, 9), style=Style(width=40.0)), "at least"),
        (
            lambda: mask_figure(MaskSpec(MaskKind.CAUSAL, 9), style=Style(height=36.0)),
            "height is 36 pt .* needs at least",
        ),
        (lambda: attention_figure(np.ones((2, 2)), MaskSpec(MaskKind.CAUSAL, 3)), "2 x 2"),
        (lambda: attention_figure(np.full((2, 2), 3.0)), "from 3 to 3"),
        (lambda: attention_figure(np.full((2, 2), np.nan)), "from nan to nan"),
        (lambda: attention_figure(np.ones(3)), "rows and columns"),
        (lambda: difference_figure(np.ones((1, 2)), np.ones((2, 1))), "of one shape"),
        (lambda: wall_figure([]), "no heads"),
        (lambda: steps_figure([]), "no step"),
        (lambda: steps_figure([GrowthStep("a", np.ones(3, bool))], ["a"]), "texts has 1 labels"),
        (lambda: report_figure(report_of()), "no results"),
        (lambda: flow_figure(("a",), ROWS, ()), "levels is 1"),
        (lambda: flow_figure(("a", "b"), (), ()), "rows is 0"),
        (lambda: flow_figure(("a", "b"), [FlowRow("x", (True,) * 3)], ()), "up to level 2"),
        (lambda: flow_figure(("a", "b"), ROWS[:1], [FlowEdge(0, 0, 1, 0.5)]), "target is 1"),
        (lambda: flow_figure(("a", "b"), ROWS, [FlowEdge(0, 0, 0, 1.5)]), "share is 1.5"),
    ],
)
def test_what_cannot_be_drawn_is_said(make, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


def test_words_of_every_kind_are_written() -> None:
    for name, figure in every_view(Style(width=515.0)):
        if name in ("mask", "attention", "steps", "flow", "stages"):
            assert set(WORDS) <= set(figure.texts()), name


def test_weights_are_rows_of_shares() -> None:
    np.testing.assert_allclose(weights(3, 5).sum(axis=1), 1, atol=1e-6)
