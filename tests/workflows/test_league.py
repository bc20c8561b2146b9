"""The league, curves of expiry and test vectors against brute force; mechanisms of others, read off."""

import copy
import functools
import json
import math
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from scipy.linalg import toeplitz

import dpregret as dp
from dpregret import cli
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.algorithms.privacy.audit import materialise, transcript_losses
from dpregret.algorithms.privacy.participation import Schedules, worst_record
from dpregret.algorithms.privacy.prefix_sums import NoisePerItem, NoisePerPrefix
from dpregret.algorithms.privacy.series import inverse_root_coefficients, landau, root_coefficients
from dpregret.algorithms.privacy.toeplitz import WindowBuffers, WindowRoot, norm_floor
from dpregret.algorithms.privacy.trees import WindowTree
from dpregret.paper_figs.judge.cells import mean_root
from dpregret.workflows.mechanisms import exact, vectors
from dpregret.workflows.mechanisms.own_mechanism import (
    OF_ITEMS,
    OF_SUMS,
    Claim,
    OwnNoiseError,
    audit,
    audited,
    load,
    noise_matrix,
)


def audit_command(words: list[str]) -> Any:
    """The exit code of `dpregret audit`."""
    return cli.parsed(["audit", *words])


@pytest.mark.parametrize("window", [1, 16])
@pytest.mark.parametrize("name", [*exact.MECHANISMS][:-1])
def test_errors_of_windows_are_those_of_dense_matrices(name: str, window: int) -> None:
    mechanism = exact.MECHANISMS[name](window)
    dense = np.square(materialise(mechanism, 6 * window)).sum(axis=1) * mechanism.nodes_per_item
    largest, mean = exact.window_errors(mechanism, window)
    if isinstance(mechanism, WindowBuffers):  # the limit, from below
        assert 0.999 * mean < dense[-1] <= mean * (1 + 1e-12)
    else:
        later = dense[window : 2 * window]
        assert (largest, mean) == pytest.approx((later.max(), later.mean()), rel=1e-12)


