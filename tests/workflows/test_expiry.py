"""The loss of an item by its age is the worst over all horizons, each looked at by itself."""

import numpy as np
import pytest

from dpregret.algorithms.privacy import WindowTree, gaussian_epsilon
from dpregret.algorithms.privacy.audit import item_mu
from dpregret.workflows.mechanisms import expiry


def test_one_factor_answers_for_all_horizons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "WINDOWS", (1, 4))
    found = expiry.loss_by_age()
    for window, rows in found.groupby("window"):
        oldest = expiry.WINDOWS_SEEN * window
        transcripts = [item_mu(WindowTree(window), rounds)[::-1] for rounds in range(window, oldest + window)]
        worst = np.array([max(each[age] for each in transcripts if age < len(each)) for age in range(oldest)])
        assert rows["age"].tolist() == list(range(oldest))
        mu = rows["mu_gdp"].to_numpy()
        assert mu == pytest.approx(worst / worst[:window].max() * mu[:window].max(), rel=1e-12)
        young = rows["epsilon"].iloc[:window].max()
        assert young <= expiry.EPSILON * (1 + 1e-9)
        assert window > 1 or young == pytest.approx(expiry.EPSILON)
        assert rows["epsilon"].iloc[-1] == pytest.approx(gaussian_epsilon(mu[-1], expiry.DELTA))
