"""The audit: it covers every private learner, says the right words, and sees what it should."""

import gc
import math
import re
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plays import NO_CODE, given, plan_of, run_script

from dpregret.algorithms.bandits.bandit_learner import Given
from dpregret.algorithms.bandits.noisy_leader import NoisyLeader
from dpregret.algorithms.experts.private_leader import PrivateFtrl
from dpregret.algorithms.online.ftal import gradient_sums
from dpregret.algorithms.online.projected_descent import PrivateProjectedDescent as ProjectedNoise
from dpregret.algorithms.privacy import Budget, NoisePerItem, NoisePlan
from dpregret.algorithms.privacy.audit import told_for_certain
from dpregret.core import parquet
from dpregret.workflows.audit.bandits import AuditedBandit, Numbers, around, directions_of
from dpregret.workflows.audit.experts import AuditedExperts, chain, chain_epsilon, draw_chain
from dpregret.workflows.audit.neighbours import (
    Special,
    exact_epsilon,
    generators,
    rows,
    table_epsilon,
)
from dpregret.workflows.audit.online import AuditedOnline
from dpregret.workflows.audit.plan import again, audits, load_settings, pair_rows
from dpregret.workflows.audit.planted import CASES, RUNS, planted_rows
from dpregret.workflows.audit.tables import Tables, faults, finding, findings, write_audit
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.config import Config
from dpregret.workflows.run.audit_learners import UNDECIDED, chosen, of_study
from dpregret.workflows.run.audit_learners import main as own_audit

SETTINGS = load_settings()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_private_learner_is_audited_in_every_variant_or_skipped_for_a_reason(family: str) -> None:
    """No ledger is below the exact loss; every tenth audit has whole rows."""
    audited = {}
    for name, kind in FAMILIES[family].learners.items():
        special = SETTINGS.learners.get(name, Special())
        found = dict(audits(family, name, 1, SETTINGS))
        wanted = special.variants or kind.card.variants
        assert set(found) == (set(wanted) if kind.card.private and not special.skip else set())
        audited |= {(name, variant): each for variant, each in found.items()}
    for each in audited.values():
        assert each.accounted > 0
        assert not each.exact > each.accounted * (1 + 1e-9)
    for each in list(audited.values())[::10]:
        table = rows(each, 100)
        assert len(table) >= 3
        assert table["pair"].is_unique
        assert (table["audited"] <= each.accounted).all()
        assert table.drop(columns=["exact", "reached"]).notna().all(axis=None)


class Half(ProjectedNoise):
    """Half of the noise is added, and the ledger says all."""

    def observe(self, loss: Any, gradient: Any, noise: Any) -> None:
        super().observe(loss, gradient, noise / 2)

    @classmethod
    def is_compiled(cls) -> bool:
        return False


def test_half_of_the_noise_is_seen_in_what_is_played() -> None:
    for kind, share in ((ProjectedNoise, 1.0), (Half, 0.5)):
        audited = AuditedOnline(kind, "corrected", Budget(4.0, 1e-6), Special(), (5,))
        assert audited.reached() == pytest.approx(share, rel=0.05 if kind is Half else 1e-9)


class OneDraw(Half):
    """One coordinate of the noise is added to all coordinates."""

    def observe(self, loss: Any, gradient: Any, noise: Any) -> None:
        ProjectedNoise.observe(self, loss, gradient, np.broadcast_to(noise[..., -1:], noise.shape))


class FewDraws(Half):
    """Its plan draws one coordinate, in any dimension."""

    def prepare(self) -> None:
        super().prepare()
        self.noise_plan = replace(self.noise_plan, dimension=1)

    observe = ProjectedNoise.observe


class AlongGradient(Half):
    """Of the noise of a gradient the part along it is added."""

    def receive(self, gradient: Any, fresh: Any) -> None:
        length = np.linalg.norm(gradient, axis=-1, keepdims=True)
        unit = gradient / np.maximum(length, 1e-9)
        along = (fresh * unit).sum(axis=-1, keepdims=True) * unit
        ProjectedNoise.receive(self, gradient, np.where(length > 0, along, fresh))

    observe = ProjectedNoise.observe


