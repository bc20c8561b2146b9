"""The grammar of figures: types register themselves, labels stay apart, ticks are alike, commands make figures again;
and how every figure of a paper is laid out, on planted rows of all experiments that its figures draw."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from figure_faults import alike, faults
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.compare.figures import compare_figures, summary
from dpregret.paper_figs.figures import write
from dpregret.paper_figs.figures.curves import fit_claims, note, of_drawn, series_of, without_fixed_points
from dpregret.paper_figs.figures.grammar import COLUMNS, TYPES, Curve, PanelFigure, _apart, _wrapped, bare
from dpregret.paper_figs.figures.style import (
    DECADES,
    MARKERS,
    CurveStyle,
    fix_labels,
    latex_number,
    minor_ticks,
    one_kind,
    style_context,
    thinned,
    tick_values,
)
from dpregret.paper_figs.judge.claims import figure_types
from dpregret.paper_figs.judge.read_claims import load_claims
from dpregret.paper_figs.judge.runs import check_columns
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN
from dpregret.workflows.plan.facts import display_names
from dpregret.workflows.plan.read import PAPERS

BLACK = CurveStyle((0.0, 0.0, 0.0), "o")


def test_a_type_of_figures_is_what_registers_itself() -> None:
    assert write.DRAWN_BY
    assert set(figure_types()) == set(TYPES)
    assert set(TYPES) == {entry.type for file in PAPERS.glob("*/claims.yaml") for entry in load_claims(file).figures}


def test_every_figure_of_the_papers_has_a_title_of_its_own_that_is_a_sentence() -> None:
    titles = [entry.title for file in PAPERS.glob("*/claims.yaml") for entry in load_claims(file).figures]
    assert len(titles) == len(set(titles))
    wrong = [title for title in titles if len(title.split()) < 5 or title[-1] == "." or title[0].islower()]
    assert wrong == []


def test_texts_are_moved_apart_as_little_as_needed() -> None:
    sizes = np.full(5, 0.1)
    rng = np.random.default_rng(1)
    for places in (np.sort(rng.uniform(-0.05, 1.05, 5)) for _ in range(200)):
        moved = _apart(places, sizes)
        assert (np.diff(moved) >= 0.1 - 1e-12).all()
        assert moved[0] >= -0.07 - 1e-12
        assert moved[-1] <= 0.97 + 1e-12
    free = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    assert _apart(free, sizes) == pytest.approx(free)
    assert _apart(np.array([0.5, 0.5]), sizes[:2]) == pytest.approx([0.45, 0.55])


@pytest.mark.parametrize(
    ("values", "base", "labels"),
    [
        ((16.0, 64.0, 256.0), 2, ["16", "64", "256"]),
        ((16.0, 4096.0), 2, ["$2^{4}$", "$2^{12}$"]),
        ((1.0, 1e5), 10, ["$10^{0}$", "$10^{5}$"]),
        ((12.0, 24.0, 112.0), 2, ["12", "24", "112"]),
        ((1000.0, 3000.0), 10, ["1000", "3000"]),
        ((0.0003, 0.001), 10, [r"$3{\times}10^{-4}$", r"$1{\times}10^{-3}$"]),
    ],
)
def test_ticks_of_an_axis_are_written_alike(values: tuple[float, ...], base: int, labels: list[str]) -> None:
    assert one_kind(values) == labels
    assert alike(labels)


def test_an_axis_has_ticks_whatever_its_range() -> None:
    for low, high in ((1.0, 1e9), (3.0, 5.0), (0.9, 1.1), (1e-7, 1e-2), (95.0, 105.0), (1.0, 40.0)):
        ticks = tick_values(low, high, 10)
        assert 2 <= len(ticks) <= 9
        assert low <= min(ticks) <= max(ticks) <= high
    values, labels = thinned([10.0, 15.0, 21.0, 28.0], ["10", "15", "21", "28"], 10.0, 28.0, 0.5)
    assert len(values) == len(labels) < 4


MINOR = [
    ((1, 100), [1, 10, 100], [*range(2, 10), *range(20, 100, 10)]),
    ((0.5, 30), [1, 10], [0.5, 0.6, 0.7, 0.8, 0.9, *range(2, 10), 20, 30]),
    ((1, 10**DECADES), [1, 10**DECADES], [f * 10**p for p in range(DECADES) for f in range(1, 10) if f * 10**p > 1]),
    ((1, 10 ** (DECADES + 1)), [1, 10 ** (DECADES + 1)], [10**p for p in range(1, DECADES + 1)]),
]
"""Limits of an axis, its ticks, and the minor ticks that it has."""


@pytest.mark.parametrize(("limits", "major", "minor"), MINOR)
def test_minor_ticks_are_drawn_beside_the_axis_at_multiples_of_powers(
    limits: tuple[float, float], major: list[float], minor: list[float]
) -> None:
    """Left of the axis the picture is dark at these heights, and nowhere else but at the ticks."""
    figure = Figure(figsize=(2, 12), dpi=100)
    canvas, axis = FigureCanvasAgg(figure), figure.add_axes((0.5, 0.1, 0.4, 0.8))
    axis.set_yscale("log")
    axis.set_ylim(limits)
    axis.set_xticks([])
    axis.set_yticks(major, [""] * len(major))
    with style_context():
        minor_ticks(axis)
    (ticks,) = axis.collections
    np.testing.assert_allclose(np.sort(np.asarray(ticks.get_offsets())[:, 1]), minor, rtol=1e-12)
    assert list(axis.get_yticks(minor=True)) == []
    assert axis.get_ylim() == limits
    canvas.draw()
    dark = np.asarray(canvas.buffer_rgba())[::-1, :, 0] < 230
    left = round(axis.bbox.x0) - 2  # within the length of a tick
    rows = np.flatnonzero(dark[:, left])
    heights = axis.transData.transform([(0.0, value) for value in {*major, *minor}])[:, 1]
    near = np.abs(rows[:, None] - heights[None, :]) <= 1.5
    assert near.any(axis=0).all()
    assert near.any(axis=1).all()


def test_an_axis_that_is_not_logarithmic_has_no_minor_ticks() -> None:
    axis = Figure().add_subplot()
    axis.minorticks_on()
    minor_ticks(axis)
    assert list(axis.get_yticks(minor=True)) == []
    assert len(axis.collections) == 0


def test_the_labels_of_an_axis_stay_where_they_stand_whatever_the_resolution() -> None:
    """In the middle of their side, by their padding apart from the texts of the ticks; as they would be without it."""

    def drawn(fixed: bool, ticks: str = "100 000", dpi: float = 100) -> tuple[Any, Any, Axes]:
        figure = Figure(figsize=(4, 3), dpi=100)
        canvas, axis = FigureCanvasAgg(figure), figure.add_axes((0.3, 0.3, 0.6, 0.6))
        axis.set_xlabel("rounds", labelpad=5)
        axis.set_ylabel("regret", labelpad=7)
        axis.set_xticks([0, 1], ["0", "1"])
        axis.set_yticks([0, 1], ["0", "100 000"])
        if fixed:
            fix_labels(axis)
        axis.set_yticks([0, 1], ["0", ticks])
        figure.set_dpi(dpi)
        canvas.draw()
        inches = figure.dpi_scale_trans.inverted()
        return *(side.label.get_window_extent().transformed(inches) for side in (axis.xaxis, axis.yaxis)), axis

    below, beside, axis = drawn(fixed=True)
    box = axis.bbox.transformed(axis.figure.dpi_scale_trans.inverted())
    assert (below.x0 + below.x1) / 2 == pytest.approx((box.x0 + box.x1) / 2, abs=0.01)
    assert (beside.y0 + beside.y1) / 2 == pytest.approx((box.y0 + box.y1) / 2, abs=0.01)
    texts = [text.get_window_extent() for text in axis.get_yticklabels()]
    assert beside.x1 == pytest.approx(min(text.x0 for text in texts) / 100 - 7 / 72, abs=0.01)
    texts = [text.get_window_extent() for text in axis.get_xticklabels()]
    assert below.y1 == pytest.approx(min(text.y0 for text in texts) / 100 - 5 / 72, abs=0.01)
    for label, free in zip((below, beside), drawn(fixed=False), strict=False):
        np.testing.assert_allclose(label.get_points(), free.get_points(), atol=1e-9)
    for label, other in zip((below, beside), drawn(fixed=True, ticks="1", dpi=300), strict=False):
        assert other.get_points().mean(axis=0) == pytest.approx(label.get_points().mean(axis=0), abs=0.02)
    assert drawn(fixed=False, ticks="1")[1].x0 > beside.x0 + 0.2


def test_lines_are_wrapped_by_what_is_seen_and_never_within_a_formula() -> None:
    text = r"The slope of regret is $\varepsilon^{-1} \ln T$ here: 0.51 [0.50, 0.52]"
    lines = _wrapped(text, 12).split("\n")
    assert " ".join(lines) == text
    assert any(r"$\varepsilon^{-1} \ln T$" in line for line in lines)
    assert any("[0.50, 0.52]" in line for line in lines)


@pytest.mark.parametrize("count", [1, 8, 9, 20])
def test_any_number_of_curves_has_names_and_no_text_on_another(count: int) -> None:
    """Up to eight in the legend, more at their ends; all curves end at one point."""
    with style_context():
        figure = PanelFigure(2, 2)
        figure.title = "All curves end at one point"
        for panel in figure.panels:
            panel.axis.set(xscale="log", yscale="log", xlabel="x", ylabel="y")
            for number in range(count):
                curve = Curve(np.array([1.0, 10.0, 100.0]), np.array([1.0 + number, 5.0, 9.0]))
                panel.curve(f"learner {number} in a variant with a name", curve, BLACK, note="0.51 [0.50, 0.52]")
        assert list(faults(figure)) == []
    assert len(figure.mpl_figure.legends[0].texts) == (count if count <= 8 else 0)
    assert all(len(panel.axis.texts) == count for panel in figure.panels)
    beside = [[line for line in panel.axis.lines if not line.get_clip_on()] for panel in figure.panels]
    assert [len(marks) for marks in beside] == [count if count > 8 else 0] * 2  # a name has the marker of its curve


def test_numbers_of_a_caption_are_written_as_a_reader_expects() -> None:
    values = {64.0: "64", 256.0: "256", 1024.0: "$2^{10}$", 1797.0: "1797", 1960.4: "1960", 19.61: "19.6", 0.5: "0.5"}
    assert {value: latex_number(value) for value in values} == values
    assert latex_number(3.271e5) == r"$3.27\times 10^{5}$"
    assert bare(r"$\Gamma^{1/3}$, $L^\star$ and $1/\sqrt{\varepsilon}$") == "Γ^(1/3), L^* and 1/√ε"


def test_the_legend_names_only_curves_that_show() -> None:
    """A curve of zeros is not on a logarithmic axis; one without a finite budget is a level."""
    zeros, level = Curve(np.array([1.0, 2.0]), np.zeros(2)), Curve(np.array([np.inf]), np.array([3.0]))
    both = Curve(np.array([1.0, 2.0, np.inf]), np.array([9.0, 5.0, 4.0]))
    with style_context():
        figure = PanelFigure(1)
        panel = figure.panels[0]
        panel.axis.set(xscale="log", yscale="log")
        for name, curve in {"zeros": zeros, "level": level, "both": both}.items():
            panel.curve(name, curve, BLACK)
    assert set(figure.entries) == {"level", "both"}
    levels = [line for line in panel.axis.lines if set(line.get_xdata()) == {0, 1}]
    assert [line.get_ydata()[0] for line in levels] == [3.0, 4.0]
    assert [label.note for label in panel.labels] == ["without noise", ""]
    assert "*" not in MARKERS


def test_a_card_explains_the_lines_of_its_panel(tmp_path: Path) -> None:
    with style_context():
        figure = PanelFigure(1)
        panel, values = figure.panels[0], np.array([1.0, 2.0])
        panel.curve("learner", Curve(values, values), BLACK)
        panel.line("law", values, values, "a law", "slope one")
        figure.save(tmp_path / "drawn")
        figure.save_card(tmp_path / "drawn.card.png")
    assert [text.get_text() for text in figure.mpl_figure.legends[0].get_texts()] == ["learner", "slope one"]


@pytest.mark.parametrize(("end", "inside"), [(4.0, True), (16.0, False)])
def test_a_line_that_ends_early_has_its_text_at_its_end(end: float, inside: bool) -> None:
    with style_context():
        figure = PanelFigure(1)
        panel = figure.panels[0]
        panel.axis.set(xscale="log", yscale="log", xlim=(1, 16))
        panel.line("law", [1.0, end], [1.0, 2.0], "law", text="the law")
        panel.write_labels(named=False, characters=30, height=2.0)
    (text,) = panel.axis.texts
    assert (text.get_anncoords() == "offset points") == inside


@pytest.mark.parametrize("reach", [np.array([0.5, 6.0]), np.array([[0.5, 6.0], [1.0, 2.0]])])
def test_bands_are_means_and_their_half_widths_divided_by_a_law(reach: Array) -> None:
    """On a logarithmic axis a band ends above zero, at a twentieth of the mean; on a linear axis it has its own end."""
    _, above = np.broadcast_to(reach, (2, 2))
    for power, factor in ((0.0, np.ones(2)), (0.5, np.array([2.0, 3.0]))):
        curve = Curve(np.array([4.0, 9.0]), np.array([3.0, 5.0]), reach).scaled(power)
        for scale, ends in (("linear", (2.5, -1.0)), ("log", (2.5, 0.25))):
            with style_context():
                figure = PanelFigure(1)
                figure.panels[0].axis.set_yscale(scale)
                figure.panels[0].curve("learner", curve, BLACK)
            drawn = figure.data()
            assert drawn["y"].to_numpy() == pytest.approx(np.array([3.0, 5.0]) / factor)
            assert drawn["low"].to_numpy() == pytest.approx(np.array(ends) / factor)
            assert drawn["high"].to_numpy() == pytest.approx((np.array([3.0, 5.0]) + above) / factor)


def test_faults_of_a_figure_are_noticed() -> None:
    """Each law that `faults` holds is broken once."""
    with style_context():
        figure = PanelFigure(2, height=2.0)
        figure.title = "verdicts"
        axis = figure.panels[0].axis
        axis.plot([1.0, 2.0], [1.0, 2.0])
        for _ in range(2):
            axis.text(1.5, 1.5, "one on another", fontsize=13)
        for number in range(9):
            figure.key(f"guide {number}", color="black")
        figure.mpl_figure.text(-0.01, 0.5, "cut")
        found = " ".join(faults(figure))
    for words in ("left edge", "in the panels [2]", "lies on", "9 entries", "points", "no sentence"):
        assert words in found


def drawn_points(y: float) -> pd.DataFrame:
    rows = [
        ("1", "a", 1.0, 5.0, 4.0, 6.0, "mean"),
        ("1", "a", 2.0, y, y - 1, y + 1, "mean"),
        ("1", "law", 1.0, y, np.nan, np.nan, "law"),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_data_of_figures_are_compared_by_their_intervals() -> None:
    one = {"p/f": drawn_points(7.0), "p/g": drawn_points(7.0)}
    near, far = {"p/f": drawn_points(7.5)}, {"p/f": drawn_points(9.0).iloc[:2]}
    assert compare_figures(one, one).empty
    assert (
        summary(one, one, compare_figures(one, one))
        == "2 figures in common: the data of 0 differ, of 0 beyond intervals"
    )
    assert compare_figures(one, near).to_numpy().tolist() == [["p/f", 3, 0, 1, 0, 0]]
    assert compare_figures(one, far).to_numpy().tolist() == [["p/f", 2, 1, 0, 1, 0]]
    assert "1 only in A" in summary(one, far, compare_figures(one, far))


def test_learners_that_are_the_fixed_point_are_left_to_its_line() -> None:
    """Only without privacy: a private learner that never moved is drawn. One with plays without noise is private."""
    columns = ["learner", "variant", "epsilon", "regret", "trivial_regret", "window", "anytime"]
    rows = [
        ("stay", "plain", np.inf, 5.0, 5.0, 1, False),
        ("plain", "plain", np.inf, 4.0, 5.0, 1, False),
        ("still", "private", 1.0, 5.0, 5.0, 1, False),
        ("mixed", "private", 1.0, 4.0, 5.0, 1, False),
        ("mixed", "private", np.inf, 3.0, 5.0, 1, False),
    ]
    kept = without_fixed_points(pd.DataFrame(rows, columns=columns))
    assert {series.learner: series.private for series in series_of(kept)} == {
        "mixed": True,
        "still": True,
        "plain": False,
    }


def test_a_caption_counts_the_verdicts_of_the_curves_that_are_drawn() -> None:
    """A claim on a variant that its figure leaves out is no part of the caption."""
    rows = pd.read_parquet(ROWS)
    claims = load_claims(PAPERS / "lou_cheung_2020" / "claims.yaml")
    rows = check_columns(rows.loc[rows["paper"] == "lou_cheung_2020"], "ci")
    fitted = fit_claims(rows, claims, "horizon", "horizon", ("log_slope",))
    (figure,) = dict(write.drawn(rows, claims, {}, only=["regret_horizon"])).values()
    counted = of_drawn(fitted, figure)
    names = {(fit.claim.learner, fit.claim.variant) for fit in counted}
    assert counted
    assert all(variant != "printed" for _, variant in names)
    assert {(series.learner, series.variant) for panel in figure.panels for series in panel.curves} >= names
    noted = [note(series, fitted) for panel in figure.panels for series in panel.curves]
    assert ("At the end of a curve" in figure.caption) == any(noted)


ROWS = Path(__file__).with_name("ci_rows.parquet")
"""Rows of three runs of every play of the profile ci."""


FULLEST = {
    "bounds": "bounds_experts_horizon",
    "drift": "drift_flights_drift",
    "exponent": "exponent_bandit_horizon",
    "gain": "gain_window",
    "printed": "printed_errata",
    "regret": "regret_horizon",
    "sweep": "sweep_experts_horizon",
}
"""Type of figures -> the figure of ci with the most texts."""


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["fullest", "every"])
@pytest.mark.parametrize("paper", sorted(file.parent.name for file in PAPERS.glob("*/claims.yaml")))
def test_every_figure_of_ci_is_laid_out_without_a_fault(paper: str, every: bool) -> None:
    """No ink at the edges, no text on another, at most eight entries in one legend, few sizes, a sentence above.

    All figures are drawn; the fullest figure of each type is laid out, and every figure in the nightly tests.
    """
    rows, claims = pd.read_parquet(ROWS), load_claims(PAPERS / paper / "claims.yaml")
    rows = check_columns(rows.loc[rows["paper"] == paper], "ci")
    with style_context():
        figures = dict(write.drawn(rows, claims, {}, display_names()))
        chosen = figures if every else figures.keys() & set(FULLEST.values())
        found = {name: list(faults(figures[name])) for name in chosen}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert {entry.type for entry in claims.figures if entry.name in figures} <= FULLEST.keys()
    played = set(rows["experiment"])
    wanted = {entry.name for entry in claims.figures if entry.experiment in played}
    assert wanted - set(figures) <= {"gain_leader_horizon"}


def test_earlier_rounds_change_no_figure_but_those_against_rounds() -> None:
    """What a learner that does not receive T has at an earlier checkpoint belongs to a shorter run."""
    all_rows, compared = pd.read_parquet(ROWS), set()
    for paper in ("asi_et_al_2023_experts", "ene_et_al_2021"):
        claims = load_claims(PAPERS / paper / "claims.yaml")
        ends = all_rows.loc[(all_rows["paper"] == paper) & (all_rows["checkpoint"] == all_rows["horizon"])]
        ends = check_columns(ends.assign(anytime=True), "ci")
        played = set(ends["experiment"])
        others = [entry for entry in claims.figures if entry.type in ("winners", "privacy-cost")]
        for entry in others:  # ci does not play their experiments: another one stands for each
            first = ends.loc[ends["experiment"] == ends["experiment"].iloc[0]]
            ends = pd.concat([ends, first.assign(experiment=entry.experiment)], ignore_index=True)
        earlier = ends.assign(checkpoint=ends["horizon"] // 2)
        earlier[["regret", "trivial_regret", "bound", "displacement"]] = 1e12
        chosen = [entry.name for entry in others] + [
            entry.name
            for entry in claims.figures
            if entry.type in ("sweep", "bounds") and entry.experiment in played
            if VALUE_COLUMN[entry.parameter or "horizon"] != "checkpoint"
        ]
        with style_context():
            alone, beside = (
                {name: figure.data() for name, figure in write.drawn(rows, claims, {}, display_names(), chosen)}
                for rows in (ends, pd.concat([earlier, ends], ignore_index=True))
            )
        assert alone.keys() == beside.keys()
        for name, data in alone.items():
            pd.testing.assert_frame_equal(data, beside[name], obj=name)
        compared |= {entry.type for entry in claims.figures if entry.name in alone}
    assert compared >= {"sweep", "winners", "privacy-cost"}
