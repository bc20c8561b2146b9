"""Gains, Landau's constant as a swept variable, and explicit lower bounds on noise."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpregret.algorithms.privacy.series import landau as landau_of
from dpregret.paper_figs.figures.compare import crossover
from dpregret.paper_figs.figures.style import Page
from dpregret.paper_figs.judge.cells import NotRun, best_regularisation, collect_cells, coordinate, landau
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile, Gain, Measure
from dpregret.paper_figs.judge.result_tables import gains, ratio, write_gains
from dpregret.paper_figs.judge.verdicts import judge, rate_text
from dpregret.paper_figs.tables.write import measure
from dpregret.paper_figs.validation.simulate import Sweep, make_claim

WINDOWS = (1.0, 4.0, 16.0, 64.0, 256.0)
CONSTANTS = np.array([landau_of(int(window)) for window in WINDOWS])


def sweep(factor: float, variant: str = "root", noise: float = 1.0, **settings: object) -> pd.DataFrame:
    """Regret factor * G_W sqrt(T), noise `noise` * G_W."""
    constant = dict(zip(WINDOWS, CONSTANTS, strict=True))
    frame = Sweep(
        lambda checkpoints, value: factor * constant[value] * np.sqrt(checkpoints), variant=variant, parameter="window",
        values=WINDOWS, experiment="window", **settings,
    ).frame()  # fmt: skip
    law = frame["window"].map(lambda window: constant[float(window)])
    spread = 1 + 0.01 * np.sin(frame["run"] + 1.0)
    return frame.assign(noise_norm=noise * law * spread, noise_floor=law)


def claim(**changes: object) -> Claim:
    return make_claim(**{"variant": "root", "experiment": "window", "parameter": "landau", "rate": "G_W", **changes})


def test_landaus_constant_is_that_of_the_mechanisms() -> None:
    assert landau(np.array([1.0, 2.0, 7.0, 4096.0])) == pytest.approx([landau_of(each) for each in (1, 2, 7, 4096)])
    assert np.exp(coordinate(claim(), np.array(WINDOWS))) == pytest.approx(CONSTANTS)


def test_a_response_like_landaus_constant_is_told_from_one_like_a_tree() -> None:
    runs = sweep(1.0)
    found = judge(runs, claim(scope="instance"))
    assert (found.verdict, found.fitted.value) == ("reproduced", pytest.approx(1.0, abs=1e-9))
    noise = claim(response="noise", tol=0.02, tol_reason="exact", scope="instance")
    assert judge(runs, noise).verdict == "reproduced"
    tree = judge(runs, noise.model_copy(update={"parameter": "window"}))
    assert tree.fitted.value < 0.75  # against log2 W + 1 the same noise has another power


@pytest.mark.parametrize(("noise", "verdict"), [(1.1, "holds"), (0.9, "fails"), (1.0, "inconclusive")])
def test_noise_is_held_against_an_explicit_lower_bound(noise: float, verdict: str) -> None:
    bounded: dict[str, object] = {"rate": None, "type": "below", "side": "lower", "bound": "explicit"}
    lower = claim(parameter="window", response="noise", **bounded)
    assert (judge(sweep(1.0, noise=noise), lower).verdict, rate_text(lower)) == (verdict, ">= explicit bound")
    assert judge(sweep(1.0).drop(columns="noise_floor"), lower).verdict == "inconclusive"


def test_ratio_of_means_and_its_interval() -> None:
    generator = np.random.default_rng(5)
    first = generator.normal(10, 1, 16)
    exact = ratio(first, first / 4)
    assert (exact.value, exact.low, exact.high) == pytest.approx((4, 4, 4))
    held = 0
    for _ in range(400):
        common = generator.normal(0, 1, 16)
        above, below = (mean + common + generator.normal(0, 0.5, 16) for mean in (12.0, 6.0))
        estimate = ratio(above, below)
        held += estimate.low <= 2 <= estimate.high
    assert 0.91 < held / 400 < 0.98


def test_gains_of_a_chapter(tmp_path: Path) -> None:
    """`variants` may name learner.variant; those that were not played have no row."""
    corrected, other = sweep(3.0, "corrected", noise=5.0), sweep(2.0, "plain", learner="ftal")
    runs = pd.concat([corrected, sweep(1.0), other], ignore_index=True)
    write_gains(runs, chapter("root", "absent", "ftal.plain", "ftal.absent"), tmp_path)
    found = pd.read_csv(tmp_path / "gains.csv").pivot(index="value", columns="with", values=["ratio", "noise"])
    assert found.index.tolist() == list(WINDOWS)
    assert found["ratio"].columns.tolist() == ["ftal.plain", "root"]
    assert found["ratio"].to_numpy() == pytest.approx(np.array([[1.5, 3.0]] * len(WINDOWS)))
    assert found["noise"]["root"].to_numpy() == pytest.approx(5.0)
    assert "| 3.00 [3.00, 3.00] |" in (tmp_path / "gains.md").read_text()


def chapter(*variants: str) -> ClaimsFile:
    """Texts that compare the corrected learner with some others."""
    compared = {"learner": "wdp-cocop-gamma.corrected", "variants": variants, "experiment": "window"}
    return ClaimsFile.model_construct(gains=(Gain.model_validate({**compared, "parameter": "window"}),))


def test_saturated_cells_of_a_gain_are_marked() -> None:
    runs = pd.concat([sweep(3.0, "corrected", stay=1e-3), sweep(1.0, stay=1e-3)], ignore_index=True)
    assert set(gains(runs, chapter("root"))["cell"]) == {"saturated"}
    assert collect_cells(runs, claim()).status == ("saturated",) * len(WINDOWS)


def test_a_crossover_is_drawn_where_it_was_computed_and_measured() -> None:
    """A line a dimension, a panel a tree, horizons in rounds; cells in dimension four with who was ahead."""
    table = pd.DataFrame({"n": [2, 2, 8, 8], "eps": [1.0, 2.0] * 2, "log2 T*, Laplace tree": [30.0, 36.0, 34.0, 38.0],
                          "log2 T*, Gaussian tree": [24.0, 30.0, 22.0, 28.0], "limit": 1.1})  # fmt: skip
    means = {"noisy-value-bandit": (5.0, 5.0, 5.0), "private-bandit-laplace": (6.0, 4.0, 5.0)}
    runs = pd.DataFrame(
        [(*cell, run, mean + 0.1 * (run % 2)) for learner, each in means.items()
         for horizon, mean in zip((16, 64, 256), each, strict=True)
         for cell in product([learner], [horizon], (1.0, np.inf), (2, 4)) for run in range(8)],
        columns=["learner", "horizon", "epsilon", "dimension", "run", "regret"],
    ).assign(experiment="a", variant="corrected", status="ok", set="ball", stream="cone")  # fmt: skip
    plate = crossover(Page(), table, runs)
    assert [panel.title for panel in plate.panels] == ["Laplace tree", "Gaussian tree"]
    data = plate.data()
    assert list(data.loc[data["panel"] == "2 Gaussian tree", "y"]) == [2**24, 2**30, 2**22, 2**28]
    measured = data.loc[data["what"] == "who had the smaller regret"].set_index("series")["y"]
    found = [measured[f"measured, {word}"] for word in ("tree ahead", "every value ahead", "undecided")]
    assert found == [64, 16, 256]
    assert crossover(Page(), table, pd.DataFrame()).panels


def private(runs: int, **settings: object) -> pd.DataFrame:
    return Sweep(lambda checkpoints, value: 10 * checkpoints**0.5, runs=runs, scatter=0.1, seed=5, **settings).frame()


def free(runs: int, scatter: float) -> pd.DataFrame:
    settings = {"window": 32768, "epsilon": np.inf}
    return Sweep(
        lambda checkpoints, value: 2 * checkpoints**0.5, learner="ftal", variant="plain", runs=runs, scatter=scatter,
        spread=scatter, seed=6, settings=settings,
    ).frame()  # fmt: skip


def responses(*frames: pd.DataFrame) -> np.ndarray:
    overhead = make_claim(response="overhead", counterpart="ftal")
    return collect_cells(pd.concat(frames, ignore_index=True), overhead).responses


def test_a_counterpart_may_have_more_runs_and_no_fewer() -> None:
    mine, others = private(9), free(24, 0.3)
    assert responses(mine, others).shape == (9, 12)
    assert (responses(mine, others) == responses(mine, others.query("run < 9"))).all()
    for fewer in (free(6, 0.3), free(9, 0.1).query("checkpoint < 1024")):
        with pytest.raises(NotRun, match=r"counterpart ftal\.plain lacks rows"):
            responses(mine, fewer)


def test_ratios_errata_and_best_regularisations_use_the_runs_that_both_have() -> None:
    first, second = np.arange(2.0, 14.0), np.arange(1.0, 9.0)
    assert ratio(first, second) == ratio(first[:8], second)
    runs = pd.concat([private(12), private(5, variant="printed")], ignore_index=True)
    what = Measure.model_validate(
        {"quantity": "regret_ratio", "learner": "wdp-cocop-gamma", "variant": "printed", "against": "corrected",
         "stream": "norm-kink"}
    )  # fmt: skip
    same = runs.loc[runs["run"] < 5]
    assert measure(runs, what, "horizon") == measure(same, what, "horizon")
    tried = [
        pd.DataFrame({"run": np.arange(many), "regularisation": tuned, "regret": (np.log(tuned) - 0.2) ** 2 + 3})
        for tuned, many in ((0.5, 4), (1.0, 9), (2.0, 6), (4.0, 4))
    ]
    samples, inside = best_regularisation(pd.concat(tried))
    assert inside
    assert len(samples) == 4
