"""What no stream and no risk can be made of is refused in one line that names it."""

from collections.abc import Callable
from typing import Any

import pytest
from drawn import generators

from dpregret.algorithms.geometry import make_set
from dpregret.datasets.bandit_streams import make_bandit_stream
from dpregret.datasets.expert_streams import make_expert_stream
from dpregret.datasets.risks import make_risk
from dpregret.datasets.streams import make_stream

BALL, CORNERS = make_set("ball", 4), make_set("l1-ball", 4)
BANDIT = (280, 0.3)


def risk(name: str, samples: int, **options: Any) -> object:
    return make_risk(name, CORNERS, samples, generators(3, 3), **options)


REFUSED: list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any], str]] = [
    (make_stream, ("smoth-quadratic", BALL), {}, "allowed: .*smooth-quadratic.*did you mean 'smooth-quadratic'"),
    (make_stream, ("random-kink", BALL), {"spread": 1.0}, "no option 'spread'; allowed: none"),
    (make_stream, ("norm-kink", BALL), {"lipschitz": 0.3}, "lipschitz must be above mu reach"),
    (make_stream, ("smooth-quadratic", BALL), {"strong_convexity": 0.0}, "strong_convexity"),
    (make_stream, ("drift", BALL), {"period": 20}, "multiple of 8"),
    (make_stream, ("digits", BALL), {}, "needs the option 'data_dir'"),
    (make_stream, ("digits", make_set("ball", 64)), {"nonsense": 1}, "no option 'nonsense'; allowed: none"),
    (make_stream, ("ridge-logistic", BALL), {"pool_size": 0}, "pool_size"),
    (make_bandit_stream, ("ranking", BALL, BANDIT), {}, "'ranking' lives on the set permutahedron, not on 'ball'"),
    (make_bandit_stream, ("random-linear", BALL, BANDIT), {"spread": 0.0}, "spread"),
    (make_bandit_stream, ("completion", make_set("nuclear", 9), BANDIT), {"rank": 4}, "between 1 and 3, got 4"),
    (make_bandit_stream, ("hard-arms", make_set("simplex", 4), BANDIT), {"gap": 3.0},
     r"option gap: 3 sqrt\(K tau / T\) = 0.7.* at least 576, or"),
    (make_bandit_stream, ("arms", make_set("simplex", 4), BANDIT), {"gap": 0.6}, "gap"),
    (make_expert_stream, ("halving", 12, 8), {}, "experts must be a power of two"),
    (make_expert_stream, ("gap", 2**21, 8), {}, "experts must lie between"),
    (make_expert_stream, ("halving-slow", 16, 14), {"kill": 0.01}, "at least 15, the number of phases, got 14"),
    (make_expert_stream, ("halving", 8, 8), {"best_loss": 8.5}, "best_loss"),
    (make_expert_stream, ("bernoulli", 8, 0), {}, "horizon must be at least 1, got 0"),
    (make_expert_stream, ("bernoulli", 8, 8), {"epsilon": 0.0}, "epsilon must be positive, got 0.0"),
    (make_expert_stream, ("lower-bound", 8, 8), {}, "needs a finite epsilon or the option 'length', got epsilon inf"),
    (make_expert_stream, ("lower-bound", 8, 8), {"length": 2, "best_loss": 1.0}, "best_loss"),
    (risk, ("lasso-easy", 8), {"sparsity": 9}, "sparsity"),
    (risk, ("hetero-consensus", 12), {}, "multiple of 8 in this dimension, got 12"),
    (risk, ("dense-growing", 48), {"curvature": 5.0}, "curvature"),
    (risk, ("fingerprint", 4), {}, "no room for code words"),
    (risk, ("norm-kink-risk", 8), {"majority": 0.5}, "majority"),
    (risk, ("linear-population", 8), {"strength": 0.0}, "strength"),
    (risk, ("norm-kink-risk", 0), {}, "samples must be at least 1"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "given", "options", "said"), REFUSED)
def test_refusals_are_one_line(
    make: Callable[..., object], given: tuple[Any, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        make(*given, **options)
    assert "\n" not in str(caught.value)
