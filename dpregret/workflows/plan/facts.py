"""What pages show of learners, streams and experiments: displayed names, and the facts for the table of winners.

Titles are on the cards of learners and on the classes of streams and sets. Variants go by the same few words in many
learners, so these are in `variants.yaml`; whatever is not listed is its identifier without hyphens.
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
"""Family -> what its learners see, in one word; a new family goes by its own name."""
POPULATION: Final = "population"
"""The same of `erm` where excess risk is that of the law which fresh records are drawn from."""
WORDS: Final = {"strongly-convex": "strongly convex", "best-loss": "realizable", "quadratic-sums": "", "phases": "",
         "epochs": "", STORED: "", FRESH: ""}  # fmt: skip
"""Trait of a stream -> its word; nothing where it says how losses are computed, not what they are."""


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
                told = variant != "corrected" or any("printed" in other for other in learner.card.variants)
                names[f"{name}.{variant}"] = f"{names[name]}, {words}" if words and told else names[name]
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
        for name, each in settings.experiments.items():
            if not FAMILIES[each.family].compared:
                continue
            known = FAMILIES[each.family].streams
            feedback = {stream: feedback_of(each.family, known[stream]) for stream in each.streams}
            options = {**each.options, **getattr(each, "set_options", {})}
            fixed = {key: value for key, value in options.items() if key not in OPTIONS}
            experiments[paper, name] = ExperimentFacts(feedback, fixed)
            for stream in each.streams:
                streams[feedback[stream], stream] = stream_facts(each.family, known[stream])
    learners = [each for family in FAMILIES.values() for each in family.learners.items()]
    return Facts(experiments, streams, refuted, frozenset(name for name, each in learners if each.stochastic_only))


def stream_facts(family: str, stream: Any) -> StreamFacts:
    """Loss class and kind of a stream (a class)."""
    words = [WORDS.get(trait, trait) for trait in sorted(stream.traits)]
    if family == "online" and "smooth" not in stream.traits:
        words.append("kinked")
    words += ["real data"] * stream.real
    stored = family == "erm" and FRESH not in stream.traits
    kind = RECORDS if stored else STOCHASTIC if stream.stochastic or FRESH in stream.traits else OBLIVIOUS
    return StreamFacts(", ".join(filter(None, words)) or "convex", kind)
