"""What people write for the identifiers of learners, variants, streams and sets.

Learners keep a title on their cards; here are shorter ones for legends and tables. Whatever is not listed falls back
to its title, or to its identifier without hyphens, so a new learner needs no entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dpregret.workflows.families import FAMILIES

LEARNERS: Final = {
    "adaptive-descent": "adaptive descent",
    "adaptive-sparse-vector": "sparse vector (L* unknown)",
    "batched-arms": "batched K-arm bandit",
    "batched-dartboard": "batched dartboard",
    "chaudhuri": "objective perturbation (pure)",
    "dp-ftrl": "DP-FTRL (realizable)",
    "epoch-leader": "epoch leader",
    "fkm": "FKM",
    "ftal-endless": "FTAL (endless)",
    "garber-kretzu": "Garber-Kretzu",
    "hedge-batched": "Hedge on batches",
    "hedge-composition": "Hedge by composition",
    "net-sparse-vector": "sparse vector on a net",
    "noise-per-gradient": "FTAL, noise per gradient",
    "noise-per-prefix": "FTAL, noise per prefix",
    "noisy-eg": "noisy mirror descent (entropy)",
    "noisy-gd": "noisy GD",
    "noisy-gd-strong": "noisy GD (strongly convex)",
    "noisy-grouped": "noisy mirror descent (grouped)",
    "noisy-md": "noisy mirror descent",
    "noisy-nuclear": "noisy mirror descent (nuclear)",
    "noisy-oracle": "mirror descent (noisy oracle)",
    "noisy-qnorm": "noisy mirror descent (l_q)",
    "noisy-sgd": "noisy SGD",
    "noisy-value-bandit": "noise on every value",
    "objective-perturbation": "objective perturbation",
    "ofw": "OFW",
    "ogd": "OGD",
    "ogd-small-loss": "OGD (small loss)",
    "one-pass-ftrl": "DP-FTRL (one pass)",
    "online-to-batch": "online-to-batch",
    "output-perturbation": "output perturbation",
    "phased-sgd": "phased SGD",
    "private-bandit-doubling": "PrivateBandit (doubling)",
    "private-blocked-descent": "noised blocked descent",
    "private-fw": "private FW",
    "private-fw-general": "private FW (any set)",
    "private-gauge-descent": "noised gauge descent",
    "private-linear-bandit": "private SCRiBLe",
    "private-projected-descent": "noised projected descent",
    "private-separation-descent": "noised separation descent",
    "private-vr-fw": "variance-reduced private FW",
    "projected-gradient": "exact minimiser",
    "restarted-ftal": "restarted FTAL",
    "sampled-sparse-vector": "sparse vector, hit-and-run",
    "scofw": "SC-OFW",
    "shrinking-dartboard": "shrinking dartboard",
    "sparse-vector": "sparse vector",
    "stay": "constant point",
    "stay-at-zero": "centre of the set",
    "thakurta-smith-gaussian": "Thakurta-Smith (Gaussian)",
    "thakurta-smith-laplace": "Thakurta-Smith (Laplace)",
    "tree-counters": "binary tree counters",
    "wdp-cocop-solver": "WDP-COCOP (solver)",
}
VARIANTS: Final = {
    "approximate": "approximate DP",
    "balanced": "balanced steps",
    "cold": "guess from 1",
    "corrected-reduced": "reduced variance",
    "descent-buffers": "descent, buffers",
    "descent-tree": "descent, tree",
    "every-round": "batches of one",
    "fading": "fading noise",
    "gamma": "Gamma noise",
    "gaussian": "Gaussian",
    "gaussian-padded": "Gaussian, padded tree",
    "gaussian-reduced": "Gaussian, reduced variance",
    "gumbel": "Gumbel noise",
    "horizon": "eta for T",
    "isotropic": "isotropic noise",
    "kst": "noise of KST 2012",
    "lambda-double": "2 lambda",
    "lambda-eightfold": "8 lambda",
    "lambda-eighth": "lambda / 8",
    "lambda-fourfold": "4 lambda",
    "lambda-half": "lambda / 2",
    "lambda-quarter": "lambda / 4",
    "lambda-sixteenth": "lambda / 16",
    "laplace": "Laplace",
    "padded": "padded tree",
    "paper": "constants as printed",
    "paper-tolerance": "tolerance as printed",
    "per-block": "noise per block",
    "per-gradient": "noise per gradient",
    "plain": "",
    "practical-zcdp": "zCDP, tuned",
    "printed": "as printed",
    "printed-approximate": "as printed, approximate DP",
    "printed-lambda": "lambda as printed",
    "printed-noise": "noise as printed",
    "printed-pure": "as printed, pure DP",
    "projection": "exact projection",
    "published": "as published",
    "pure": "pure DP",
    "restart": "restarted phases",
    "root": "root factor",
    "sampled": "sampled records",
    "scaled": "shrunk set",
    "single": "",
    "small-loss": "eta for L*",
    "starved-pure": "starved, pure DP",
    "starved-zcdp": "starved, zCDP",
    "unit": "eta = 1",
    "unmixed": "no exploration",
    "unsquared": "alpha as printed",
    "warm": "guess at a switch",
    "zcdp": "zCDP",
}
STREAMS: Final = {
    "arms": "Bernoulli arms",
    "bernoulli": "independent losses",
    "breast-cancer": "breast cancer",
    "breast-cancer-experts": "breast cancer classifiers",
    "breast-cancer-risk": "breast cancer",
    "collapse": "linear risk",
    "completion": "matrix completion",
    "cone": "norm cone",
    "dense-growing": "dense optimum",
    "diabetes-risk": "diabetes",
    "digits-completion": "digit images",
    "digits-experts": "digit classifiers",
    "digits-risk": "digits",
    "fingerprint": "fingerprinting instance",
    "flights-logistic-risk": "flights, logistic loss",
    "flights-risk": "flights",
    "gap": "independent losses with a gap",
    "gap-hard": "hard gap",
    "half-space": "half spaces",
    "halving": "halving experts",
    "halving-slow": "slow halving",
    "halving-transient": "transient halving",
    "hard-arms": "hard arms",
    "hetero-consensus": "heterogeneous consensus",
    "huber-kink": "smoothed norm kink",
    "lasso-easy": "sparse regression",
    "lasso-population": "sparse regression, fresh records",
    "leader-swap": "swapping leaders",
    "linear": "fixed linear loss",
    "linear-population": "linear loss, fresh records",
    "logistic-risk": "logistic regression",
    "lower-bound": "lower-bound instance",
    "network": "network design",
    "norm-kink": "norm kink",
    "norm-kink-risk": "geometric median",
    "polarisation": "polarisation",
    "quadratic-population": "quadratic loss, fresh records",
    "quadratic-risk": "quadratic risk",
    "random-kink": "random kinks",
    "random-linear": "random linear losses",
    "realizable-direction": "realizable directions",
    "realizable-quadratic": "realizable quadratic",
    "ridge-logistic": "ridge logistic regression",
    "shortest-path": "shortest paths",
    "smooth-quadratic": "moving quadratics",
    "top-k": "top-k recommendation",
    "weather-risk": "weather",
}
SETS: Final = {
    "ball": "ball",
    "coverage": "coverage polytope",
    "experts": "simplex of experts",
    "flow": "flow polytope",
    "grouped-l1": "grouped l1 ball",
    "interpolation": "interpolation ball",
    "l1-ball": "l1 ball",
    "nuclear": "nuclear-norm ball",
    "partition-matroid": "partition matroid",
    "sign-polytope": "polytope of sign vectors",
    "spanning-trees": "spanning-tree polytope",
}
PRINTED: Final = "printed"


def display_names() -> dict[str, str]:
    """Identifier -> what people write, of everything in the project.

    Keys: `learner`; `learner.variant` (the name with the variant's words, where they tell it from others of the
    learner); `.variant` (these words alone); `stream:name`; `set:name`.
    """
    names = {f"set:{name}": text for name, text in SETS.items()}
    for family in FAMILIES.values():
        for stream in family.streams:
            names[f"stream:{stream}"] = STREAMS.get(stream, _spaced(stream))
        for name, learner in family.learners.items():
            names[name] = LEARNERS.get(name, learner.card.title)
            for variant in learner.card.variants:
                words = names[f".{variant}"] = VARIANTS.get(variant, _spaced(variant))
                alone = not words or (variant == "corrected" and not _has_printed(learner.card.variants))
                names[f"{name}.{variant}"] = names[name] if alone else f"{names[name]}, {words}"
    return names


def _has_printed(variants: Iterable[str]) -> bool:
    """Whether 'corrected' needs saying."""
    return any(PRINTED in variant for variant in variants)


def _spaced(identifier: str) -> str:
    return identifier.replace("-", " ")
