"""Blocks of rounds in compiled code, for learners, sets and losses that name their kernels (dpregret.core.kernels).

A learner's class names its step, here: which of its arrays the kernel keeps, and the numbers of each round. `observe`
in the learner's own file is the definition; a subclass that changes what a step stands for has to name one again.
"""

from collections.abc import Sequence
from time import process_time
from typing import Any, ClassVar

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.kernels import (
    BALL,
    DESCENT,
    DIRECTION_KINK,
    EXPLICIT,
    FRANK_WOLFE,
    IMPLICIT,
    L1_BALL,
    LEADER,
    LOCAL,
    LOCAL_VERTEX,
    NORM_KINK,
    ONLINE_FRANK_WOLFE,
    PROJECTION,
    QUADRATIC,
    REGULARISED,
    RESTARTED,
    SQUARED,
    VERTEX,
    Packed,
    kernel_of,
    packed,
)

PROXIMAL = frozenset({QUADRATIC, DIRECTION_KINK, NORM_KINK, SQUARED})
_PRICED = 0.002  # CPU seconds spent on pricing an oracle


class Step:
    """One learner's round. sums: names of its arrays that change; start: of the one that does not.

    stands_for: the methods whose work the kernel does; a class may change none of them below the one that names it.
    oracle: what it asks the set for, `calls` times a round, counted by `tally`.
    """

    code: ClassVar[int]
    sums: ClassVar[tuple[str, ...]] = ()
    start: ClassVar[str] = ""
    stands_for: ClassVar[tuple[str, ...]] = ("observe",)
    oracle: ClassVar[int] = PROJECTION
    tally: ClassVar[str] = "projections"
    calls: ClassVar[int] = 1

    def serves(self, learner: Any, place: int, loss: int | None) -> bool:
        """Whether the learner takes this step, as it is set up, on the set and on losses of a kind (None: on some)."""
        return True

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """What `rounds.play` calls a, b, c, ... in rounds `times` (n,): numbers, (n,), (settings, 1 or n)."""
        raise NotImplementedError


class Leader(Step):
    """FTAL."""

    code, sums, stands_for = LEADER, ("total",), ("observe", "leader")

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """mu and t; 1 in place of t where a box is printed without the division."""
        undivided = learner.variant == "printed" and learner.card.windowed
        return learner.strong_convexity, 1.0 if undivided else times


class Restarted(Step):
    """FTAL that starts anew."""

    code, sums, start = RESTARTED, ("total", "begun"), "start"

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """mu, the rounds of the block so far, and whether it ends."""
        position = (times - 1) % learner.lengths[:, None] + 1
        return learner.strong_convexity, position, position == learner.lengths[:, None]


class Descent(Step):
    """Projected gradient steps of size 1 / (mu t)."""

    code = DESCENT

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """mu t and 1: the step from above."""
        return learner.strong_convexity * times, 1.0


class ConstantDescent(Descent):
    """Projected gradient steps of one size."""

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """1 and the step."""
        return 1.0, learner.eta


class Regularised(Step):
    """DP-FTRL."""

    code, sums, start = REGULARISED, ("gradient_sum",), "start"

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """lambda."""
        return (learner.regularisation[:, None],)


class Implicit(Step):
    """POCP by proximal steps."""

    code, sums, stands_for, calls = IMPLICIT, ("hidden",), ("observe", "_step"), 2

    def serves(self, learner: Any, place: int, loss: int | None) -> bool:
        """Losses whose proximal point has a closed form."""
        return loss is None or loss in PROXIMAL

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """The step, and by how much the noise shrinks."""
        return 1 / (learner.strong_convexity * times), times


class Explicit(Implicit):
    """POCP by gradient steps."""

    code = EXPLICIT

    def serves(self, learner: Any, place: int, loss: int | None) -> bool:
        """All."""
        return True

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """The same, the step delayed."""
        delay = np.ceil(learner.problem.smoothness / learner.strong_convexity) - 1
        return 1 / (learner.strong_convexity * (times + delay)), times


class ConditionalGradient(Step):
    """The conditional gradient of Hazan & Kale."""

    code, sums, start, oracle, tally = ONLINE_FRANK_WOLFE, ("gradient_sum",), "start", VERTEX, "linear_oracles"

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """eta and the step."""
        eta = learner.domain.diameter / (2 * learner.lipschitz * learner.horizon**0.75)
        return eta, np.minimum(1.0, 2 / np.sqrt(times))


class FrankWolfe(Step):
    """Strongly convex online Frank-Wolfe."""

    code, sums, oracle, tally = FRANK_WOLFE, ("gradient_sum", "point_sum"), VERTEX, "linear_oracles"

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """mu and t."""
        return learner.strong_convexity, times, 0.0


class Local(Step):
    """LLOO-FTAL."""

    code, sums, start = LOCAL, ("gradient_sum", "point_sum", "weights"), "start"
    oracle, tally, stands_for = LOCAL_VERTEX, "local_oracles", ("observe", "_cost")

    def serves(self, learner: Any, place: int, loss: int | None) -> bool:
        """Simplex, l1 ball and box, with the cost of line 7 corrected."""
        return place != BALL and learner.variant != "printed"

    def numbers(self, learner: Any, times: Array) -> Sequence[Any]:
        """mu, t + C0, C0, alpha and the radius."""
        schedule = learner.schedule
        radius = np.minimum(learner.domain.diameter, schedule.radius(times))
        return learner.strong_convexity, times + schedule.regulariser, schedule.regulariser, schedule.alpha, radius


