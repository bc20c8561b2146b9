"""Who wins: only the same guarantee is compared, on the same losses, and predicted regret holds what was left out."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from figure_faults import faults
from scipy import stats

from dpregret.paper_figs.figures.grammar import Theme
from dpregret.paper_figs.figures.style import style_context
from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.judge.result_tables import ExactLoss
from dpregret.paper_figs.winners import table as measuring
from dpregret.paper_figs.winners.laws import Law, coverage, setting
from dpregret.paper_figs.winners.table import ExperimentFacts, Facts, Refutation, StreamFacts, winners
from dpregret.paper_figs.winners.write_winners import profile_figure

ABOUT = ExperimentFacts({"kink": "full", "other": "full"}, {})
FACTS = Facts(
    {("paper", "one"): ABOUT},
    {("full", name): StreamFacts("kinked", "oblivious") for name in ("kink", "other")},
    {"liar.printed": Refutation("exact privacy loss eps = 2, claimed 1", 0.5)},
    frozenset({"optimist"}),
)
RUNS = 8


def played(learner: str, regret: Any, **changes: Any) -> pd.DataFrame:
    """Rows of a learner in one setting, a regret a run."""
    name, variant = learner.split(".")
    row = {
        "learner": name, "variant": variant, "stream": "kink", "set": "ball", "horizon": 1024, "anytime": False,
        "dimension": 4, "window": 0, "checkpoint": 1024, "epsilon": 1.0, "delta": 1e-6, "trivial_regret": 500.0,
        "bound": 1000.0, "delivered_epsilon": changes.get("epsilon", 1.0), "status": "ok", "seconds": 1e-6,
    }  # fmt: skip
    values = np.atleast_1d(np.asarray(regret, dtype=float))
    return pd.DataFrame([row | changes] * len(values)).assign(regret=values, run=np.arange(len(values)))


def measured(*frames: pd.DataFrame, facts: Facts = FACTS) -> pd.DataFrame:
    rows = [measuring.comparable(frame, ABOUT) for frame in frames]
    return measuring.measure(pd.concat(rows, ignore_index=True), facts)


def duel(one: Any, other: Any) -> pd.Series:
    """The row of two learners on the same losses."""
    return winners(measured(played("a.plain", one), played("b.plain", other))).iloc[0]


def noisy(mean: float, spread: float = 0.1, seed: int = 0, runs: int = RUNS) -> np.ndarray:
    return mean * (1 + spread * np.random.default_rng(seed).standard_normal(runs))


def test_only_learners_of_the_same_guarantee_on_the_same_problem_compete() -> None:
    others = [{"epsilon": 2.0}, {"delta": 0.0}, {"window": 16}, {"dimension": 8}, {"set": "box"}, {"stream": "other"}]
    table = winners(
        measured(
            played("good.plain", noisy(10.0)),
            played("bad.plain", noisy(20.0, seed=1)),
            *(played("cheap.plain", [1.0] * RUNS, **change) for change in others),
            played("free.plain", noisy(2.0), epsilon=np.inf),
            played("fits.plain", [1.0] * RUNS, status="failed: no"),
        )
    )
    assert len(table) == 1 + len(others)
    row = table.loc[table["learners"] == 2].iloc[0]
    named = row["winner"], row["second"], row["verdict"], row["reference"]
    assert named == ("good.plain", "bad.plain", "wins", "free.plain")
    assert set(table.loc[table["learners"] == 1, "verdict"]) == {"alone"}
    assert row["price"] == pytest.approx(noisy(10.0).mean() / noisy(2.0).mean())


def test_the_constant_point_is_no_reference_and_nobody_wins_whom_it_beats() -> None:
    frames = [played("good.plain", noisy(600.0)), played("stay.plain", [500.0] * RUNS, epsilon=np.inf)]
    row = winners(measured(*frames)).iloc[0]
    assert (row["reference"], np.isnan(row["price"])) == ("", True)
    row = duel(noisy(900.0), noisy(9000.0))
    assert (row["p_holm"] < 0.05, row["of_constant"] > 1, row["verdict"]) == (True, True, "useless")


def test_what_does_not_keep_its_eps_is_barred_and_named() -> None:
    frames = [
        played("good.plain", noisy(10.0)),
        played("liar.printed", noisy(1.0)),
        played("leaky.plain", noisy(2.0), delivered_epsilon=1.5),
        played("liar.corrected", noisy(30.0)),
        played("lavish.plain", noisy(50.0), delivered_epsilon=0.1),
    ]
    row = winners(measured(*frames)).iloc[0]
    assert (row["winner"], row["learners"]) == ("good.plain", 3)
    assert row["barred"] == "liar.printed: exact privacy loss eps = 2, claimed 1"
    frames[1]["delivered_epsilon"] = np.inf  # a private learner without a ledger
    assert "accounted eps = inf" in winners(measured(*frames)).iloc[0]["barred"]


def test_refutations_come_from_the_audit_and_from_exact_losses() -> None:
    said = ["violates its claim: 1.2 times, exact", "keeps its claim", "not proved: accounted eps is 2 times"]
    audit = pd.DataFrame({"learner": ["a", "b", "c"], "variant": "v", "finding": said})
    inside = ExactLoss(1.0, 7.5, "noisy sums", fails_from=0.0, released=False)
    exact = {"a.v": inside, "d.v": ExactLoss(1.0, 1.5, "a pair", 0.7), "e.v": ExactLoss(1.0, 1.0, "a pair")}
    found = measuring.refutations(audit, exact | {"f.v": inside})
    assert set(found) == {"a.v", "d.v"}
    assert found["a.v"].reason == "violates its claim"  # a loss inside of the algorithm refutes nothing
    assert [measuring.refuted_at(found, "d.v", epsilon) for epsilon in (0.5, 1.0)] == ["", found["d.v"].reason]


def test_a_loss_bars_from_the_epsilon_on_at_which_it_fails() -> None:
    changes = [{"epsilon": epsilon, "delivered_epsilon": epsilon} for epsilon in (0.25, 1.0)]
    cells = measured(*(played("liar.printed", noisy(1.0), **change) for change in changes))
    assert dict(zip(cells["epsilon"], cells["barred"] != "", strict=True)) == {0.25: False, 1.0: True}


def test_windows_and_horizons_are_those_that_a_mechanism_was_made_for() -> None:
    way = [
        played("any.plain", noisy(1.0), anytime=True, horizon=4096, window=window, checkpoint=checkpoint)
        for window, checkpoint in itertools.product((16, 4096), (32, 256, 512, 1024, 4096))
    ]
    told = [played("told.plain", noisy(1.0), horizon=4096, checkpoint=1024)]
    free = [played("any.plain", noisy(1.0), anytime=True, horizon=4096, window=4096, epsilon=np.inf, checkpoint=256)]
    cells = measured(*way, *told, *free)
    assert {(row.rounds, row.window) for row in cells.loc[cells["private"]].itertuples()} == {
        (256, 16),
        (1024, 16),
        (4096, 16),
        (4096, 0),
    }
    assert cells.loc[~cells["private"], ["rounds", "window"]].to_numpy().tolist() == [[256, 0]]
    assert not (cells["learner"] == "told.plain").any()


def test_a_cell_of_two_experiments_counts_once_and_options_tell_problems_apart() -> None:
    twice = [
        played("a.plain", noisy(3.0, runs=4)),
        played("a.plain", noisy(3.0, runs=4)),
        played("a.plain", noisy(9.0), strong_convexity=0.5),
    ]
    cells = measured(*twice)
    assert sorted(zip(cells["options"], cells["runs"], strict=True)) == [("", 4), ("strong_convexity=0.5", 8)]
    rows = measuring.comparable(played("a.plain", [1.0]), ExperimentFacts({"kink": "full"}, {"period": 64}))
    assert rows["options"].tolist() == ["period=64"]


def test_ties_lone_runs_negative_regret_and_other_losses() -> None:
    tied = duel(noisy(3.0), noisy(3.0))
    assert (tied["verdict"], tied["winner"], tied["ratio"], tied["p"]) == ("tied", "a.plain", 1.0, 1.0)
    assert duel([3.0], [4.0])["verdict"] == "leads"
    below = duel(noisy(-3.0), noisy(4.0))
    assert (below["verdict"], np.isnan(below["ratio"])) == ("wins", True)
    # the same runs on other losses are not paired: noise that both share no longer cancels
    shared = noisy(10.0, 0.5)
    one, other = played("a.plain", shared), played("b.plain", shared + 0.5 + noisy(0.01))
    for trivial, said in ((500.0, "wins"), (400.0, "leads")):
        assert winners(measured(one, other.assign(trivial_regret=trivial))).iloc[0]["verdict"] == said
    assert measuring.ratio(sample(np.full(3, 2.0)), sample(np.full(3, 1.0))) == Estimate(2, 2, 2)


def test_bounds_of_learners_for_stochastic_losses_do_not_count_elsewhere() -> None:
    frames = played("optimist.plain", noisy(1.0), bound=5.0), played("safe.plain", noisy(2.0), bound=50.0)
    row = winners(measured(*frames)).iloc[0]
    assert (row["winner"], row["bound_of"], row["least_bound"]) == ("optimist.plain", "safe.plain", 50.0)
    np.testing.assert_allclose(row["bound_gap"], 2.0)
    calm = Facts(FACTS.experiments, {("full", "kink"): StreamFacts("kinked", "stochastic")}, {}, FACTS.stochastic_only)
    assert winners(measured(*frames, facts=calm)).iloc[0]["bound_of"] == "optimist.plain"


def sample(regrets: np.ndarray, trivial: float = 1.0) -> measuring.Sample:
    return measuring.Sample(np.arange(len(regrets)), regrets, np.full(len(regrets), trivial))


def test_tests_are_those_of_scipy_and_holm_is_his() -> None:
    own, rival = noisy(10.0, seed=3), noisy(10.5, seed=4)
    paired = stats.ttest_rel(rival, own, alternative="greater").pvalue
    welch = stats.ttest_ind(rival, own, equal_var=False, alternative="greater").pvalue
    found = [measuring.beaten(sample(rival, trivial), sample(own)) for trivial in (1.0, 0.0)]
    np.testing.assert_allclose(found, [paired, welch])
    values = np.array([0.01, np.nan, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(measuring.holm(values), [0.03, np.nan, 0.06, 0.06, 0.02])


def test_one_wrong_word_in_a_table_is_rare_where_all_are_equal() -> None:
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(60):
        p = []
        for table in rng.standard_normal((12, 4, RUNS)):  # learners, runs
            samples = list(map(sample, table))
            least = samples.pop(int(table.mean(axis=1).argmin()))
            p.append(min(1.0, 4 * max(measuring.beaten(rival, least) for rival in samples)))
        wrong += (measuring.holm(np.array(p)) < 0.05).any()
    assert wrong <= 5


def law_cells(noise: float = 0.0, seed: int = 0, runs: int = 16) -> pd.DataFrame:
    """C T^0.5 d^0.25 / eps in sweeps of each parameter, with relative errors of means."""
    rng = np.random.default_rng(seed)
    points = [(4.0**k, 4.0, 1.0) for k in range(4, 9)] + [(4.0**6, 2.0**k, 1.0) for k in range(1, 7)]
    points += [(4.0**6, 4.0, 2.0**k) for k in range(-2, 4)]
    frame = pd.DataFrame(dict.fromkeys(points), index=["x"]).T.reset_index()
    frame.columns = ["rounds", "dimension", "epsilon", "x"]
    true = 3 * frame["rounds"] ** 0.5 * frame["dimension"] ** 0.25 / frame["epsilon"]
    where = {"feedback": "full", "stream": "kink", "set": "ball", "options": "", "window": 0}
    cells = frame.assign(learner="a.plain", delta=0.0, private=True, runs=runs, **where)
    return cells.assign(regret=true * np.exp(noise * rng.standard_normal(len(frame))), error=noise * true)


def test_a_planted_law_is_found_where_nothing_was_measured() -> None:
    law = Law(law_cells())
    found, true = law.predict(setting(4.0**6 * 2, 32, 0.5)), 3 * (4.0**6 * 2) ** 0.5 * 32**0.25 / 0.5
    assert found.regret == pytest.approx(true, rel=0.02)
    assert found.low < true < found.high < 1.3 * true
    assert found.beyond == {}
    far = law.predict(setting(1e6, 4, 16))
    assert far.beyond == {"rounds": "256 to 65536", "epsilon": "0.25 to 8"}
    assert far.high / far.low > found.high / found.low
    only = law_cells().loc[lambda rows: rows["dimension"] == 4]
    guess = Law(only).predict(setting(4.0**6, 64, 1))
    assert guess.beyond == {"dimension": "only 4"}
    assert guess.high / guess.low > 10  # a power that nobody measured
    with pytest.raises(ValueError, match="fewer than 3"):
        Law(only.head(2))
    windowed = only.assign(window=[16, *[32] * (len(only) - 1)])
    assert Law(windowed).predict(setting(4.0**6, 4, 1, 64)).beyond == {"window": "16 to 32"}


def test_leaving_out_in_closed_form_is_leaving_out() -> None:
    cells = law_cells(0.05)
    law = Law(cells)
    residuals, deviations = law.left_out
    covariance = law._trend(law.points, law.points) + law._smooth(
        law.points, law.points, law.fit.length, law.fit.spread
    )
    covariance += np.diag(law.noise + law.fit.nugget**2)
    apart = law.response - law._expected(law.points)
    for place in (0, 7):
        rest = np.arange(len(cells)) != place
        weights = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, place])
        np.testing.assert_allclose(residuals[place], apart[place] - weights @ apart[rest], rtol=1e-6)
        left = covariance[place, place] - weights @ covariance[rest, place]
        np.testing.assert_allclose(deviations[place], np.sqrt(left), rtol=1e-6)


def test_intervals_hold_what_was_left_out_of_planted_laws() -> None:
    many = [law_cells(0.05, seed).assign(learner=f"l{seed}.plain") for seed in range(12)]
    found = coverage(pd.concat(many, ignore_index=True)).set_index("left_out")
    assert found.loc["each cell", "cells"] == 12 * len(law_cells())
    assert 0.92 <= found.loc["each cell", "held"] <= 1.0
    assert found.loc["largest T", "held"] >= 0.92
    assert found.loc["each cell", "error"] < 0.06


def test_a_win_counts_the_settings_that_were_looked_at_and_the_rivals() -> None:
    """The same runs in m settings: m times the p of one, and with three learners three times that of two."""

    def table(settings: int, rivals: int) -> pd.DataFrame:
        learners = {"good.plain": noisy(10.0)} | {f"bad{each}.plain": noisy(11.5, seed=1) for each in range(rivals)}
        budgets = [float(2**place) for place in range(settings)]
        return winners(measured(*(played(*each, epsilon=budget) for budget in budgets for each in learners.items())))

    alone, many = table(1, 1), table(20, 1)
    p = float(alone["p"].iloc[0])
    assert alone["p_holm"].iloc[0] == p < 0.05 < 20 * p
    assert alone["verdict"].tolist() == ["wins"]
    assert many["p"].tolist() == [p] * 20
    np.testing.assert_allclose(many["p_holm"], min(1.0, 20 * p))
    assert set(many["verdict"]) == {"leads"}
    assert table(1, 2)["p"].iloc[0] == pytest.approx(1.5 * p)


@pytest.mark.parametrize("best", [1.0, 1.1])
def test_the_profiles_name_the_classes_in_words_and_the_best_stands_above(best: float) -> None:
    """All curves end at one: the texts at their ends stand in the order of the medians."""
    rows = [("full", turn, f"learner-{n}.plain", best + n + turn / 9) for n in range(9) for turn in range(6)]
    rows[:6] = [("full", turn, "learner-0.plain", best) for turn in range(6)]
    with style_context():
        figure = profile_figure(pd.DataFrame(rows, columns=["feedback", "problem", "learner", "ratio"]), Theme())
        assert list(faults(figure)) == []
    assert ("all its problems in" in figure.title) == (best == 1.0)
    heights = {label.get_text(): label.xyann[1] for label in figure.panels[0].axis.texts}
    assert sorted(heights, key=heights.__getitem__) == [f"learner {n}, plain" for n in reversed(range(9))]
