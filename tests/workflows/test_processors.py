"""Two runs are held against each other column by column; `make processors` plays the ci profile on four."""

import pandas as pd

from dpregret.workflows.run import processors


def test_a_difference_is_told_by_its_column() -> None:
    first = pd.DataFrame({"regret": [1.0, 2.0], "name": ["a", "b"], "seconds_play": [1.0, 2.0]})
    other = pd.DataFrame({"regret": [1.0, 4.0], "name": ["a", "c"], "seconds_play": [3.0, 4.0]})
    assert processors.differences(first, first.copy()) == {}
    assert processors.differences(first, other) == {"regret": 0.5, "name": float("inf")}
