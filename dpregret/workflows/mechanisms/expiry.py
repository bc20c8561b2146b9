"""What window privacy still promises an item of a given age: the exact loss curve, printed beside the claim."""

import numpy as np
import pandas as pd

from dpregret.algorithms.privacy import Budget, WindowTree, gaussian_epsilon, gaussian_mu
from dpregret.algorithms.privacy.audit import materialise, transcript_losses

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
        losses = transcript_losses(materialise(tree, longest + window - 1))  # at [horizon - 1, item]
        last = np.arange(window - 1, longest + window - 1)
        ages = np.sqrt([losses[last[last >= age], last[last >= age] - age].max() for age in range(longest)])
        mu = ages * mu_claimed / np.sqrt(tree.nodes_per_item)
        rows += [
            (window, age, loss, gaussian_epsilon(loss, DELTA), EPSILON if age < window else np.inf)
            for age, loss in enumerate(mu)
        ]
    columns = ["window", "age", "mu_gdp", "epsilon", "claimed_epsilon"]
    return pd.DataFrame(rows, columns=columns).assign(delta=DELTA)
