"""What window privacy still promises an item of a given age: the exact loss curve, printed beside the claim."""

import numpy as np
import pandas as pd

from dpregret.algorithms.privacy import Budget, WindowTree, gaussian_epsilon, gaussian_mu
from dpregret.algorithms.privacy.audit import item_mu

WINDOWS = (1, 4, 16, 64)
WINDOWS_SEEN = 8  # ages up to this many windows
EPSILON, DELTA = 1.0, 1e-6


def loss_by_age() -> pd.DataFrame:
    """Return exact Gaussian-DP parameters of the whole transcript by age of the item (0: just arrived).

    Columns: window, age, mu_gdp (node noise calibrated to epsilon = 1, delta = 1e-6 inside the window), epsilon
    (delivered at delta), claimed_epsilon (inf once expired), delta. Each is the worst over all horizons from one
    window to `WINDOWS_SEEN` + 1 windows. The curve has no free parameter.
    """
    mu_claimed = gaussian_mu(Budget(EPSILON, DELTA))
    rows = []
    for window in WINDOWS:
        tree = WindowTree(window)
        longest = WINDOWS_SEEN * window
        ages = np.zeros(longest)
        for horizon in range(window, longest + window):
            losses = item_mu(tree, horizon)[::-1][:longest]
            ages[: len(losses)] = np.maximum(ages[: len(losses)], losses)
        mu = ages * mu_claimed / np.sqrt(tree.nodes_per_item)
        rows += [
            (window, age, loss, gaussian_epsilon(loss, DELTA), EPSILON if age < window else np.inf)
            for age, loss in enumerate(mu)
        ]
    columns = ["window", "age", "mu_gdp", "epsilon", "claimed_epsilon"]
    return pd.DataFrame(rows, columns=columns).assign(delta=DELTA)