@pytest.mark.parametrize("window", [2, 32])
def test_errors_under_pure_noise_are_those_of_the_dense_audit(window: int) -> None:
    """The nodes of an item squared times the variance, once a window has passed."""
    found = exact.pure_windows([window]).set_index("mechanism")
    for name in ("window tree", "items", "blocks"):
        mechanism = exact.PURE_WINDOWS[name](window)
        noise = materialise(mechanism, 7 * window)
        period = getattr(mechanism, "block", window)
        start = -(-window // period) * period
        dense = mechanism.nodes_per_item**2 * np.square(noise).sum(axis=1)
        row = found.loc[name]
        assert row["mean error"] == pytest.approx(dense[start : start + period].mean(), rel=1e-9)
        assert row["largest error"] == pytest.approx(dense[start : start + period].max(), rel=1e-9)
    assert (found["mean / bound"] > 1).all()


def test_nobody_is_below_the_bound() -> None:
    sequences, windows = exact.sequences([8, 64, 1024]), exact.windows([1, 2, 16, 256])
    assert sequences["mean / bound"].min() >= 1
    assert windows["mean / bound"].min() >= 1 - 1e-12
    root = windows.loc[windows["mechanism"] == "window root", "mean / bound"]
    assert list(root) == pytest.approx([1.0] * 4, rel=1e-14)


@pytest.mark.parametrize(
    "mechanism",
    [WindowRoot(5), WindowRoot(16), WindowBuffers(7), WindowBuffers(16, 1), NoisePerPrefix(6), NoisePerItem()],
    ids=repr,
)
def test_losses_by_age_in_closed_form_are_what_the_transcript_tells(mechanism: object) -> None:
    window = getattr(mechanism, "window", 6)
    ages = 6 * window
    dense = transcript_losses(materialise(mechanism, ages)) / mechanism.nodes_per_item  # type: ignore[arg-type,attr-defined]
    worst = np.array([np.diagonal(dense, -age).max() for age in range(ages)])
    assert exact.squared_losses(mechanism, window, ages) == pytest.approx(worst, rel=1e-9)  # type: ignore[arg-type]


def test_the_noise_factor_is_what_a_curve_needs() -> None:
    found = exact.curves(windows=[4, 8])
    assert set(found["curve"]) == set(exact.CURVES)
    for row in found.to_dict("records"):
        ages = np.arange(exact.WINDOWS_SEEN * row["W"])
        losses = exact.squared_losses(exact.MECHANISMS[row["mechanism"]](row["W"]), row["W"], len(ages))
        allowed = exact.CURVES[row["curve"]](ages.astype(float), row["W"])
        scaled = losses / row["noise factor"] ** 2
        assert (scaled <= allowed * (1 + 1e-9)).all()
        assert scaled[row["worst age"]] == pytest.approx(allowed[row["worst age"]])
        assert (row["kept"] == "yes") == bool((losses <= allowed * (1 + 1e-9)).all())
    kept = found.pivot(index=["W", "mechanism"], columns="curve", values="kept")
    assert (kept["step"] == "yes").all()  # window privacy itself
    assert (kept["linear after W"].xs("window root", level="mechanism") == "yes").all()
    assert (kept["linear"].xs("window root", level="mechanism") == "no").all()  # too much is told at once
    assert (kept["linear"].xs("noise on every prefix", level="mechanism") == "yes").all()


@pytest.mark.parametrize("dimension", [1, 3, 4])
def test_norm_floor_is_reached_by_the_root_and_no_other(dimension: int) -> None:
    unit = np.linalg.norm(np.random.default_rng(3).standard_normal((200_000, dimension)), axis=1).mean()
    assert norm_floor(1, 9, dimension) == pytest.approx(unit, rel=0.005)
    window, rounds = 16, 512
    for mechanism in (WindowRoot(window), WindowTree(window), WindowBuffers(window)):
        spread = np.sqrt(mechanism.nodes_per_item * mechanism.noisy_nodes(rounds))
        least = norm_floor(window, rounds, dimension) / norm_floor(1, rounds, dimension)
        assert least <= spread.mean()
        assert spread.mean() ** 2 <= np.square(spread).mean()
    assert norm_floor(window, 10**6, 1) == pytest.approx(np.sqrt(2 / np.pi) * 1.943878847, rel=1e-4)


@pytest.mark.parametrize("window", [1, 2, 8, 64])
def test_the_mean_root_of_noisy_nodes_is_that_of_the_tree(window: int) -> None:
    later = WindowTree(window).noisy_nodes(3 * window)[window:]
    assert mean_root(np.array([float(window)]))[0] == pytest.approx(np.sqrt(later).mean(), rel=1e-12)


@pytest.fixture(scope="module")
def kept() -> Any:
    return json.loads(vectors.TARGET.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    """The vectors are computed once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "make", functools.cache(vectors.make))
        yield


def test_vectors_are_current(kept: Any) -> None:
    assert list(vectors.differences(kept, vectors.make())) == []


def test_vectors_fit_their_schema(kept: Any) -> None:
    schema = json.loads(vectors.TARGET.with_name("test_vectors.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(kept)
    for spoil in (lambda made: made.pop("root"), lambda made: made["windows"][0].update(charged=-1.0)):
        spoiled = copy.deepcopy(kept)
        spoil(spoiled)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate(spoiled)


def test_a_wrong_number_is_named(kept: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoiled = copy.deepcopy(kept)
    spoiled["gaussian_mu"][3]["mu"] *= 1.0001
    spoiled["root"]["coefficients"][2] = 0.5
    del spoiled["lower_bounds"]["window"]["16"]
    lines = list(vectors.differences(spoiled, kept))
    assert len(lines) == 3
    assert any(line.startswith(".root.coefficients[2]: 0.5, should be 0.375") for line in lines)
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(spoiled), encoding="utf-8")
    assert vectors.main(path, check=True) == 1
    assert len(capsys.readouterr().out.splitlines()) == 3
    path.write_text("[1, 2", encoding="utf-8")
    assert vectors.main(path, check=True) == 2
    assert capsys.readouterr().err.count("\n") == 1


# Mechanisms of others: what is read off, what is found wrong, what is said of bad input


ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs/examples/my_noise.py"

FILE = """
import os
import numpy as np
from dpregret.algorithms.privacy.toeplitz import WindowRoot

def window_root(window):
    return WindowRoot(window)

def by_rounds(generator, rounds, dimension):
    total, found = np.zeros(dimension), []
    for _ in range(rounds):
        total = total + generator.normal(0, 3.0, size=dimension)
        found.append(total)
    return np.array(found)

def ahead(generator, rounds, dimension):  # draws of later rounds come first
    drawn = generator.standard_normal((2 * rounds, dimension))
    return drawn[rounds:][::-1] + drawn[:rounds]

class Streaming:
    def __init__(self, coefficients):
        self.coefficients = coefficients
    def init_multiply(self, x):
        return []
    def multiply_next(self, x, state):
        state = [*state, x]
        return sum(c * past for c, past in zip(self.coefficients, reversed(state))), state

def streaming(rounds):
    f = np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1, rounds)))
    return Streaming(-f / (2 * np.arange(rounds) - 1)), 2.0

