"""Sweeps of the API: the numbers of plays, whatever the cores; rankings, pictures and tables; mistakes in one line."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import dpregret as dp
from dpregret.algorithms.learner import Card, Learner, Loss
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.core.errors import ConfigError
from dpregret.datasets.losses import Linear
from dpregret.datasets.risks import EmpiricalRisk
from dpregret.datasets.synthetic import HuberKink
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.text import formats
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.run import sweep
from dpregret.workflows.run.sweep import Swept

mpl.use("agg")
SMALL: dict[str, Any] = {"stream": "norm-kink", "rounds": 64, "dimension": 2, "runs": 2}
ONE: dict[str, Any] = {"learner": "wdp-cocop-gaussian", **SMALL}


class Still(Learner):
    """Never moves."""

    card = Card("still-here", "never moving", "mine", "-", {"plain": "as it is"}, private=False, convex=True)

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """Nothing to learn."""


class Twin(Still):
    """The same algorithm under another name."""

    card = Card("twin", "twin", "mine", "-", {"plain": "as it is"}, private=False, convex=True)


class Blank(Twin):
    """A name that no file and no table could hold."""

    card = Card("two words", "twin", "mine", "-", {"plain": "as it is"}, private=False, convex=True)


class Claims(Still):
    """The shortest card, which receives a budget; without a plan of noise and without an account."""

    card = Card("claims-it", "claims privacy")


class NoCard(Learner):
    """Without a card."""


class NoRound(Learner):
    """Neither loops nor a method for a round."""

    card = Card("no-round", "no round")


class NoLosses(EmpiricalRisk):
    """A risk of records without losses."""

    name = "no-losses"

    def __init__(self, domain: Any, samples: int, generators: Any) -> None:
        super().__init__(domain, samples, len(generators), lipschitz=1.0, smoothness=0.0, curvature=0.0)

    def optimum(self) -> Any:
        """Never requested."""


class NoRecords(NoLosses):
    """Of single records, that is."""

    name = "no-records"
    loss = Linear(np.zeros(2))


class Blunt(HuberKink):
    """A stream of the caller's own: blunter kinks."""

    name = "blunt-kink"
    radius = 0.05


class Stolen(HuberKink):
    """With the name of another one."""


Stolen.name = "norm-kink"


@pytest.fixture(scope="module")
def swept() -> Any:
    learners = ["wdp-cocop-gaussian.root", "wdp-cocop-gaussian", Still, Twin]
    return dp.sweep(learners, **{**SMALL, "rounds": [32, 64]}, window=[8, 16], epsilon=[4, 8], cores=1)


def test_a_sweep_has_the_numbers_of_its_plays_whatever_the_cores(swept: Any) -> None:
    assert len(swept) == 2 * (2 * 4 + 2)
    for play in swept:
        given = {**SMALL, "rounds": play.rounds}
        if math.isfinite(play.epsilon):
            given |= {"window": play.window, "epsilon": play.epsilon}
        learner = {"still-here.plain": Still, "twin.plain": Twin}.get(play.learner, play.learner)
        assert play.rows["regret"].tolist() == dp.play(learner, **given).rows["regret"].tolist()
    learners = [Twin, "wdp-cocop-gaussian"]
    other = dp.sweep(learners, **{**SMALL, "rounds": [64, 32]}, window=[16], epsilon=8, cores=2)
    assert [play.learner for play in other] == [*["twin.plain"] * 2, *["wdp-cocop-gaussian.corrected"] * 2]
    key = ["learner", "rounds", "window", "epsilon"]
    both = swept.frame.merge(other.frame, on=key, suffixes=("", "_other"))
    assert len(both) == 4
    assert (both["regret"] == both["regret_other"]).all()


def test_learners_are_ranked_in_every_setting_and_copies_are_said(swept: Any) -> None:
    ranking = swept.ranking()
    assert swept.varied == ["rounds", "window", "epsilon"]
    for _, part in ranking.groupby(swept.varied):
        assert part["regret"].is_monotonic_increasing
        assert part["rank"].tolist() == [1, 2, 3, 4]
        assert set(part["learner"]) == {play.learner for play in swept}
        assert (part["behind"] >= 0).all()
        assert part.set_index("learner").loc["twin.plain", "same_as"] == "still-here.plain"
    private = ranking.loc[ranking["protects"] != "nothing"]
    assert (private["protects"] == private["window"].map("last {}".format)).all()
    assert (ranking.loc[ranking["learner"] == "twin.plain", "of_baseline"] == 1).all()
    assert "same as" in repr(swept)
    assert swept._repr_html_().count("<table") == 1