class CompiledRounds:
    """One learner at play in compiled code; `None` from `of` where one of the parts has no kernel."""

    def __init__(self, learner: Any, step: Step, kernel: Any):
        from dpregret.core import ball_rounds, rounds

        self.learner, self.step = learner, step
        self.loops: Any = rounds
        self.eight: Any = ball_rounds  # runs side by side
        inner = learner.domain.inner
        self.place, self.constants = kernel.code, kernel.numbers(inner)
        settings, runs, self.dimension = learner.point.shape
        self.wide = self.dimension * (2 if step.code == LOCAL and kernel.code == L1_BALL else 1)
        self.sums = np.zeros((settings, 3, runs, self.wide))
        self.point = np.empty(learner.point.shape)
        self.origin = np.zeros(learner.point.shape)
        self.scales = learner.noise_plan.scales if learner.noise_plan is not None else [0.0] * settings
        self.rows, self.pricing = 0, 0.0
        self.met: Any = None  # the loss of all rounds that were played last, if it was one
        self.arrays: Packed | None = None

    @classmethod
    def of(cls, learner: Any) -> "CompiledRounds | None":
        """The compiled rounds of a learner on a counted set."""
        from dpregret.algorithms.geometry import CountedSet

        step, domain = named_step(learner), learner.domain
        kernel = kernel_of(domain.inner) if type(domain) is CountedSet else None
        if step is None or kernel is None or not step.serves(learner, kernel.code, None):
            return None
        return cls(learner, step, kernel)

    def packed(self, losses: Sequence[Any]) -> Packed | None:
        """Losses of consecutive rounds as arrays, None where the plain loop has to play them."""
        alike = type(losses) is list and len(set(map(id, losses))) == 1
        if alike and losses[0] is self.met:
            return self.arrays
        found = packed(losses, self.dimension)
        served = found is not None and self.step.serves(self.learner, self.place, found.code)
        self.met, self.arrays = losses[0] if alike else None, found if served else None
        return self.arrays

    def play(self, losses: Packed, times: Array, units: Sequence[Array], cumulative: Array, norms: Array) -> None:
        """Rounds `times` (n,) of all settings, within one block.

        units: the block's noise before scaling, (runs, rounds, d) a setting; no rounds where there is none.
        cumulative, norms (settings, runs): sums of losses and of |noise|, added to.
        """
        self._take_over()
        settings, runs, _ = self.point.shape
        begun = int(times[0] - 1) % (units[0].shape[1] or 1)
        coefficients = np.zeros((5, settings, len(times)))
        for row, number in zip(coefficients, self.step.numbers(self.learner, times), strict=False):
            row[...] = number
        beside = self.place == BALL and self.step.code in self.eight.LEARNERS and runs >= self.eight.FEWEST
        loss, place, learner = ((0,) * each for each in (losses.code, self.place, self.step.code))
        for setting, columns in enumerate(coefficients.transpose(1, 2, 0).copy()):
            told = (
                losses.vectors, losses.anchor, losses.labels, losses.constants, self.constants, columns, units[setting],
                begun, float(self.scales[setting]), self.point[setting], self.sums[setting], self.origin[setting],
                cumulative[setting], norms[setting],
            )  # fmt: skip
            if beside:
                self.eight.play_on_ball(losses.code, self.step.code, *told)
            else:
                self.loops.play(loss, place, learner, *told)
        tally = getattr(self.learner.domain, self.step.tally)
        tally.calls += self.step.calls * len(times)
        self.rows += self.step.calls * len(times) * settings * runs

    def finish(self) -> None:
        """Tell the set's tally how many points its oracle served, at a price measured apart, on the last points."""
        if not self.rows:
            return
        began = process_time()
        kinds = tuple((0,) * each for each in (self.step.oracle, self.place))
        points = self.point[0]
        repeats, seconds = 1, 0.0
        self.loops.serve(*kinds, self.constants, points, self.wide, 1)
        while seconds < _PRICED:
            repeats *= 4
            started = process_time()
            self.loops.serve(*kinds, self.constants, points, self.wide, repeats)
            seconds = process_time() - started
        tally = getattr(self.learner.domain, self.step.tally)
        tally.rows += self.rows
        tally.seconds += self.rows * seconds / (repeats * len(points))
        self.rows, self.pricing = 0, process_time() - began

    def _take_over(self) -> None:
        """Let the learner hold the arrays that the kernel changes, with what it has put in their place since."""
        learner = self.learner
        if learner.point is not self.point:
            self.point[...] = learner.point
            learner.point = self.point
            if self.step.start:  # set in the first round, if not before
                self.origin[...] = getattr(learner, self.step.start, self.point)
                setattr(learner, self.step.start, self.origin)
        for place, name in enumerate(self.step.sums):
            held = getattr(learner, name, None)
            width = self.wide if name == "weights" else self.dimension
            view = self.sums[:, place, :, :width]
            if held is None or held.base is not self.sums:  # FTAL's appears in its first round
                view[...] = 0.0 if held is None else held
                setattr(learner, name, view)


def named_step(learner: Any) -> Step | None:
    """The step that the learner's class names, None where a method that it stands for was changed after that."""
    for kind in type(learner).__mro__:
        names = vars(kind)
        if "kernel" in names:
            step: Step = names["kernel"]
            return None if any(each in vars(learner) for each in step.stands_for) else step
        if any(each in names for each in ("observe", "leader", "_step", "_cost")):
            return None
    return None
