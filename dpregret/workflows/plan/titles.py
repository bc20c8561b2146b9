"""Displayed names of learners, variants, streams and sets.

Titles are on the cards of learners and on the classes of streams and sets. Variants go by the same few words in many
learners, so these are here; whatever is not listed is its identifier without hyphens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dpregret.workflows.families import FAMILIES

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
PRINTED: Final = "printed"


def display_names() -> dict[str, str]:
    """Identifier -> what people write, of everything in the project.

    Keys: `learner`; `learner.variant` (the name with the variant's words, where they distinguish it from others of the
    learner); `.variant` (these words alone); `stream:name`; `set:name`.
    """
    from dpregret.algorithms.geometry import SETS

    names = {f"set:{name}": getattr(each, "title", "") or _spaced(name) for name, each in SETS.items()}
    names["set:experts"] = "simplex of experts"
    for family in FAMILIES.values():
        for stream, source in family.streams.items():
            names[f"stream:{stream}"] = source.title or _spaced(stream)
        for name, learner in family.learners.items():
            names[name] = learner.card.title
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