class Stretched(Half):
    """Small gradients are stretched to length 1, large ones are left."""

    def observe(self, loss: Any, gradient: Any, noise: Any) -> None:
        length = np.linalg.norm(gradient, axis=-1, keepdims=True)
        ProjectedNoise.observe(self, loss, gradient / np.clip(length, 1e-9, 1.0), noise)


class LaplaceNoise(Half):
    """Laplace noise by `gradient_sums`."""

    def prepare(self) -> None:
        super().prepare()
        sums = [NoisePerItem()] * len(self.settings)
        self.noise_plan = gradient_sums("laplace", sums, self.problem, self.settings)

    observe = ProjectedNoise.observe


class SmallLaplace(LaplaceNoise):
    """Its scale is that of the l2 norm of a change."""

    def prepare(self) -> None:
        super().prepare()
        plan, norms = self.noise_plan, math.sqrt(self.domain.dimension)
        scales = [scale / norms for scale in plan.scales]
        self.noise_plan = replace(plan, scales=scales, sensitivity=plan.sensitivity / norms)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ProjectedNoise, ""),
        (LaplaceNoise, ""),
        (OneDraw, "the noise of its plan reaches"),
        (FewDraws, "0 times the noise of its plan reaches"),
        (AlongGradient, "the noise of its plan reaches"),
        (Stretched, "the noise of its plan reaches"),
        (SmallLaplace, "loses more than the accounted eps"),
    ],
)
def test_a_leak_that_no_interval_shows_is_caught_in_the_plane(kind: type[ProjectedNoise], words: str) -> None:
    budget = Budget(2.0, 1e-6)
    audited = AuditedOnline(kind, "corrected", budget, Special(), (5,))
    assert audited.accounted == pytest.approx(2.0)
    assert audited.exact <= 2.0
    assert audited.reached() == pytest.approx(1.0, rel=1e-9)
    second = again("online", "noise-per-gradient", "corrected", audited, SETTINGS, 400)
    assert second.empty == (not words)
    if words:
        found = [finding(*row) for row in second[["claimed", "accounted", "exact", "audited", "reached"]].to_numpy()]
        assert all(each.startswith("BROKEN") and words in each for each in found)


class DividedLosses(PrivateFtrl):
    """Losses are divided by the largest one, as if its range were not public; the audit's own largest loss is 1."""

    def play(self, blocks: Any, sources: Any) -> Any:
        largest = max(block.losses.max() for block in blocks)
        return super().play([replace(block, losses=block.losses / largest) for block in blocks], sources)


class PricedAsOne(PrivateFtrl):
    """Laplace noise for one expert, while the losses of two move."""

    def prepare(self) -> None:
        super().prepare()
        scales = [scale / self.experts for scale in self.plan.scales]
        self.plan = replace(self.plan, scales=scales, sensitivity=1.0)


def test_small_losses_of_experts_get_the_noise_of_the_plan() -> None:
    budget = Budget(2.0, 1e-6)
    right, divided, cheap = (
        AuditedExperts(kind, "laplace", budget, Special(), (5,)) for kind in (PrivateFtrl, DividedLosses, PricedAsOne)
    )
    assert right.reached() == pytest.approx(1.0, rel=1e-9)
    assert divided.reached() < 0.5
    assert right.exact <= right.accounted * (1 + 1e-9) == pytest.approx(2.0)
    assert cheap.accounted == pytest.approx(2.0)
    assert cheap.exact == pytest.approx(2 * right.exact)


class Early(ProjectedNoise):
    """Noise is added in the first rounds only, as many as a short audit plays."""

    def observe(self, loss: Any, gradient: Any, noise: Any) -> None:
        super().observe(loss, gradient, noise * self.honest())

    def honest(self) -> bool:
        return self.round <= 19

    is_compiled = Half.is_compiled