def test_a_sweep_is_a_table_of_latex_with_the_least_regret_in_bold(swept: Any) -> None:
    lines = swept.to_latex().splitlines()
    rows = [line for line in lines if line.endswith(r"\\")]
    assert {row.count("&") for row in rows} == {8}
    assert lines[0] == r"\begin{tabular}{l" + 8 * "r" + "}"
    for column in range(1, 9):
        cells = [re.sub(r"[^\d. ]", "", row.split("&")[column].replace(r"\pm", " ")).split()[0] for row in rows[1:]]
        bold = [r"\mathbf" in row.split("&")[column] for row in rows[1:]]
        assert min(cells, key=float) in {cell for cell, dark in zip(cells, bold, strict=True) if dark}


@pytest.mark.parametrize(("x", "curves"), [("rounds", 10), ("window", 10), ("epsilon", 10), (None, 10)])
def test_a_sweep_draws_into_the_axes_that_it_is_given(swept: Any, x: str | None, curves: int) -> None:
    axes = Figure().subplots()
    assert swept.plot(x, ax=axes) is axes
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len([text for text in texts if "baseline" not in text]) == curves if x == "rounds" else texts
    assert not any("inf" in text for text in texts)
    assert any("never moving" in text for text in texts)


def test_what_has_no_guarantee_protects_nothing() -> None:
    """Whatever its card says: without an account, or with a privacy claim that is refuted."""
    refuted = "wdp-cocop-gamma.printed-noise"
    found = dp.sweep([Claims, refuted, "wdp-cocop-gaussian"], **SMALL, window=16, epsilon=4, cores=1)
    protects = found.ranking().set_index("learner")["protects"]
    assert protects.to_dict() == {
        "claims-it.plain": "nothing", refuted: "nothing", "wdp-cocop-gaussian.corrected": "last 16",
    }  # fmt: skip
    shown = " ".join(repr(found).split())  # lines are folded
    assert "no guarantee: claims-it.plain: no finite epsilon is accounted" in shown
    assert f"no guarantee: {refuted}: exact privacy loss eps = 2.5, claimed 2" in shown
    assert "more is accounted" not in shown
    *others, honest = found
    spent = replace(honest, rows=honest.rows.assign(delivered_epsilon=2 * honest.accounted_epsilon))
    said = "more is accounted than asked for: wdp-cocop-gaussian.corrected: eps = 8 for 4"
    assert said in " ".join(repr(replace(found, plays=(*others, spent))).split())


def test_a_card_of_a_name_and_a_title_is_enough_to_play() -> None:
    first = dp.play(Claims, **SMALL)
    assert first.learner == "claims-it.plain"
    assert first.regret.value == pytest.approx(first.baseline)
    assert first.protects == "nothing"
    assert first.guarantee == "No guarantee: no finite epsilon is accounted."
    assert math.isinf(first.accounted_epsilon)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": 5}, "Card: name: must be text, not 5"),
        ({"title": None}, "Card: title: must be text, not None"),
        ({"private": "no"}, "Card: private: must be True or False, not 'no'"),
        ({"needs": "smooth"}, "Card: needs: must be a set of needs, as in frozenset({'smooth'}), not 'smooth'"),
        ({"variants": {}}, "Card: variants: must be names with one line each, as in {'plain': 'as it is'}, not {}"),
        ({"variants": ["plain"]}, "as in {'plain': 'as it is'}, not ['plain']"),
        ({"variants": {1: "as it is"}}, "not {1: 'as it is'}"),
        ({"default": "plan"}, "Card: default: unknown variant 'plan'; did you mean 'plain'? Allowed: plain"),
    ],
)
def test_a_bad_card_is_refused_in_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Card(**{"name": "mine", "title": "my own", **given})
    assert str(refused.value).endswith(message)
    assert len(refused.value.problems) == 1


def test_a_learner_without_a_round_is_refused_when_it_is_made() -> None:
    with pytest.raises(dp.LearnerFault, match="NoRound has neither state nor observe: give one of the two") as refused:
        dp.play(NoRound, **SMALL)
    assert "\n" not in str(refused.value)