def lazy(rounds):  # the noise of round 5 is that of round 4
    def noise(generator, dimension):
        drawn = generator.standard_normal((rounds, dimension))
        drawn[4] = drawn[3]
        return drawn
    return noise

class Reusing(Streaming):  # as Streaming, into one array for all rows; what it is fed with is lost
    def init_multiply(self, x):
        self.row = np.empty_like(x)
        return super().init_multiply(x)
    def multiply_next(self, x, state):
        self.row[...], state = super().multiply_next(x.copy(), state)
        x[...] = 0.0
        return self.row, state
def reusing(rounds):
    matrix, sd = streaming(rounds)
    return Reusing(matrix.coefficients), sd

def afresh():
    return Streaming([1.0]), 64.0

class Positive(Streaming):  # as Streaming for unit vectors, and for no other draw
    def multiply_next(self, x, state):
        return super().multiply_next(np.abs(x), state)
def positive():
    return Positive([1.0]), 2.0
class Single(Streaming):
    def multiply_next(self, x, state):
        return super().multiply_next(x.astype(np.float32), state)
def single(rounds):
    matrix, sd = streaming(rounds)
    return Single(matrix.coefficients.astype(np.float32)), sd
def hidden(generator, rounds, dimension):  # the last row is large, the first is not linear
    drawn = generator.standard_normal((rounds, dimension))
    drawn[0] = np.abs(drawn[0])
    drawn[-1] *= 1e13
    return drawn
def clipped(generator, rounds, dimension):
    return np.cumsum(np.clip(generator.normal(0, 5, size=(rounds, dimension)), -30, 30), axis=0)