class Short(Early):
    """Noise is added at a short horizon only."""

    def honest(self) -> bool:
        return self.horizon <= 19


class Crowd(Early):
    """Noise is added beside many runs only."""

    def honest(self) -> bool:
        return self.runs >= 1000


@pytest.mark.parametrize("reached", [True, False])
@pytest.mark.parametrize("kind", [ProjectedNoise, Early, Short, Crowd])
def test_noise_that_is_there_only_when_a_short_audit_looks_is_missed_at_another_horizon(
    kind: type[ProjectedNoise], reached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From outside too, where no plan says what should arrive."""
    if not reached:
        monkeypatch.setattr(AuditedOnline, "reached", lambda self: math.nan)
    monkeypatch.setattr(Special, "runs", lambda self, variant, usual: usual)
    audited = AuditedOnline(kind, "corrected", Budget(4.0, 1e-6), Special(), (5,))
    second = again("online", "noise-per-gradient", "corrected", audited, SETTINGS, 16_000)
    assert second.empty == (kind is ProjectedNoise)
    if not second.empty:
        table = findings(second.assign(family="online", learner="x", variant="y"))
        assert table["finding"].str.startswith("BROKEN").all()
        assert table["pair"].str.endswith(" rounds").all()


@dataclass(frozen=True)
class Silent(NoisePerItem):
    """No noise after some rounds: of the mechanism, which the ledger knows no better."""

    last: int = 19

    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        return [0, super().init(rounds, runs, dimension)]

    def next(self, state: Any, units: Any, fresh: Any) -> Any:
        units[max(0, self.last - state[0]) :] = 0.0
        state[0] += len(units)
        return super().next(state[1], units, fresh)


@dataclass(frozen=True)
class WithoutOne(NoisePerItem):
    """Running sums of draws, but for one draw that is lost."""

    lost: int = 7

    def next(self, state: Any, units: Any, fresh: Any) -> Any:
        units[self.lost - 1] = 0.0
        return super().next(state, units, fresh)


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_an_item_without_noise_of_its_own_is_lost_for_certain_and_the_others_are_not(distribution: Any) -> None:
    """y_7 - y_6 is the seventh item; each other item lies in one draw."""
    assert told_for_certain(WithoutOne(), 11).tolist() == [item == 7 for item in range(1, 12)]
    plan = NoisePlan(distribution, [WithoutOne()], [1.0], 1.0, 1)
    assert exact_epsilon(plan, 11, range(1, 12), Budget(1.0, 1e-6)) == math.inf
    assert math.isnan(exact_epsilon(plan, 11, range(8, 12), Budget(1.0, 1e-6)))
    assert not told_for_certain(NoisePerItem(), 11).any()


class SilentNoise(ProjectedNoise):
    """Its plan has such a mechanism."""

    def prepare(self) -> None:
        super().prepare()
        plan = self.noise_plan
        self.noise_plan = replace(plan, mechanisms=[Silent()] * len(plan.mechanisms))


class Tilted(NoisePlan):
    """A plan that draws less than it says."""

    def correlated(self, sources: Any, rounds: int = 64) -> Any:
        for units in super().correlated(sources, rounds):
            yield [0.8 * each for each in units]


class TiltedNoise(ProjectedNoise):
    """Its plan is of that class."""

    def prepare(self) -> None:
        super().prepare()
        self.noise_plan = Tilted(**vars(self.noise_plan))


def test_noise_that_a_mechanism_stops_to_draw_is_a_loss_without_end() -> None:
    """Beyond the rounds of the first audit, which the second one computes and does not pass over."""
    audited = AuditedOnline(SilentNoise, "corrected", Budget(4.0, 1e-6), Special(), (5,))
    assert audited.exact <= audited.accounted
    second = again("online", "noise-per-gradient", "corrected", audited, SETTINGS, 400)
    assert np.isinf(second["exact"]).all()
    assert len(second) >= 3


def test_noise_of_a_plan_of_ones_own_class_is_not_said_to_arrive() -> None:
    """The wrapped plan would draw that of the class it derives from."""
    assert math.isnan(AuditedOnline(TiltedNoise, "corrected", Budget(4.0, 1e-6), Special(), (5,)).reached())


def test_laws_that_an_event_tells_apart_have_no_epsilon() -> None:
    half, certain = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    assert table_epsilon(half, certain, 1e-6) == table_epsilon(certain, half, 1e-6) == math.inf
    assert table_epsilon(half, certain, 0.5) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_planted_bug_is_caught_and_the_right_code_is_not(name: str) -> None:
    case = CASES[name]
    assert case.flagged(np.random.default_rng(11), RUNS, planted=True)
    assert not case.flagged(np.random.default_rng(12), RUNS, planted=False)


def test_planted_rows_do_not_depend_on_what_ran_before() -> None:
    first, again = (planted_rows(3, 1, 500) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    assert set(first["bug"]) == set(CASES)
    assert first["caught"].isin([0.0, 1.0]).all()


def test_a_ledger_above_its_claim_is_audited_with_all_runs() -> None:
    pairs = pair_rows({"noisy-smd": "erm"}, 3, 400, enough=200)
    within = pairs["accounted"] <= pairs["claimed"]
    assert set(pairs.loc[within, "runs"]) == {100}  # half of them are counted
    assert set(pairs.loc[~within, "runs"]) == {200}


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((2.0, 2.0, 1.5, 1.0), "keeps its claim"),
        ((2.0, 1.0, math.nan, 0.5), "keeps its claim, spends 0.5 of its budget"),
        ((2.0, 2.0, math.nan, 0.99), "ledger within claim, audit uninformative"),
        ((2.0, 0.2, math.nan, 0.0), "ledger within claim, audit uninformative, spends 0.1 of its budget"),
        ((2.0, 4.0, 2.5, 1.0), "violates its claim: exact loss 1.25 times, accounted 2 times"),
        ((2.0, 4.0, math.nan, 3.0), "violates its claim: audited loss 1.5 times, accounted 2 times"),
        ((2.0, 4.0, math.nan, 2.001), "violates its claim: audited loss 1.0005 times, accounted 2 times"),
        (
            (1.9999999999999998, 4.0, math.nan, 2.0),
            "violates its claim: audited loss 1.0000000000000002 times, accounted 2 times",
        ),
        ((2.0, 4.0, 2.5, 3.0), "BROKEN: more is shown to be lost than its exact loss"),
        ((2.0, 2.0, 1.5, 1.0, 0.5), "BROKEN: 0.5 times the noise of its plan reaches what is played"),
        ((2.0, 2.0, 1.5, 1.0, 1 + 1e-12), "keeps its claim"),
        ((2.0, math.nan, 1.5, 1.0), "could not be judged: claimed 2, ledger nan, exact 1.5, audited 1"),
        ((2.0, 4.0, math.nan, 1.0), "not proved: accounted eps is 2 times its claim"),
        ((2.0, 2.0, 2.1, 1.0), "BROKEN: loses more than the accounted eps"),
    ],
)
def test_findings_say_what_the_numbers_say(numbers: tuple[float, ...], words: str) -> None:
    assert finding(*numbers) == words


@pytest.mark.parametrize(("name", "variant"), [("shrinking-dartboard", "zcdp"), ("l2p", "corrected")])
def test_chains_have_the_law_that_they_are_drawn_from(name: str, variant: str) -> None:
    kind = FAMILIES["experts"].learners[name]
    audited = AuditedExperts(kind, variant, Budget(4.0, 1e-6), Special(rounds=4), (1,))
    learner, losses = audited.make(1), next(iter(audited.tables.values())).first
    start, moves, shown = chain(learner, losses)
    assert np.allclose(moves.sum(axis=-1), 1)
    drawn = draw_chain(learner, losses, 100_000, np.random.default_rng(0))[:, :4]
    marginal = start
    for now, move in enumerate(moves):
        marginal = marginal @ move
        assert drawn[:, now + 1].mean() == pytest.approx(marginal @ shown, abs=0.01)
    assert chain_epsilon(learner, losses, losses, 1e-6) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("delta: 2\nlearners: {}", ":1: delta: "),
        ("delta: 1.0e-6\nlearners: {pqftl: {round: 1}}", ":2: learners.pqftl.round: "),
    ],
)
def test_settings_are_checked(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"mine.yaml{place}")):
        load_settings(tmp_path / "mine.yaml")


def test_settings_are_of_private_learners_and_their_variants() -> None:
    cards = {name: each.card for family in FAMILIES.values() for name, each in family.learners.items()}
    for name, special in SETTINGS.learners.items():
        assert cards[name].private, name
        most = special.most_runs if isinstance(special.most_runs, dict) else {}
        assert {*(special.variants or ()), *most} <= {*cards[name].variants}, name


@pytest.fixture
def written(tmp_path: Path) -> Path:
    who = {"pair": ["one", "other"], "family": "online", "learner": "l", "variant": "v", "runs": 50}
    claim = {"claimed": 2.0, "accounted": 2.0, "delta": 0.0, "exact": math.nan, "reached": math.nan, "power": 0.5}
    found = {"audited": [0.5, 0.7], "audited_mu": 0.1, "significance": 1e-6, "false_positive_rate": 0.25}
    frame = pd.DataFrame({**who, **claim, **found})
    parquet.write(frame, tmp_path / "online.parquet", parquet.Stamp("", ""))
    bugs = {"bug": "b", "repeats": 20, "runs": 500, "caught": 1.0, "caught_at_least": 0.86, "false_alarms": 0.0}
    parquet.write(pd.DataFrame([bugs]), tmp_path / "planted.parquet", parquet.Stamp("", ""))
    write_audit([tmp_path / "online.parquet"], tmp_path / "planted.parquet", tmp_path)
    (tmp_path / "exact_losses.csv").write_text("name,claimed,attained,on\nl.w,4,4.5,lines\n")
    return tmp_path


def test_gate_tells_what_is_wrong(written: Path) -> None:
    right = Tables.read(written, written / "exact_losses.csv")

    def said(table: str, **changes: object) -> list[str]:
        return faults(replace(right, **{table: getattr(right, table).assign(**changes)}), right)

    assert faults(right, right) == said("audit", audited=0.1) == []
    for change in (
        {"accounted": 1.99}, {"delta": 1e-3}, {"finding": "BROKEN: x"}, {"caught": 0.9}, {"caught": np.nan},
        {"false_alarms": 0.05}, {"attained": 3.9},
    ):  # fmt: skip
        (table,) = (name for name in ("audit", "planted", "exact") if {*change} <= {*getattr(right, name)})
        assert len(said(table, **change)) == 1
    assert len(faults(replace(right, planted=right.planted.iloc[:0]), right)) == 1
    assert len(said("audit", variant="w")) == 2


def test_gate_of_the_audit_refuses_what_it_cannot_compare(
    written: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its message ends its log; exit code 2, and 1 when something moved."""
    monkeypatch.chdir(written)
    results, reference = Path("results/mine/audit"), Path("results/reference/mine/audit")
    for folder in (results, reference):
        folder.mkdir(parents=True)
        for name in ("audit.csv", "planted.csv", "exact_losses.csv"):
            (folder / name).write_bytes((written / name).read_bytes())
    output = results / "gate.txt"
    items = {"audit/gate": ["0123", NO_CODE, []]}
    plan = plan_of(written, items=items, config=Config.model_validate(settings).to_json())

    def code() -> Any:
        losses = {"losses": [str(results / "exact_losses.csv")]}
        return run_script("audit_gate", given(plan, "audit/gate", [output], losses))[0]

    kept = (reference / "audit.csv").read_bytes()
    (reference / "audit.csv").unlink()
    assert code() == 2
    (reference / "audit.csv").write_bytes(kept)
    assert code() == 0
    output.unlink()
    right = (written / "planted.csv").read_text()
    for share, wanted in (("nan", 2), ("0.5", 1)):
        (results / "planted.csv").write_text(right.replace("500,1,", f"500,{share},"))
        assert code() == wanted
        assert not output.exists()


@pytest.mark.parametrize("name", ["private-bandit-gaussian", "thakurta-smith-laplace"])
def test_the_points_of_bandits_are_told_from_their_directions(name: str) -> None:
    """What is left of a played point without its direction lies in the set, on which the learner decides."""
    kind, runs, rounds = FAMILIES["bandits"].learners[name], 40, 81
    audited = AuditedBandit(kind, "corrected", Budget(4.0, 1e-6), Special(rounds=rounds), (1,))
    learner, source = audited.make(runs), Numbers(np.ones(rounds))
    assert isinstance(learner, NoisyLeader)
    tried = directions_of(learner)
    learner.play(Given(source, generators((1, 2), runs), generators((3,), runs)))
    played = np.concatenate(source.played, axis=1)
    points, sphere = around(learner, played, np.concatenate(tried, axis=1))
    assert points.shape == sphere.shape == (runs, rounds, 2)
    assert np.abs(np.linalg.norm(sphere, axis=-1) - 1).max() < 1e-12
    assert np.linalg.norm(points, axis=-1).max() < learner.shrink + 1e-9
    batches = points.reshape(runs, learner.batches, learner.batch, 2)
    assert np.abs(batches - batches[:, :, :1]).max() < 1e-9
    assert np.linalg.norm(played, axis=-1).max() > learner.shrink + 1e-3
    alive = weakref.ref(learner)
    gc.disable()  # jobs look for cycles seldom: what is watched may not hold itself, and so its arrays
    try:
        del learner
        assert alive() is None
    finally:
        gc.enable()


def test_learners_are_audited_alone_by_their_name_or_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chosen(["wdp_cocop.py"])["wdp-cocop-gaussian"] == "online"
    assert own_audit(["ftal"]) == 0
    assert capsys.readouterr().out == "audit: ftal: not private, there is nothing to audit\n"
    assert own_audit(["noise-per-gradiant"]) == 2
    assert "did you mean 'noise-per-gradient'?" in capsys.readouterr().err
    assert own_audit(["noise-per-gradient"], runs=2000) == 0
    assert "noise-per-gradient.corrected: keeps its claim" in capsys.readouterr().out
    real = NoisePlan.correlated
    monkeypatch.setattr(NoisePlan, "correlated", lambda *given: ([part / 9 for part in each] for each in real(*given)))
    assert own_audit(["noise-per-gradient"], runs=2000) == 1
    assert "BROKEN: loses more than the accounted eps" in capsys.readouterr().out


@pytest.mark.parametrize("finding", ["keeps its claim", "ledger within claim, audit uninformative", "BROKEN: x"])
@pytest.mark.parametrize("reached", [1.0, math.nan])
@pytest.mark.parametrize("own", [True, False])
def test_a_study_s_learner_whose_noise_is_not_followed_is_undecided(finding: str, reached: float, own: bool) -> None:
    """Its ledger is what its own code states; of this project's learners tests compare it with the noise."""
    row = {"family": "erm", "learner": "output-perturbation", "finding": finding, "reached": reached}
    judged = of_study(pd.DataFrame([row]), ["output_perturbation.py", "other.py"] if own else [])
    stated = own and math.isnan(reached) and not finding.startswith("BROKEN")
    assert judged["finding"].to_list() == [UNDECIDED if stated else finding]