def test_a_learner_without_noise_stands_beside_its_private_self() -> None:
    """At epsilon inf: another row, another curve, and never the number of the private one."""
    found = dp.sweep(ONE["learner"], **SMALL, epsilon=[1, math.inf], cores=1)
    ranking = found.ranking().set_index("protects")["regret"]
    assert set(ranking.index) == {"all rounds", "nothing"}
    rows = {row.split("&")[0].strip(): row for row in found.to_latex().splitlines() if row.endswith(r"\\")}
    name = "wdp-cocop-gaussian.corrected"
    assert formats.significant(ranking["all rounds"]) in rows[name]
    assert formats.significant(ranking["nothing"]) in rows[f"{name} without noise"]
    for x in ("rounds", None):
        texts = [text.get_text() for text in found.plot(x, ax=Figure().subplots()).get_legend().get_texts()]
        assert sum("without noise" in text for text in texts) == 1
        assert not any("inf" in text for text in texts)


def test_a_play_draws_its_course_and_says_what_it_guarantees() -> None:
    play = dp.play(**ONE, window=16, epsilon=2.0)
    axes = Figure().subplots()
    assert play.plot(ax=axes) is axes
    course = axes.lines[0]
    np.testing.assert_array_equal(course.get_xdata(), play.curve["rounds"])
    np.testing.assert_array_equal(course.get_ydata(), play.curve["regret"])
    mu = gaussian_mu(Budget(2.0, 1e-6))
    assert play.mu == pytest.approx(mu)
    assert play.rho == pytest.approx(mu**2 / 2)
    assert play.noise_scale == play.last["noise_scale"].iloc[0]
    assert play.guarantee.startswith(
        "(2, 1e-06)-differential privacy for two loss sequences that differ in the loss of"
    )
    for part in ("all points played", "among the last 16", "what was released before", f"{mu:.4g}", "Dong, Roth & Su"):
        assert part in play.guarantee
    assert play.guarantee.count(". ") == 0
    assert play.frame.to_dict("records")[0] | {"regret": 0} == play.frame.iloc[0].to_dict() | {"regret": 0}
    assert {"baseline", "bound", "accounted_epsilon", "noise_scale"} <= {*play.frame}
    assert hash(play) == hash(play)
    assert "&lt;" not in play._repr_html_()


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"learner": "ftal"}, ("No privacy",)),
        ({"learner": "wdp-cocop-gamma.printed", "window": 16}, ("No guarantee: ",)),
        ({"learner": "wdp-cocop-gamma", "window": 16}, ("1-differential privacy for", "basic composition")),
        ({"learner": "l2p", "stream": "bernoulli"}, ("all experts played", "fixed in advance", "accountant of l2p")),
        ({"learner": "hedge-composition", "stream": "bernoulli"}, ("all experts played", "optimal composition")),
    ],
)
def test_a_guarantee_claims_no_more_than_is_accounted(given: dict[str, Any], parts: tuple[str, ...]) -> None:
    play = dp.play(**{**SMALL, **given})
    assert all(part in play.guarantee for part in parts), play.guarantee


def test_a_stream_of_the_callers_own_needs_no_study_and_leaves_no_trace() -> None:
    play = dp.play(Still, **{**SMALL, "stream": Blunt})
    assert play.stream == "blunt-kink"
    assert "blunt-kink" not in FAMILIES["online"].streams
    (bundled,) = dp.sweep("ftal", **{**SMALL, "stream": Blunt}, cores=1)
    assert bundled.regret.value < play.regret.value


def test_a_group_is_what_the_stream_serves_and_says_who_was_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    family = FAMILIES["online"]
    group = sweep._group("private", "norm-kink")
    assert all(family.learners[name].card.private for name in group)
    assert {"wdp-cocop-gaussian", "dp-ftrl-lipschitz"} <= {*group}
    assert "wdp-cocop-gaussian" not in sweep._group("private", "half-space")
    assert not {*group} & {*sweep._group("not private", "norm-kink")}
    monkeypatch.setattr(sweep, "_group", lambda *_: ["wdp-cocop-gaussian", "dartboard-net"])
    found = dp.sweep(["private", Still], **{**SMALL, "dimension": 4}, cores=1)
    assert [play.learner for play in found] == ["wdp-cocop-gaussian.corrected", "still-here.plain"]
    assert "dimension 1, 2 or 3" in found.left_out["dartboard-net"]
    assert "not played: dartboard-net" in repr(found)


