"""What pages show of learners, streams and experiments: displayed names, and the facts for the table of winners.

Titles are on the cards of learners and on the classes of streams and sets. Many learners share the names of variants,
so these are in `variants.yaml`; a variant that is not listed there is shown as its identifier without hyphens.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpregret.core.yaml_source import read_source
from dpregret.datasets.risks import FRESH, STORED
from dpregret.paper_figs.judge.runs import OPTIONS
from dpregret.paper_figs.winners.table import OBLIVIOUS, RECORDS, STOCHASTIC, ExperimentFacts, Facts, StreamFacts
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.config import Config

VARIANTS: Final[dict[str, str]] = read_source(Path(__file__).with_name("variants.yaml")).data
FEEDBACK: Final = {"online": "full", "bandits": "bandit", "experts": "experts", "erm": "erm"}
"""Family -> what its learners see, in one word; a new family is called by its own name."""
POPULATION: Final = "population"
"""The same for `erm` where excess risk is that of the law from which fresh records are drawn."""
FEEDBACKS: Final = (*FEEDBACK.values(), POPULATION)
"""Kinds of feedback that `advise` knows."""
TRAITS: Final = {"strongly-convex": "strongly convex", "best-loss": "realizable", "quadratic-sums": "", "phases": "",
          "epochs": "", STORED: "", FRESH: ""}  # fmt: skip
"""Trait of a stream -> its label; empty where it says how losses are computed, not what they are."""


def display_names() -> dict[str, str]:
    """Identifier -> displayed name, for everything in the project.

    Keys: `learner`; `learner.variant` (the name with the variant's words, where they distinguish it from others of the
    learner); `.variant` (these words alone); `stream:name`; `set:name`.
    """
    from dpregret.algorithms.geometry import SETS

    names = {f"set:{name}": getattr(domain, "title", "") or _spaced(name) for name, domain in SETS.items()}
    names["set:experts"] = "simplex of experts"
    for family in FAMILIES.values():
        for stream, source in family.streams.items():
            names[f"stream:{stream}"] = source.title or _spaced(stream)
        for name, learner in family.learners.items():
            names[name] = learner.card.title
            for variant in learner.card.variants:
                names[f".{variant}"] = VARIANTS.get(variant, _spaced(variant))
                label = VARIANTS.get(f"{name}.{variant}", names[f".{variant}"])
                distinguishes = variant != "corrected" or any("printed" in name for name in learner.card.variants)
                names[f"{name}.{variant}"] = f"{names[name]}, {label}" if label and distinguishes else names[name]
    return names


def _spaced(identifier: str) -> str:
    return identifier.replace("-", " ")


def feedback_of(family: str, stream: Any) -> str:
    """The part of a stream (a class) that learners of a family see."""
    return POPULATION if FRESH in stream.traits else FEEDBACK.get(family, family)


def family_of(feedback: str) -> str:
    """The family whose learners see that."""
    if feedback == POPULATION:
        return "erm"
    return next((family for family, word in FEEDBACK.items() if word == feedback), feedback)


def facts(config: Config, refuted: Mapping[str, str]) -> Facts:
    """Facts of all experiments of a configuration."""
    experiments, streams = {}, {}
    for paper, settings in config.papers.items():
        for name, experiment in settings.experiments.items():
            if not FAMILIES[experiment.family].compared:
                continue
            classes = FAMILIES[experiment.family].streams
            feedback = {stream: feedback_of(experiment.family, classes[stream]) for stream in experiment.streams}
            options = {**experiment.options, **getattr(experiment, "set_options", {})}
            fixed = {key: value for key, value in options.items() if key not in OPTIONS}
            experiments[paper, name] = ExperimentFacts(feedback, fixed)
            for stream in experiment.streams:
                streams[feedback[stream], stream] = stream_facts(experiment.family, classes[stream])
    learners = [item for family in FAMILIES.values() for item in family.learners.items()]
    return Facts(experiments, streams, refuted, frozenset(name for name, kind in learners if kind.stochastic_only))


def stream_facts(family: str, stream: Any) -> StreamFacts:
    """Loss class and kind of a stream (a class)."""
    traits = [TRAITS.get(trait, trait) for trait in sorted(stream.traits)]
    if family == "online" and "smooth" not in stream.traits:
        traits.append("kinked")
    traits += ["real data"] * stream.real
    stored = family == "erm" and FRESH not in stream.traits
    kind = RECORDS if stored else STOCHASTIC if stream.stochastic or FRESH in stream.traits else OBLIVIOUS
    return StreamFacts(", ".join(filter(None, traits)) or "convex", kind)
