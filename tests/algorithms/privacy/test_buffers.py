"""Buffered mechanisms: fitted parameters, their errors in print, and how they are derived."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpregret.algorithms.privacy import series, toeplitz
from dpregret.algorithms.privacy.series import Rational, landau, root_decays
from dpregret.algorithms.privacy.toeplitz import WindowBuffers, stored
from dpregret.workflows.mechanisms import fits

# W, k -> decays, zeros, sum of c^2, sum of h^2: fitted by an independent program
PRINTED = {
    (16, 1): ((0.879785215,), (0.427040162,), 2.046726, 1.907071),
    (256, 2): ((0.992362924, 0.809929115), (0.953343225, 0.391493152), 2.90032, 2.83081),
    (256, 3): ((0.992991398, 0.899544101, 0.499950917), (0.965094358, 0.756608959, 0.170444177), 2.864930, 2.850423),
    (4096, 3): ((0.999525565, 0.987577826, 0.798868367), (0.997095396, 0.948228216, 0.380711959), 3.783575, 3.718444),
    (16384, 4): (
        (0.999886737, 0.997712398, 0.972515722, 0.715533373), (0.999371604, 0.991981742, 0.907992263, 0.304323080),
        4.19767, 4.17351,
    ),
}  # fmt: skip


def square_sum(mechanism: WindowBuffers) -> float:
    """Of h over all lags."""
    return mechanism.symbol().square_sum()


@pytest.mark.parametrize(("case", "printed"), PRINTED.items())
def test_window_buffers_in_print(case: tuple[int, int], printed: tuple[object, ...]) -> None:
    window, count = case
    decays, zeros, charged, variance = printed
    own = WindowBuffers(window, count)
    assert own.nodes_per_item * square_sum(own) == pytest.approx(charged * variance, rel=3e-6)  # type: ignore[operator]
    assert own.symbol().poles == pytest.approx(decays, abs=3e-5)
    other = Rational(decays, zeros)  # type: ignore[arg-type]
    assert other.square_sum() == pytest.approx(variance, abs=6e-6)
    sums = np.cumsum(other.inverse.coefficients(window))
    assert np.square(sums).sum() == pytest.approx(charged, abs=6e-6)
    assert own.nodes_per_item * square_sum(own) <= charged * variance * (1 + 3e-6)  # type: ignore[operator]


@pytest.mark.parametrize("window", sorted(stored()["windows"]))
def test_more_buffers_come_nearer_to_the_optimum_and_never_below(window: int) -> None:
    errors = [WindowBuffers(window, count) for count in (1, 2, 3, 4)]
    ratios = [each.nodes_per_item * square_sum(each) / landau(window) ** 2 for each in errors]
    assert ratios == sorted(ratios, reverse=True)
    assert 1 < ratios[-1] < (1.036 if window > 2 else 1.0356)
    if window >= 128:
        assert ratios[2] < 1.05


def test_sizes_between_powers_of_two_pay_for_themselves() -> None:
    """Their parameters are borrowed, their sensitivity is their own: near the optimum all the same."""
    for window in (3, 23, 100, 360, 5000):
        mechanism = WindowBuffers(window, 4)
        assert 1 <= mechanism.nodes_per_item * square_sum(mechanism) / landau(window) ** 2 < 1.06
        assert mechanism.nodes_per_item == pytest.approx(np.square(mechanism.strategy_coefficients(window)).sum())


@pytest.mark.nightly
def test_the_script_writes_the_files_that_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {module: tmp_path / f"{module.__name__}.json" for module in (toeplitz, series)}
    for module, file in files.items():
        monkeypatch.setattr(module, "PARAMETERS", file)
    for name, sizes in (("WINDOWS", (2, 4, 16)), ("HORIZONS", (8,)), ("LENGTHS", (32,))):
        monkeypatch.setattr(fits, name, sizes)
    assert fits.main() == 0
    kept = stored.__wrapped__()
    for kind, size in (("windows", 2), ("windows", 4), ("windows", 16), ("horizons", 8)):
        for name in ("decays", "zeros"):
            assert kept[kind][size][1][name] == pytest.approx(stored()[kind][size][1][name], abs=1e-5)
    assert list(kept["windows"][4]) == [1]  # a second buffer gains nothing there
    [made] = json.loads(files[series].read_text(encoding="utf-8"))
    decays, weights = root_decays(32)
    assert made["decays"] == pytest.approx(decays, rel=1e-13)
    assert made["weights"] == pytest.approx(weights, rel=1e-13)