@pytest.mark.parametrize(
    ("family", "stream"),
    [("bandits", "arms"), ("bandits", "cone"), ("experts", "bernoulli"), ("erm", "breast-cancer-risk")],
)
def test_a_group_serves_every_family(family: str, stream: str) -> None:
    """Strong convexity is a matter of online losses: elsewhere only a card that names it needs it."""
    kinds, group = FAMILIES[family].learners, sweep._group("private", stream)
    plain = {name for name, kind in kinds.items() if kind.card.private and not FAMILIES[family].needs(kind)}
    assert group
    assert plain <= {*group} <= {*kinds}


def test_a_window_of_a_group_is_served_by_a_power_of_two_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_group", lambda *_: ["wdp-cocop-gaussian"])
    found = dp.sweep("private", **SMALL, window=[12, 16], cores=1)
    assert [play.window for play in found] == [16]
    assert "16 serves 12" in repr(found)
    monkeypatch.setattr(sweep, "_group", lambda *_: ["noise-per-gradient"])
    shown = " ".join(repr(dp.sweep("private", **SMALL, window=12, cores=1)).split())
    assert "all protect all rounds, which is more" in shown


def test_a_window_of_a_group_beyond_all_rounds_protects_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next power of two is above T: the learner is played as for W = T, once, and the remark says so."""
    monkeypatch.setattr(sweep, "_group", lambda *_: ["wdp-cocop-gaussian"])
    given = {**SMALL, "rounds": 40, "cores": 1}
    found = dp.sweep("private", **given, window=[8, 36, 100])
    assert [(play.window, play.protects) for play in found] == [(8, "last 8"), (64, "all rounds")]
    assert "T = 40: W = 64 protects all rounds" in repr(found)
    assert "no algorithm with a window" not in repr(found)
    alone = dp.play("wdp-cocop-gaussian", **{**SMALL, "rounds": 40})
    assert found[1].rows["regret"].tolist() == alone.rows["regret"].tolist()


def test_regrets_on_other_losses_are_not_subtracted(swept: Any) -> None:
    """A stream aimed at epsilon: the baseline of a play at another epsilon differs."""
    first, *others = [play for play in swept if play.rounds == 64 and math.isinf(play.epsilon)]
    assert swept.ranking()["behind"].notna().all()
    assert "depend on epsilon" not in repr(swept)
    rows = first.rows
    moved = replace(first, rows=rows.assign(regret=2 * rows["regret"], trivial_regret=2 * rows["trivial_regret"]))
    found = replace(swept, plays=(moved, *others))
    assert found.ranking()["behind"].isna().sum() == 1
    assert "losses of norm-kink depend on epsilon" in " ".join(repr(found).split())


def test_windows_without_noise_have_a_column_each() -> None:
    found = dp.sweep(ONE["learner"], **SMALL, window=[8, 16], epsilon=[math.inf], cores=1)
    assert found.varied == ["window"]
    assert all(f"$W = {window}$" in found.to_latex() for window in (8, 16))


def test_no_row_of_a_latex_table_stands_for_two_plays() -> None:
    """A sweep varies what its columns name; plays that were put together by hand may differ in more."""
    plays = [dp.play(ONE["learner"], **SMALL, epsilon=1, delta=delta) for delta in (1e-6, 1e-3)]
    found = Swept(tuple(plays), {})
    with pytest.raises(
        ConfigError, match=r"^to_latex: wdp-cocop-gaussian\.corrected: stands twice in the column Regret"
    ):
        found.to_latex()


def test_progress_goes_to_standard_error_where_it_is_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    dp.sweep([Still, Twin], **SMALL, cores=1)
    assert capfd.readouterr() == ("", "")
    dp.sweep([Still, Twin], **SMALL, cores=1, progress=True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "2 of 2 plays" in shown.err


def test_what_there_is_is_listed() -> None:
    needs = dp.learners().set_index("name")["needs"]
    assert "strongly-convex" in needs["wdp-cocop-gaussian"]
    assert set(dp.sets().columns) == {"name", "title", "local_oracle"}
    assert dp.claims("talwar")["paper"].unique().tolist() == ["talwar_2015"]
    errata = dp.errata("lou")
    assert errata["paper"].unique().tolist() == ["lou_cheung_2020"]
    assert {"erratum", "kind", "place", "printed", "right", "why"} <= {*errata}
    assert "full" in dp.profiles()


def test_a_table_stands_as_the_paper_prints_it() -> None:
    run = dp.load()
    first = run.table("lou")
    assert [*first.frame.columns] == [
        "Algorithm", "Privacy guarantee", "per-iteration OP", "Regret bound", "as printed", "corrected",
    ]  # fmt: skip
    assert len(first) == 7
    assert "✗ violated" in repr(first)
    assert r"\begin{tabular}" in first.to_latex()
    second = run.table("talwar", 2)
    assert second.to_latex().count(r"\\") == len(second) + 1
    assert "nan" not in second.to_latex()


def test_a_table_of_latex_shows_its_text_as_it_is() -> None:
    text = formats.latex(pd.DataFrame({"a_b": ["50 %", r"\x"], "$y$": ["$1$", "2 & 3"]}), raw=["$y$"])
    assert text.splitlines()[2:6] == [r"a\_b & $y$ \\", r"\midrule", r"50 \% & $1$ \\", r"\textbackslash x & 2 & 3 \\"]


@pytest.mark.parametrize(("value", "text"), [(999.4, "999"), (999.7, "1000"), (0.9999, "1"), (-999.7, "-1000")])
def test_numbers_that_round_to_a_thousand_have_no_exponent(value: float, text: str) -> None:
    assert formats.significant(value) == text


def play(**given: Any) -> Callable[[], Any]:
    """A play of one learner with a mistake."""
    return lambda: dp.play(**{**ONE, **given})


def swept_with(learners: Any, **given: Any) -> Callable[[], Any]:
    """A sweep with a mistake."""
    return lambda: dp.sweep(learners, **{**SMALL, "cores": 1, **given})


def audited_with(**given: Any) -> Callable[[], Any]:
    """An audit with a mistake."""
    noise: Callable[..., Any] = lambda generator, rounds, dimension: generator.standard_normal((rounds, dimension))  # noqa: E731
    return lambda: dp.audit(noise, **{"rounds": 8, "participations": 2, **given})


class Mute:
    """An object that fails to write itself."""

    def __repr__(self) -> str:
        raise RuntimeError("mute")


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)

MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "rounds of a year": (play(rounds=2**40), "play: .* more than the limit memory_gb"),
    "dimension of a billion": (play(dimension=10**9), "play: dimension: must be less than or equal to 16777216"),
    "no learner": (play(learner=None), "play: learner: None is no name"),
    "a learner in a list": (play(learner=["ftal"]), "play: learner: .*is no name"),
    "an object": (play(learner=object()), "play: learner: .*is no name"),
    "another class": (play(learner=int), "play: learner: int is no name"),
    "a card with a name of two words": (
        play(learner=Blank),
        "play: learner: Blank: 'two words' may hold small letters",
    ),
    "a class without a card": (play(learner=NoCard), "play: learner: NoCard needs a class attribute `card`"),
    **{
        f"a risk without {pair}": (
            play(learner="private-fw", stream=risk, set="l1-ball"),
            f"{risk.__name__} has neither {pair}: give one of the two",
        )
        for risk, pair in ((NoLosses, "loss nor value"), (NoRecords, "record_losses nor record_gradient"))
    },
    "capitals": (play(learner="FTAL"), "did you mean 'ftal'"),
    "an empty variant": (play(learner="ftal."), "play: learner: unknown variant ''"),
    "a variant with a typo": (play(learner="wdp-cocop-gaussian.rot"), "did you mean 'root'"),
    "budgets in a list": (play(epsilon=[1, 2]), "play: epsilon: must be a number, .*`dpregret.sweep` takes lists"),
    "rounds in a list": (play(rounds=[1, 2]), "play: rounds: .*`dpregret.sweep` takes lists"),
    "budget as text": (play(epsilon="1"), "play: epsilon: must be a number"),
    "no budget": (play(epsilon=0), "play: epsilon: must be greater than 0"),
    "a budget beyond floats": (play(epsilon=10**400), "play: epsilon: too large"),
    "a complex budget": (play(epsilon=1j), "play: epsilon: must be a number"),
    "delta 1": (play(delta=1), "play: delta: must be less than 1"),
    "seed as text": (play(seed="x"), "play: seed: must be a whole number"),
    "seed below 0": (play(seed=-1), "play: seed: must be a whole number, 0 or more, not -1"),
    "a share of a round": (play(rounds=3.5), "play: rounds: must be"),
    "a truth value": (play(rounds=True), "play: rounds"),
    "a share of a window": (play(window=3.5), "play: window: must be a whole number"),
    "no window": (play(window=0), "play: window"),
    "a window between powers": (play(learner="restarted-ftal", window=24, epsilon=8.0), "play: window: .*16 or 32"),
    "a window in a family without one": (play(learner="private-ftrl", stream="gap", window=4), "play: window"),
    "a window of who protects all": (play(learner="dp-ftrl", window=16), "play: window: dp-ftrl is not windowed"),
    "a window without privacy": (play(learner="ftal", window=16), "play: window: ftal is not private"),
    "a dimension without end": (play(dimension=math.inf), "play: dimension"),
    "no number as budget": (play(epsilon=math.nan), "play: epsilon"),
    "a tiny budget": (play(epsilon=1e-30), "play: epsilon: must lie between"),
    "a word as delta": (play(delta="small"), "play: delta"),
    "no delta": (play(delta=0), "Gaussian noise needs delta > 0"),
    "no delta in print": (play(learner="pqftl.printed", delta=0, stream="lasso"), "Gaussian noise needs delta > 0"),
    "one run": (play(runs=1), "play: runs"),
    "a billion runs": (play(runs=10**12), "play: runs"),
    "a set with a typo": (play(set="bal"), "play: set"),
    "an empty set": (play(set=""), "play: set"),
    "a set of experts": (
        play(learner="hedge", stream="bernoulli", set="ball"),
        "play: set: learners of the family experts play on no set",
    ),
    "steep losses": (play(strong_convexity=1e300), "play: strong_convexity: must be at most 1e\\+100"),
    "a ridge that is not there": (
        play(learner="dp-ftrl-lipschitz", stream="half-space", strong_convexity=3.0),
        "play: strong_convexity: losses of",
    ),
    "an option that is none": (play(colour=3), "play: options: .*has no option 'colour'"),
    "limits in a list": (play(limits=["a", 1]), "play: limits: must be text"),
    "limits in an array": (play(limits=np.zeros(2)), "play: limits: must be text"),
    "data of another size": (play(stream="fetched", source="diabetes"), "play: stream 'diabetes' has 10 features"),
    "data of other labels": (
        play(learner="dp-ftrl-lipschitz", stream="records-logistic", source="diabetes", dimension=10),
        "play: 'diabetes' has other labels than -1 and \\+1",
    ),
    **{
        f"an audit with {name} {value}": (audited_with(**{name: value}), f"audit: {name}")
        for name, value in (
            ("window", 3.5),
            ("rounds", "x"),
            ("rounds", 0),
            ("participations", 0),
            ("epsilon", None),
            ("exact_gaps", "no"),
            ("sums", np.eye(2)),
            ("sums", 1),
        )
    },
    "an audit of a huge window": (audited_with(window=10**400), "window: must be a whole number of at most"),
    **{
        f"records of {file!r}": (
            lambda file=file: dp.records(file, label="y", norm=1.0),
            "records: file: must be a path",
        )
        for file in (None, 5, b"x", ["x"], math.nan, "", "\0")
    },
    "a number as a run": (lambda: dp.compare(5, "reference"), "compare: must be a play, a run, or the path of a run"),
    "a frame as a run": (lambda: dp.compare("reference", pd.DataFrame()), "compare: .* not DataFrame"),
    "a table in a list": (lambda: dp.load().table("lou", []), "table: number: must be a whole number"),
    "a word for all columns": (lambda: dp.load().table("lou", 1, "no"), "table: all_columns: must be True or False"),
    "an array as axis": (lambda: dp.sweep(Still, **SMALL, cores=1).plot(x=np.eye(2)), "plot: x: unknown"),
    "a name too long to compare": (lambda: dp.compare("x" * 5000, "reference"), "name too long"),
    "a name too long to load": (lambda: dp.load("x" * 5000), "name too long"),
    "a number as figure": (lambda: dp.check("lou_cheung", "thm1-printed", figure=5), "figure: must be a path"),
    "a dimension of 5000 digits": (play(dimension=10**5000), "dimension: must be a whole"),
    "rounds of 5000 digits": (play(rounds=-(10**5000)), "rounds: must be a whole"),
    "runs of 400 digits": (play(runs=10**400), "runs: must be a whole"),
    "T": (play(T=64), "play: T: no argument; did you mean rounds"),
    "eps": (play(eps=1), "did you mean epsilon"),
    "n_runs": (play(n_runs=4), "did you mean runs"),
    "epsilom": (play(epsilom=4), "play: epsilom: no argument; did you mean epsilon"),
    "a window beyond T": (play(window=128), r"play: window: .*\(for W = T leave it out\)"),
    "a word as window": (play(window="horizon"), "play: window: must be a whole number"),
    "flat losses": (play(strong_convexity=0), "play: strong_convexity: must be greater than 0"),
    "two curvatures": (play(strong_convexity=[1, 2]), "play: strong_convexity: has one value in a play"),
    "an object as option": (play(colour=object()), "play: colour: must be a number"),
    "a set as number": (play(set=3), "play: set: must be a name"),
    "stream in a list": (play(stream=["norm-kink"]), "play: stream: must be a name"),
    "stream with a name of another": (play(stream=Stolen), "play: stream: 'norm-kink' is the name of another"),
    "a class that is no stream": (play(stream=int), "play: stream: int needs a class attribute `name`"),
    "an own learner, no such stream": (play(learner=Still, stream="norm-kin"), "did you mean 'norm-kink'"),
    "a frame as data": (play(data=pd.DataFrame()), "play: data: must be the answer of `dpregret.records`"),
    "limits as number": (play(limits=3), "play: limits: must be text"),
    "nobody": (swept_with([]), "sweep: learners: must be"),
    "none": (swept_with(None), "sweep: learner: None is no name"),
    "a group with a typo": (swept_with("privat"), "did you mean 'private'"),
    "twice": (swept_with(["ftal", "ftal.plain"]), "sweep: learners: 'ftal.plain' is given twice"),
    "two kinds of problems": (swept_with(["ftal", "hedge"]), "sweep: hedge: stream: unknown stream"),
    "a window for nobody": (swept_with(["ftal"], window=16), "sweep: window: none of these learners has one"),
    "no value": (swept_with("ftal", epsilon=[]), "sweep: epsilon: .*not an empty list"),
    "a value twice": (swept_with("ftal", rounds=[64, 64.0]), "sweep: rounds: 64.0 is given twice"),
    "no truth value": (swept_with("ftal", keep=np.zeros(2)), "sweep: keep: must be True or False"),
    "no cores": (swept_with("ftal", cores=0), "sweep: cores: must be a whole number"),
    "a group without a stream": (swept_with("private", stream=None), "sweep: stream: a group of learners needs"),
    "a path as data": (swept_with("private", data="my.csv"), "sweep: data: must be the answer"),
    "a table of rounds": (swept_with("ftal", rounds=np.full((2, 2), 64)), "sweep: rounds: .*a flat list"),
    "a word for whether to show": (swept_with("ftal", progress="yes"), "sweep: progress: must be True or False"),
    "years of rounds": (swept_with(ONE["learner"], rounds=[2**29, 2**30], runs=10**4), "sweep: .*limit"),
    "a trillion rounds": (swept_with("ftal", rounds=range(1, 10**12)), "sweep: rounds: .*limit cells, 10,000"),
    "a range beyond numbers": (swept_with("ftal", dimension=range(1, 10**30)), "sweep: dimension: inf cells"),
    "budgets of a grid": (swept_with("ftal", epsilon=np.linspace(1, 2, 10**5)), "sweep: epsilon: 100,000 cells"),
    "a picture of nothing": (lambda: dp.sweep(Still, **SMALL, cores=1).plot("T"), "plot: x: unknown parameter 'T'"),
    "axes as number": (lambda: dp.play(Still, **SMALL).plot(ax=3), "plot: ax: must be axes of matplotlib"),
    "a number as paper": (lambda: dp.claims(3), "unknown paper 3"),
    "a card of one's own": (play(learner=type("Odd", (Still,), {"card": {"name": "odd"}})), "play: learner: Odd needs"),
    "bytes as group": (swept_with(b"private"), "sweep: learner: b'private' is no name"),
    "learners without order": (swept_with({"ftal", "private"}), "sweep: learners: must be a name, a class, a list"),
    "a list in itself": (swept_with("ftal", epsilon=ENDLESS), "sweep: epsilon: contains itself"),
    "a list in itself as option": (play(weight={"a": ENDLESS}), "play: weight: contains itself"),
    "a mute object": (play(strong_convexity=Mute()), "play: strong_convexity: is a Mute that cannot be shown"),
    "a mute object in a list": (play(weight=[Mute()]), "play: weight: is a list that cannot be shown"),
    "a mute budget of an audit": (lambda: dp.audit(lambda g: None, 8, None, Mute()), "audit: epsilon: is a Mute"),  # type: ignore[arg-type]
    "a mute paper": (lambda: dp.claim(Mute(), "x"), "claim: paper: is a Mute"),  # type: ignore[arg-type]
    "a mute class of records": (lambda: dp.records("x.csv", label="y", norm=1, positive=Mute()), "records: positive"),
    "a label as bytes": (lambda: dp.records("x.csv", label=b"y", norm=1), "records: label: must be text"),  # type: ignore[arg-type]
    "no place": (lambda: dp.load(""), "load: place: must be"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_in_one_line_that_names_the_argument(name: str) -> None:
    call, said = MISTAKES[name]
    with pytest.raises(ConfigError, match=f"(?i){said}") as refused:
        call()
    assert "\n" not in str(refused.value)
    assert "--config" not in str(refused.value)


def test_learners_that_are_one_say_so() -> None:
    """Equal regrets in every run where all rounds are protected; of what a learner is not the same as, others."""
    said = {name: text.partition(",")[0] for name, text in dp.learners().set_index("name")["same_as"].items() if text}
    assert said == {
        "pftal": "wdp-cocop-gamma", "restarted-ftal": "wdp-cocop-gaussian", "wdp-cocop-solver": "wdp-cocop-gaussian",
    }  # fmt: skip
    found = dp.sweep([*said, *sorted(set(said.values()))], **SMALL, epsilon=4.0, cores=1)
    last = {play.learner.partition(".")[0]: play.last["regret"].to_numpy() for play in found}
    for name, regrets in last.items():
        alike = {other for other, theirs in last.items() if np.allclose(regrets, theirs, rtol=1e-6, atol=0)}
        assert alike == {other for other in last if said.get(other, other) == said.get(name, name)}


def test_kept_plays_are_not_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the store, under the key that a run would give them; own classes are played anew, a damaged file too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpregret.workflows.run.single.STARTED", math.inf)  # whoever works on this file has edited it
    played: list[str] = []
    family, right = FAMILIES["online"], FAMILIES["online"].play

    def play(learner: Any, *rest: Any) -> Any:
        played.append(learner.card.name)
        return right(learner, *rest)

    monkeypatch.setattr(family, "play", play)

    def swept(keep: bool) -> Any:
        played.clear()
        names = ["ftal", "wdp-cocop-gaussian", Still]
        return dp.sweep(names, **SMALL, window=16, epsilon=[1.0, 4.0], cores=1, keep=keep)

    first = swept(keep=False)
    assert not (tmp_path / "results").exists()
    assert played == ["ftal", "wdp-cocop-gaussian", "still-here"]
    swept(keep=True)
    again = swept(keep=False)
    assert played == ["still-here"]
    pd.testing.assert_frame_equal(again.frame, first.frame)
    assert [play.guarantee for play in again] == [play.guarantee for play in first]
    timed = [name for name in first[1].rows if name.startswith("seconds")]
    pd.testing.assert_frame_equal(*(swept[1].rows.drop(columns=timed) for swept in (again, first)))
    for file in (tmp_path / "results" / "store").rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-9])
    pd.testing.assert_frame_equal(swept(keep=True).frame, first.frame)
    assert played == ["ftal", "wdp-cocop-gaussian", "still-here"]


def test_nothing_is_kept_of_code_that_was_edited_after_its_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpregret.workflows.run.single.STARTED", 0.0)
    dp.sweep("ftal", **SMALL, cores=1, keep=True)
    assert not (tmp_path / "results").exists()
