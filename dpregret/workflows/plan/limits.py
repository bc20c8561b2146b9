"""How large a run may be: every bound on a value of a configuration, and how each is lifted.

A run that no machine can finish is refused in one line before anything of its size is made. `--config limits=off` lifts
all bounds, `--config limits=rounds:2^42,runs:1e7` some, and `limits: {rounds: 2^42}` in a profile does it for good.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import Field

from dpregret.core.errors import ConfigError
from dpregret.core.machine import GIGABYTE, machine_gb
from dpregret.core.yaml_source import KeyPath, Source, expand, validate
from dpregret.workflows.families.fields import Mistake, Settings

OFF: Final = "off"
UNITS: Final = {
    "memory_gb": " GB", "hours": " CPU hours", "cells": " cells", "values": " values",
    "epsilon": " (the value, or 1 over it)",
}  # fmt: skip
Most = Annotated[float, Field(gt=0)]


class Limits(Settings):
    """The most that a run may request; ``.inf`` lifts a bound.

    memory_gb: of one play, as its size predicts (left out: what this machine has). rounds: T, or records. runs,
    dimension, values (of one list), cells (of one experiment). hours: of CPU time, at a billion numbers a second.
    epsilon: finite ones lie between its inverse and it. check_gb, check_seconds: what making the problems and learners
    of one experiment may take before it is run, half of this machine's memory at most. play_minutes, play_gb: what one
    learner's play of an experiment may take (of memory, left out: what this machine has).
    """

    memory_gb: Most | None = None
    rounds: Most = 2.0**30
    runs: Most = 1e6
    dimension: Most = 2.0**20
    values: Most = 1000.0
    cells: Most = 10_000.0
    hours: Most = 10_000.0
    epsilon: Most = 1e9
    check_gb: Most = 1.0
    check_seconds: Most = 10.0
    play_minutes: Most = 120.0
    play_gb: Most | None = None

    @classmethod
    def off(cls) -> Self:
        """Without any bound."""
        return cls.model_validate(dict.fromkeys(cls.model_fields, math.inf))

    def beyond(self, name: str, value: float) -> str | None:
        """Why a value is too large for the bound of a name, and how to lift that; None where it is not."""
        most = machine_gb() if name == "memory_gb" and self.memory_gb is None else getattr(self, name)
        if value <= most:
            return None
        whole = name not in ("memory_gb", "hours", "epsilon")
        shown = f"{value:,}" if isinstance(value, int) and value < 10**15 else f"{float(value):.4g}"
        allowed = f"{most:,.0f}" if whole and most < 1e15 else f"{most:.4g}"
        source = ", this machine's memory" if name == "memory_gb" and self.memory_gb is None else ""
        lift = f"{math.ceil(float(value))}" if value < 1e6 else f"{float(value) * 1.05:.1e}"
        return (
            f"{shown}{UNITS.get(name, '')} is more than the limit {name}, {allowed}{source} "
            f"(to lift it: --config limits={name}:{lift}, or limits=off)"
        )

    @property
    def most_gb(self) -> float:
        """Gigabytes of a play."""
        return machine_gb() if self.play_gb is None else self.play_gb


def given_limits(option: object) -> Limits | None:
    """The limits that ``--config limits=...`` names, with what it does not name unset; None without it.

    Raises `ConfigError` for what is neither ``off`` nor ``name:number,name:number``.
    """
    if option is None:
        return None
    if option in (OFF, False):
        return Limits.off()
    pairs = option.items() if isinstance(option, Mapping) else (each.split(":", 1) for each in str(option).split(","))
    try:
        data = {str(name).strip(): _number(expand(value)) for name, value in pairs}
    except ValueError as error:
        raise ConfigError(f"--config limits: {error}") from None
    return validate(Limits, Source("--config limits", data, {}))


def _number(value: object) -> object:
    try:
        return float(str(value))
    except ValueError:
        return value


def long_lists(value: object, limits: Limits, path: KeyPath = ()) -> Iterator[Mistake]:
    """Every list with too many values."""
    if isinstance(value, list) and (said := limits.beyond("values", len(value))):
        yield path, said
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from long_lists(each, limits, (*path, key))


class TooMuch(BaseException):
    """Making something takes more CPU time than a check may."""


@contextlib.contextmanager
def guard(limits: Limits) -> Iterator[None]:
    """Bound what the block takes: raises MemoryError beyond check_gb, `TooMuch` beyond check_seconds of CPU time.

    Outside of the main thread the time is not bounded; where the system has no such bound the memory is not.
    """
    with _bounded_memory(limits.check_gb), _bounded_time(limits.check_seconds):
        yield


@contextlib.contextmanager
def _bounded_memory(gigabytes: float) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        most = held + int(min(gigabytes, machine_gb() / 2) * GIGABYTE)
        if before[0] == resource.RLIM_INFINITY or most < before[0]:
            resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    except (OSError, ValueError):
        pass
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def _bounded_time(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooMuch

    if not math.isfinite(seconds) or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
