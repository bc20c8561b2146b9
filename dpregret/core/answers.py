"""Answers as JSON: what commands print with --json."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
from pydantic_core import to_jsonable_python


def plain(value: Any) -> Any:
    """The same in types of JSON: infinite and unknown numbers are null, a frame is a list of its rows."""

    def other(value: Any) -> Any:
        if isinstance(value, pd.DataFrame):
            return value.to_dict("records")
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else value

    return to_jsonable_python(value, inf_nan_mode="null", fallback=other)


def as_json(value: Any) -> str:
    """JSON text of an answer, with a line break at its end."""
    return json.dumps(plain(value), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
