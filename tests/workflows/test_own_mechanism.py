"""Mechanisms of others: what is read off, what is found wrong, what is said of bad input."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import toeplitz

from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.algorithms.privacy.series import inverse_root_coefficients, landau, root_coefficients
from dpregret.algorithms.privacy.toeplitz import WindowRoot
from dpregret.workflows.mechanisms.own_mechanism import Claim, OwnNoiseError, audit, load, main, noise_matrix

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs/examples/my_noise.py"

FILE = """
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

def uniform(generator, rounds, dimension):
    return generator.uniform(size=(rounds, dimension))
def located(generator, rounds, dimension):
    return generator.normal(3.0, size=(rounds, dimension))
def short(generator, rounds, dimension):
    return generator.standard_normal((rounds - 1, dimension))
def silent(rounds, dimension, generator):
    return np.zeros((rounds, dimension))
def asks(colour):
    return None
def fails(rounds):
    raise RuntimeError("no\\nluck")
def nothing(rounds):
    return 3
def bare(rounds):
    return Streaming(np.ones(rounds))
def broken(rounds):
    class Wrong(Streaming):
        def init_multiply(self, x):
            raise KeyError("state")
    return Wrong([1.0]), 1.0

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
def negative():
    return Streaming([1.0]), -2.0
def worded():
    return Streaming([1.0]), "two"
def hidden(generator, rounds, dimension):  # the last row is large, the first is not linear
    drawn = generator.standard_normal((rounds, dimension))
    drawn[0] = np.abs(drawn[0])
    drawn[-1] *= 1e13
    return drawn
def clipped(generator, rounds, dimension):
    return np.cumsum(np.clip(generator.normal(0, 5, size=(rounds, dimension)), -30, 30), axis=0)
def rotated(generator, rounds, dimension):
    return generator.standard_normal((rounds, dimension)) * (1 + 1j)
def ragged(generator, rounds, dimension):
    return [generator.standard_normal((1, dimension))[0][: 1 + (now > 2)] for now in range(rounds)]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "noise.py"
    made.write_text(FILE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found", encoding="utf-8")
    (tmp_path / "noise.txt").touch()
    return made


def matrix(path: Path, name: str, claim: Claim) -> np.ndarray:
    return noise_matrix(load(f"{path}:{name}"), claim)


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
    items = noise_matrix(load(f"{path}:streaming"), claim, per_item=False)
    assert items[:, 0] == pytest.approx(2 * inverse_root_coefficients(40))


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
    """Two rounds of one record against brute force over the directions of its two contributions."""
    claim = Claim(rounds=12, window=12, participations=2, separation=5)
    root = window_root(12, 12)
    verdict = audit(root, claim)
    shifts = np.linalg.solve(root, np.tril(np.ones((12, 12))))
    for start in range(7):
        pair = shifts[:, [start, start + 5]]
        worst = max(np.linalg.norm(pair @ [1.0, sign]) for sign in (-1.0, 1.0))
        assert verdict.item_mu[start] == pytest.approx(worst)
    assert len(verdict.item_mu) == 7


def test_page(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "out.npz"
    given = [f"{path}:window_root", "--window", "16", "--rounds", "96", "--save", str(saved)]
    assert main(given) == 0
    page = capsys.readouterr().out
    assert re.search(r"items 1\.\.81: mu at most 0\.23\d+, epsilon 1$", page, re.MULTILINE)
    assert re.search(r"age 31: mu 0\.28\d*, epsilon 1\.2\d*", page)
    assert "3.18825" in page  # no Gaussian noise has a mean below
    kept = np.load(saved)
    assert kept["B"].shape[0] == 96
    assert kept["A"] == pytest.approx(np.tril(np.ones((96, 96))))
    assert main([f"{path}:by_rounds", "--rounds", "96", "--epsilon", "0.5"]) == 1
    assert main([f"{path}:by_rounds", "--rounds", "96", "--epsilon", "3"]) == 0
    capsys.readouterr()
    assert main([f"{path}:lazy", "--rounds", "9"]) == 1
    assert "epsilon inf" in capsys.readouterr().out


BAD = [
    *("nothing.py", "nothing.py:make", "{0.parent}/broken.py:make", "{0.parent}/noise.txt:make"),
    *("{}:" + name for name in ("make", "uniform", "located", "short", "silent", "asks", "fails", "nothing")),
    *("{}:" + name for name in ("bare", "broken", "negative", "worded", "rotated", "ragged")),
    "{}:window_root --rounds 0",
    "{}:window_root --rounds 5000",
    "{}:window_root --window -1",
    "{}:window_root --epsilon 0",
    "{}:window_root --delta 1",
    "{}:window_root --participations 2 --window 8",
    "{}:window_root --participations 5 --separation 8",
]


@pytest.mark.parametrize("command", BAD)
def test_bad_input_gets_one_line(path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = command.format(path).split()
    assert main(words if "--rounds" in words else [*words, "--rounds", "32"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_example_of_the_documents(capsys: pytest.CaptureFixture[str]) -> None:
    """The mistake is caught, and is as large as the cross terms it forgets."""
    for name, code, delivered in (("right", 0, 1.0), ("wrong", 1, 1.5768)):
        options = ["--rounds", "128", "--participations", "4", "--separation", "8"]
        assert main([f"{EXAMPLE}:{name}", *options]) == code
        page = capsys.readouterr().out
        assert float(re.findall(r"delivered: epsilon (\S+)", page)[0]) == pytest.approx(delivered, abs=1e-4)