uniform = lambda generator, rounds, dimension: generator.uniform(size=(rounds, dimension))
located = lambda generator, rounds, dimension: generator.normal(3.0, size=(rounds, dimension))
short = lambda generator, rounds, dimension: generator.standard_normal((rounds - 1, dimension))
silent = lambda generator, rounds, dimension: np.zeros((rounds, dimension))
rotated = lambda generator, rounds, dimension: generator.standard_normal((rounds, dimension)) * (1 + 1j)
ragged = lambda generator, dimension: [generator.standard_normal((1, dimension))[0], [1.0]]
own = lambda generator, rounds, dimension: np.random.default_rng(3).normal(size=(rounds, dimension))
asks = lambda colour: None
nothing = lambda rounds: 3
fails = lambda rounds: 1 / 0
bare = lambda rounds: Streaming(np.ones(rounds))
negative = lambda: (Streaming([1.0]), -2.0)
worded = lambda: (Streaming([1.0]), "two")
dies = lambda rounds: os.kill(os.getpid(), 9)
endless = lambda rounds: endless(rounds)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "noise.py"
    made.write_text(FILE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found", encoding="utf-8")
    (tmp_path / "noise.txt").touch()
    return made


def matrix(path: Path, name: str, claim: Claim) -> np.ndarray:
    return noise_matrix(load(f"{path}:{name}"), claim)[0]


def window_root(window: int, rounds: int) -> np.ndarray:
    return toeplitz(WindowRoot(window).noise_coefficients(rounds), np.zeros(rounds))


def test_linear_maps_are_read_off(path: Path) -> None:
    claim = Claim(rounds=40, window=8)
    scale = np.sqrt(landau(8)) / gaussian_mu(Budget(1.0, 1e-6))
    assert matrix(path, "window_root", claim)[:, :40] == pytest.approx(scale * window_root(8, 40), rel=1e-9)
    assert matrix(path, "by_rounds", claim) == pytest.approx(3 * np.tril(np.ones((40, 40))))
    ahead = matrix(path, "ahead", claim)
    assert ahead @ ahead.T == pytest.approx(2 * np.eye(40))
    lag = np.arange(40)[:, None] - np.arange(40)
    root = np.where(lag >= 0, root_coefficients(40)[np.abs(lag)], 0.0)  # running sums of the inverse root
    assert matrix(path, "streaming", claim) == pytest.approx(2 * root)
    assert matrix(path, "single", claim) == pytest.approx(2 * root, rel=1e-5)  # in single precision
    items, taken = noise_matrix(load(f"{path}:streaming"), claim, per_item=False)
    assert taken == OF_SUMS
    assert items[:, 0] == pytest.approx(2 * inverse_root_coefficients(40))
    assert (matrix(path, "reusing", claim) == matrix(path, "streaming", claim)).all()


def test_a_page_says_what_a_streaming_matrix_was_taken_for(path: Path) -> None:
    """Fresh noise in each prefix loses sqrt(rounds) times as much as fresh noise in each item."""
    of_items, of_sums = (audited(f"{path}:afresh", Claim(512, 512), sums) for sums in (False, True))
    assert of_items.kept
    assert of_sums.verdict == "violates"
    assert of_sums.mu == pytest.approx(math.sqrt(512) * of_items.mu)
    for found, taken in ((of_items, OF_ITEMS), (of_sums, OF_SUMS)):
        assert f"taken as {taken}" in str(found).splitlines()
        assert found.answer["taken"] == taken


@pytest.mark.parametrize("name", ["positive", "hidden", "clipped"])
def test_what_is_not_linear_is_not_judged(path: Path, name: str) -> None:
    with pytest.raises(OwnNoiseError, match="linear map"):
        matrix(path, name, Claim(rounds=12, window=12))


def test_losses_are_exact() -> None:
    claim = Claim(rounds=60, window=8, epsilon=1.0, sensitivity=2.0)
    mu = gaussian_mu(Budget(1.0, 1e-6))
    verdict = audit(2 * np.sqrt(landau(8)) / mu * window_root(8, 60), claim)
    assert verdict.mu == pytest.approx(mu, rel=1e-12)
    assert verdict.kept
    assert verdict.age_mu / mu == pytest.approx(WindowRoot(8).loss_by_age(60), rel=1e-10)
    assert verdict.item_mu[:53] == pytest.approx(np.full(53, mu))
    assert (np.diff(verdict.item_mu[52:]) < 0).all()  # the last items are not yet fully told


def test_participations_add_up() -> None:
    """Two rounds of one record against brute force over all pairs and the directions of its two contributions."""
    root = window_root(12, 12)
    shifts = np.linalg.solve(root, np.tril(np.ones((12, 12))))
    for exact_gaps in (False, True):
        verdict = audit(root, Claim(12, 12, participations=2, separation=5, exact_gaps=exact_gaps))
        pairs = [(i, j) for i in range(12) for j in range(i + 5, 12) if not exact_gaps or j == i + 5]
        worst = max(np.linalg.norm(shifts[:, pair] @ [1.0, sign]) for pair in map(list, pairs) for sign in (-1.0, 1.0))
        assert verdict.mu == pytest.approx(worst)
        assert verdict.worst.exact
        assert verdict.item_mu == pytest.approx(np.linalg.norm(shifts, axis=0))


@pytest.mark.parametrize("quiet", [1e-3, 1e-6, 1e-8, 1e-10])
def test_noise_of_very_different_sizes_loses_no_digits(quiet: float) -> None:
    """Independent noise of every item, one of it hardly any: mu = 1 / sd, although the square is below rounding."""
    deviations = np.full(12, 1.0)
    deviations[4] = quiet
    found = audit(np.tril(np.ones((12, 12))) * deviations, Claim(12, 12))
    assert found.worst.rounds == (5,)
    assert found.item_mu.max() == pytest.approx(1 / quiet, rel=1e-5)
    assert found.worst.mu <= 1 / quiet * (1 + 1e-12)  # by as much as rounding may hide
    assert 1 / quiet <= found.worst.bound <= (1 + 1e-3) / quiet
    assert found.worst.exact is (quiet > 1e-4)


HARDLY_NOISED = """
import numpy as np
def make(generator, rounds, dimension):
    sd = np.full(rounds, 20.0)
    sd[[2, 6]] = 0.5
    return np.cumsum(sd[:, None] * generator.standard_normal((rounds, dimension)), axis=0)
def frustrated(generator, rounds, dimension):  # three rounds whose columns have negative products
    strategy = np.eye(3) - 0.3
    return np.linalg.solve(strategy.T, np.tril(np.ones((3, 3))).T).T @ generator.standard_normal((3, dimension))
"""


@pytest.mark.parametrize(
    ("options", "delivered", "rounds"),
    [
        ("--participations 3 --separation 4", 16.860, "3, 7:"),
        ("--participations 3 --separation 4 --exact-gaps", 16.860, "3, 7:"),
        ("--participations 2 --separation 4", 16.860, "3, 7:"),
        ("--participations 2 --separation 3 --exact-gaps", 11.0, ""),
        ("--participations 9 --separation 4", 16.860, "3, 7:"),  # more than fit
        ("--participations 3 --separation 5", 11.0, ""),
        ("--participations 1", 10.997, ""),
    ],
)
def test_a_record_partly_inside_the_horizon_is_a_record(
    options: str, delivered: float, rounds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rounds 3 and 7 are hardly noised; a third round after them would lie beyond the horizon."""
    (tmp_path / "hardly.py").write_text(HARDLY_NOISED, encoding="utf-8")
    assert audit_command([f"{tmp_path / 'hardly.py'}:make", "--rounds", "10", *options.split()]) == 1
    page = capsys.readouterr().out
    assert float(re.findall(r"accounted: epsilon (\S+)", page)[0]) == pytest.approx(delivered, abs=0.01)
    assert rounds in page
    assert page.endswith("times the claim\n")


def test_what_a_bound_alone_exceeds_is_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All G_ij < 0 off the diagonal: three signs cannot turn all of them, and the bound is not reached."""
    (tmp_path / "hardly.py").write_text(HARDLY_NOISED, encoding="utf-8")
    words = [f"{tmp_path / 'hardly.py'}:frustrated", "--rounds", "3", "--participations", "3", "--json"]
    answers = []
    for epsilon in (1.0, 9.0, 10.0):
        code = audit_command([*words, "--epsilon", str(epsilon)])
        told = capsys.readouterr()
        answers.append((code, json.loads(told.out)["verdict"]))
        assert not told.err
    assert answers == [(1, "violates"), (2, "undecided"), (0, "keeps")]
    assert audit_command([*words[:-1], "--epsilon", "9"]) == 2
    assert "verdict: UNDECIDED, " in capsys.readouterr().out


ODD = """
import sys
import numpy as np
def sums(draws, sd=20.0):
    return np.cumsum(sd * draws, axis=0)
def on_a_good_day(generator, rounds, dimension):  # no noise where the first draw is small, once in a million
    drawn = generator.standard_normal((rounds, dimension))
    return np.where(drawn[:1] > -4.75, sums(drawn), 0.0)
def not_late(generator, rounds, dimension):
    drawn = generator.standard_normal((rounds, dimension))
    return np.where(drawn[-1:] < 4.75, sums(drawn), 0.0)
def in_many(generator, rounds, dimension):
    return sums(generator.standard_normal((rounds, dimension)), 20.0 if dimension > 1 else 1e-3)
def masked(generator, rounds, dimension):
    return np.ma.array(sums(generator.standard_normal((rounds, dimension))), mask=True)
def masked_rows(generator, rounds, dimension):
    return list(masked(generator, rounds, dimension))
def inside(generator, rounds, dimension):  # its small noise is lost beside the large one
    drawn = generator.standard_normal((rounds + 1, dimension)).astype(np.float32)
    return (np.float32(1e9) * drawn[:1] + sums(drawn[1:], np.float32(20))).astype(float)
def single(generator, rounds, dimension):
    drawn = generator.standard_normal((rounds + 1, dimension), dtype=np.float32)
    return np.float32(1e9) * drawn[:1] + sums(drawn[1:], np.float32(20))
def leaves(generator, rounds, dimension):
    sys.exit(0)
def huge(generator, rounds, dimension):
    return sums(generator.standard_normal((rounds, dimension)), 1e200)
def tiny(generator, rounds, dimension):
    return sums(generator.standard_normal((rounds, dimension)), 1e-310)
def fair(generator, rounds, dimension):
    return sums(generator.standard_normal((rounds, dimension), dtype=np.float32), np.float32(20))
"""


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *((name, 2) for name in ("on_a_good_day", "not_late", "in_many", "masked", "masked_rows", "inside", "leaves")),
        ("single", 1), ("tiny", 1), ("huge", 0), ("fair", 0),
    ],
)  # fmt: skip
def test_noise_that_is_not_there_is_no_privacy(
    name: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Noise in most runs only, masked, absorbed by larger noise, of sizes near the ends of the range of numbers."""
    (tmp_path / "odd.py").write_text(ODD, encoding="utf-8")
    assert audit_command([f"{tmp_path / 'odd.py'}:{name}", "--rounds", "6"]) == code
    told = capsys.readouterr()
    assert told.err.count("\n") == (code == 2)
    with pytest.raises(OwnNoiseError) if code == 2 else nullcontext():
        assert dp.audit(f"{tmp_path / 'odd.py'}:{name}", rounds=6).kept is (code == 0)


def test_a_loss_that_rounding_hides_is_not_judged() -> None:
    """Rows of one size, and an inverse that grows like 2^rounds."""
    noise = np.eye(60) - np.tril(np.ones((60, 60)), -1)
    assert audit(noise[:20, :20], Claim(20, 20)).worst.mu > 1e4
    with pytest.raises(OwnNoiseError, match="rounding hides it"):
        audit(noise, Claim(60, 60))


@pytest.mark.parametrize(("key", "fitting"), [("window", 4), ("participations", 4), ("separation", 4)])
@pytest.mark.parametrize("exact_gaps", [False, True])
def test_more_than_fits_is_what_fits(key: str, fitting: int, exact_gaps: bool) -> None:
    further: dict[str, Any] = {} if key == "window" else {"exact_gaps": exact_gaps, "participations": 2}
    found, fits = (dp.audit(NoisePerItem(), rounds=4, **{**further, key: size}) for size in (2**53, fitting))
    assert (found.worst, found.verdict) == (fits.worst, fits.verdict)


def test_page(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "out.npz"
    given = [f"{path}:window_root", "--window", "16", "--rounds", "96", "--save", str(saved)]
    assert audit_command(given) == 0
    page = capsys.readouterr().out
    assert re.search(r"items 1\.\.81: mu at most 0\.23\d+, epsilon 1$", page, re.MULTILINE)
    assert re.search(r"age 31: mu 0\.28\d*, epsilon 1\.2\d*", page)
    assert "3.18825" in page  # no Gaussian noise has a mean below
    kept = np.load(saved)
    assert kept["B"].shape[0] == 96
    assert kept["A"] == pytest.approx(np.tril(np.ones((96, 96))))
    assert audit_command([f"{path}:by_rounds", "--rounds", "96", "--epsilon", "0.5"]) == 1
    assert audit_command([f"{path}:by_rounds", "--rounds", "96", "--epsilon", "3"]) == 0
    capsys.readouterr()
    assert audit_command([f"{path}:lazy", "--rounds", "9"]) == 1
    assert "epsilon inf" in capsys.readouterr().out


BAD = [
    *("nothing.py", "nothing.py:make", "{0.parent}/broken.py:make", "{0.parent}/noise.txt:make"),
    *("{}:" + name for name in ("make", "uniform", "located", "short", "silent", "rotated", "ragged", "own", "asks")),
    *("{}:" + name for name in ("nothing", "fails", "bare", "negative", "worded")),
    *("{}:" + name for name in ("dies", "endless")),
    "{}:window_root --rounds 0",
    "{}:window_root --rounds 5000",
    "{}:window_root --window -1",
    "{}:window_root --epsilon 0",
    "{}:window_root --delta 1",
    "{}:window_root --participations 2 --window 8",
    "{}:by_rounds --sums",
    "{}:window_root --participations 0",
    "{}:window_root --separation 4",
    "{}:window_root --exact-gaps",
    "{}:window_root --participations 2 --separation 0",
]


@pytest.mark.parametrize("command", BAD)
def test_bad_input_gets_one_line(path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = command.format(path).split()
    assert audit_command(words if "--rounds" in words else [*words, "--rounds", "32"]) == 2
    told = capsys.readouterr()
    assert (told.err.count("\n"), "verdict" in told.out) == (1, False)


def test_the_example_of_the_documents(capsys: pytest.CaptureFixture[str]) -> None:
    """The mistake is caught, and is as large as the cross terms it forgets."""
    for name, code, delivered in (("right", 0, 1.0), ("wrong", 1, 1.5768)):
        options = ["--rounds", "128", "--participations", "4", "--separation", "8"]
        assert audit_command([f"{EXAMPLE}:{name}", *options]) == code
        page = capsys.readouterr().out
        assert float(re.findall(r"accounted: epsilon (\S+)", page)[0]) == pytest.approx(delivered, abs=1e-4)


def test_the_example_takes_a_schedule_that_ends_with_the_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    """Rounds 1 and 9 of sixteen: a record cannot take part four times."""
    options = ["--rounds", "16", "--participations", "4", "--separation", "8"]
    assert audit_command([f"{EXAMPLE}:right", *options]) == 0
    page = capsys.readouterr().out
    assert float(re.findall(r"accounted: epsilon (\S+)", page)[0]) == pytest.approx(1.0, abs=1e-4)


LIBRARIES = ROOT / "docs/examples/libraries.py"


@pytest.mark.parametrize(
    ("name", "needs", "options", "delivered"),
    [
        ("own", "numpy", "", 0.3069),
        ("opendp", "opendp", "", 0.9274),
        ("opendp", "opendp", "--participations 4 --separation 8", 1.966),
        ("jax_privacy", "jax_privacy", "--participations 4 --separation 8", 0.9886),
    ],
)
def test_noise_of_libraries(
    name: str, needs: str, options: str, delivered: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table of docs/audit.md; libraries of others where they are installed."""
    pytest.importorskip(needs)
    assert audit_command([f"{LIBRARIES}:{name}", "--rounds", "64", *options.split()]) == int(delivered > 1)
    assert float(re.findall(r"accounted: epsilon (\S+)", capsys.readouterr().out)[0]) == pytest.approx(
        delivered, rel=1e-3
    )
    page = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    assert f"| `{' '.join([name, '--rounds 64', options]).strip()}` | {delivered}" in page


def test_the_sensitivity_of_a_record_is_that_of_jax_privacy() -> None:
    """Banded matrices and fixed epochs by its exact programs; never above its bound."""
    sensitivity = pytest.importorskip("jax_privacy.matrix_factorization.sensitivity")
    draws = np.random.default_rng(0).random((64, 64))
    banded = np.tril(draws) * (np.abs(np.subtract.outer(np.arange(64), np.arange(64))) < 8)
    found = worst_record(banded.T @ banded, Schedules(4, 8))
    assert found.mu == pytest.approx(float(sensitivity.get_sensitivity_banded(banded, min_sep=8, max_participations=4)))
    whole = np.tril(draws)
    fixed = worst_record(whole.T @ whole, Schedules(4, 16, exact_gaps=True))
    assert fixed.mu == pytest.approx(float(sensitivity.fixed_epoch_sensitivity(whole, epochs=4)))
    most = float(sensitivity.get_min_sep_sensitivity_upper_bound(whole, min_sep=8, max_participations=4))
    assert worst_record(whole.T @ whole, Schedules(4, 8)).bound <= most * (1 + 1e-6)
