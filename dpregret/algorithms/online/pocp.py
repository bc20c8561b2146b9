"""Private online convex programming (POCP): hidden iterates, each released once with fresh noise.

Problem     As in ftal.py; alpha of the paper is mu here.
Algorithm   Jain, Kothari & Thakurta 2012, Alg. 1, with implicit gradient descent (Alg. 2, IGD) or generalised
            infinitesimal gradient ascent (Alg. 3, GIGA), both numbered like this:
            line 2  beta; GIGA: t_q = 2 smoothness^2 / mu^2
            line 3  x_1 and hat x_1 from the set; GIGA: x_1..x_{t_q} and hat x_1..hat x_{t_q}
            line 4  for t = 1..T-1 (GIGA: t = t_q..T-1)
            line 5    pay f_t(hat x_t)
            line 6    eta_t = 1 / (mu t); GIGA: 2 / (mu t)
            line 7    x_{t+1} = argmin over the set of |x - x_t|^2 / 2 + eta_t f_t(x)
                      GIGA: x_{t+1} = Proj( x_t - eta_t grad f_t(x_t) )
            line 8    tilde x_{t+1} = x_{t+1} + b_{t+1}, b_{t+1} ~ N(0, (beta / t)^2 I)
            line 9    release hat x_{t+1} = Proj(tilde x_{t+1})
            Alg. 7 (`pocp-doubling`) is Alg. 1 with a beta of its own in rounds 2^k..2^(k+1)-1; IGD here.
Privacy     Unit: one loss, whole sequence; neighbours: it is replaced by another; (epsilon, delta)-DP. Two proximal
            steps from one point with different losses end within 2 L eta_s / (1 + mu eta_s) = 2 L / (mu (s + 1)) of
            each other, two explicit ones within 2 L eta_s; a later step j contracts by j / (j + 1), or by
            1 - mu eta_j. The products telescope: x_{t+1}, t >= s, moves by at most 2 L / (mu (t + 1)), or
            2 L / (mu (t + t0)). So there are T Gaussian releases of sensitivity at most lambda / t and standard
            deviation beta / t, lambda = 2 L / mu (Lemma 4). With eta = 2 / (mu t) an explicit step moves 4 L / (mu s)
            at once, and from t_q on contracts by 1 - 1/j: lambda = 4 L / mu, where Lemma 5 has 2 L / mu.
            L and mu are needed at the proximal point, which on all streams here lies in the set or where they hold.
Guarantee   Theorem 1: (3 epsilon, 2 delta)-DP; its Lemma 1 has epsilon < ln(2/delta) / 2. Theorem 2: E[regret] <= 2
            sqrt(d) L (lambda + D) sqrt(T) ln^2(T/delta) / epsilon + R, R the regret of the hidden points. For IGD:
            R <= mu D^2 / 2 + L^2 (1 + ln T) / (2 mu) (proved in `hidden_regret`). Theorem 10, GIGA, G = L: 4
            sqrt(d) (L/mu + D) L sqrt(T) ln^2(T/delta) / epsilon + 2 L^2 (1 + ln T) / mu + 2 smoothness^2 L D / mu^2.
            Theorem 13: Alg. 7 is (3 epsilon log2 T, delta log2 T + 2 T^(-2 epsilon))-DP.
Deviations  The implicit step is the projection of the proximal point, not the proximal point of the set: both are
            contractions. The first points are the center of the set: any law that knows no loss serves.
            corrected: beta = lambda sqrt(T) / mu(epsilon, delta); GIGA has eta_t = 1 / (mu (t + t0)) from round 1 on,
            t0 = ceil(smoothness / mu) - 1, so that a step contracts by 1 - mu eta_t. Alg. 7: the squared mu-GDP budget
            is divided among octaves k = 0, 1, .. like 1 / (k + 1)^2, so that it lasts for any T.
            printed: beta = lambda T^(1/2+c) sqrt( (2/eps) (ln(T/delta) + sqrt(eps) / T^(1/2+c)) ) with T^c =
            sqrt( ln(2/delta) / (2 eps) ), lambda = 2 L / mu in both; Alg. 7: 2^k in place of T^(1+2c) and of T.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner
from dpregret.algorithms.privacy import Budget, NoisePerPrefix, NoisePlan, OctaveNoise, calibrate
from dpregret.core.oracles import project, prox_at, slope_at, step
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined

VARIANTS = {"corrected": "tight Gaussian-DP calibration", "printed": "as in the paper: (3 eps, 2 delta)-DP"}


class Implicit(NamedTuple):
    """hidden (d, runs): the iterate that is not released."""

    hidden: Array
    mu: float


class Explicit(NamedTuple):
    """hidden, gradient (d, runs), value (runs,): the iterate that is not released, and scratch for the loss there.

    Steps are rate / (mu (t + delay)), from round `first` on.
    """

    hidden: Array
    gradient: Array
    value: Array
    mu: float
    rate: float
    delay: float
    first: float


@step.add
def _step_implicit(learner: Implicit, loss, domain, t, x, gradient, noise, scratch):  # lines 4, 5
    """A hidden proximal step, then one release with standard deviation beta / t."""
    prox_at(loss, learner.hidden, 1.0 / (learner.mu * t), scratch)  # lines 6, 7
    release(learner.hidden, domain, t, x, noise, scratch)


@step.add
def _step_explicit(learner: Explicit, loss, domain, t, x, gradient, noise, scratch):  # lines 4, 5
    """A hidden gradient step, then the same release; the point stays before the first step."""
    if t >= learner.first:
        slope_at(loss, learner.hidden, learner.gradient, learner.value, scratch)
        eta = learner.rate / (learner.mu * (t + learner.delay))  # line 6
        for k in range(x.shape[0]):
            for r in range(x.shape[1]):
                learner.hidden[k, r] -= learner.gradient[k, r] * eta  # line 7
        release(learner.hidden, domain, t, x, noise, scratch)


@inlined
def release(hidden, domain, t, x, noise, scratch):
    """Project the hidden iterate, and play it with fresh noise, projected again."""
    project(domain, hidden, scratch)  # line 7
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = hidden[k, r] + noise[k, r] / t  # line 8
    project(domain, x, scratch)  # line 9


class PocpIgd(Learner):
    """POCP with implicit gradient descent (one proximal step, two projections)."""

    card = Card(
        name="pocp-igd",
        title="POCP (IGD)",
        paper="Jain, Kothari & Thakurta 2012",
        reference="Alg. 2, PIGD",
        variants=VARIANTS,
        anytime=False,
    )
    calls = 2
    noise_plan: NoisePlan

    def prepare(self) -> None:
        sensitivity = 2 * self.lipschitz / self.strong_convexity
        mechanisms = [NoisePerPrefix(self.horizon)] * len(self.settings)
        if self.variant == "printed":
            scales = [sensitivity * printed_factor(self.horizon, budget) for budget in self.budgets]  # line 2
        else:
            scales = [calibrate("gaussian", budget, sensitivity, self.horizon) for budget in self.budgets]
        self.noise_plan = NoisePlan("gaussian", mechanisms, scales, sensitivity, self.domain.dimension)

    def state(self, setting: int, runs: int) -> Any:
        """The first point."""
        return Implicit(np.tile(self.point[setting, 0][:, None], (1, runs)), self.strong_convexity)  # line 3

    def displacement(self, rounds: int) -> Array:
        """beta sqrt(d) / t: the noise is added to the point itself."""
        return self.strong_convexity * super().displacement(rounds)

    def hidden_regret(self, rounds: int) -> Array:
        """mu D^2 / 2 + L^2 (1 + 1/2 + .. + 1/t) / (2 mu), t = 1..rounds, of the hidden points of IGD.

        f(x_{t+1}) + |x_{t+1} - x_t|^2 / (2 eta) + (1/eta + mu) |u - x_{t+1}|^2 / 2 <= f(u) + |u - x_t|^2 / (2 eta), the
        first point costs at most L |x_{t+1} - x_t| more than the second, and with 1/eta_t = mu t the rest telescopes.
        """
        mu, steep = self.strong_convexity, self.lipschitz
        return 0.5 * mu * self.domain.diameter**2 + steep**2 * np.cumsum(1 / np.arange(1.0, rounds + 1)) / (2 * mu)

    def bound(self, rounds: int) -> Array:
        """Theorem 2 for the horizon; NaN for other variants."""
        if self.variant != "printed":
            return super().bound(rounds)
        steep, widest = self.lipschitz, 2 * self.lipschitz / self.strong_convexity + self.domain.diameter
        return 2 * steep * widest * self.stated_rates() + self.hidden_regret(rounds)

    def stated_rates(self) -> Array:
        """sqrt(d T) ln^2(T/delta) / epsilon of Theorems 2, 8 and 10, (settings, 1); 0 for epsilon = inf, any delta."""
        size = math.sqrt(self.domain.dimension * self.horizon)
        return np.array([[size * self._stated_log(budget) ** 2 / budget.epsilon] for budget in self.budgets])

    def _stated_log(self, budget: Budget) -> float:
        return 0.0 if math.isinf(budget.epsilon) else budget.log_over_delta(self.horizon)


class PocpGiga(PocpIgd):
    """POCP with generalised infinitesimal gradient ascent (two projections, smooth losses only)."""

    card = replace(
        PocpIgd.card,
        name="pocp-giga",
        title="POCP (GIGA)",
        reference="Alg. 3, PGIGA",
        needs=frozenset({"smooth"}),
    )

    def prepare(self) -> None:
        super().prepare()
        if self.variant == "printed":  # a step of 2 / (mu t) moves twice as far as Lemma 5 says
            self.noise_plan = replace(self.noise_plan, sensitivity=2 * self.noise_plan.sensitivity)

    def state(self, setting: int, runs: int) -> Any:
        hidden = super().state(setting, runs).hidden
        bends = self.problem.smoothness / self.strong_convexity
        rate, delay, first = 1.0, float(math.ceil(bends) - 1), 1.0
        if self.variant == "printed":
            rate, delay, first = 2.0, 0.0, float(math.ceil(2 * bends**2))  # line 2
        return Explicit(hidden, np.zeros_like(hidden), np.zeros(runs), self.strong_convexity, rate, delay, first)

    def bound(self, rounds: int) -> Array:
        """Theorem 10, likewise; that of the horizon in every round."""
        if self.variant != "printed":
            return super().bound(rounds)
        steep, mu, wide = self.lipschitz, self.strong_convexity, self.domain.diameter
        plain = 2 * steep**2 / mu * (1 + math.log(self.horizon))
        plain += 2 * self.problem.smoothness**2 * steep * wide / mu**2
        stated = 4 * (steep / mu + wide) * steep * self.stated_rates() + plain
        return np.broadcast_to(stated, (len(self.settings), rounds))


class PocpDoubling(PocpIgd):
    """POCP with implicit gradient descent, whose noise depends on the octave of the round, not on T (Alg. 7)."""

    card = replace(
        PocpIgd.card,
        name="pocp-doubling",
        title="POCP (doubling)",
        reference="Alg. 7, weak dependence on T",
        variants={
            "corrected": "an exact budget that lasts for any T",
            "printed": "as in the paper: (3 eps log2 T, delta log2 T + 2 T^(-2 eps))-DP",
        },
    )

    def prepare(self) -> None:
        sensitivity, octaves = 2 * self.lipschitz / self.strong_convexity, range(self.horizon.bit_length())
        if self.variant == "printed":
            factors = [[printed_octave(octave, budget) for octave in octaves] for budget in self.budgets]
            private = [not math.isinf(budget.epsilon) for budget in self.budgets]
            scales = [sensitivity * noisy for noisy in private]
        else:
            spread = [(octave + 1) * math.pi / math.sqrt(6) * 2 ** (octave / 2) for octave in octaves]
            factors = [spread] * len(self.budgets)
            scales = [calibrate("gaussian", budget, sensitivity, 1) for budget in self.budgets]
        mechanisms = [OctaveNoise(self.horizon, tuple(each)) for each in factors]
        self.noise_plan = NoisePlan("gaussian", mechanisms, scales, sensitivity, self.domain.dimension)

    def bound(self, rounds: int) -> Array:
        """NaN. Appendix F states the regret of Alg. 1, at another price of privacy."""
        return np.full((len(self.settings), rounds), np.nan)


def printed_factor(horizon: int, budget: Budget) -> float:
    """beta / lambda of Algorithm 1; 0 for epsilon = inf."""
    if math.isinf(budget.epsilon):
        return 0.0
    growth = math.sqrt(horizon) * math.sqrt(budget.log_over_delta(2) / (2 * budget.epsilon))
    inside = budget.log_over_delta(horizon) + math.sqrt(budget.epsilon) / growth
    return growth * math.sqrt(2 / budget.epsilon * inside)


def printed_octave(octave: int, budget: Budget) -> float:
    """beta / lambda of Algorithm 7 in rounds 2^octave..2^(octave+1)-1; 1 for epsilon = inf, where nothing is scaled."""
    if math.isinf(budget.epsilon):
        return 1.0
    length = 2.0**octave
    inside = budget.log_over_delta(length) + math.sqrt(budget.epsilon / length)
    return math.sqrt(2 * length / budget.epsilon * inside)
