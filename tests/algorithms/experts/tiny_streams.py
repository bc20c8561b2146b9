"""Blocks of losses for tests of expert learners."""

import numpy as np

from dpregret.algorithms.experts.expert_learner import Block, ExpertProblem
from dpregret.datasets.expert_streams import ExpertBlock


def constant(losses: list[float], rounds: int) -> ExpertBlock:
    return ExpertBlock(np.array(losses)[None, None], rounds)


def varying(losses: np.ndarray) -> ExpertBlock:
    """losses: (rounds, runs, groups)."""
    return ExpertBlock(losses, len(losses))


def halving(experts: int, horizon: int) -> tuple[ExpertProblem, list[Block]]:
    """Half of the living experts die in each of log2 d phases, for ever."""
    phases = int(np.log2(experts))
    sizes = np.array([experts >> (phase + 1) for phase in range(phases)] + [1], dtype=float)
    blocks: list[Block] = []
    for phase in range(phases):
        rounds = horizon // phases if phase < phases - 1 else horizon - (phases - 1) * (horizon // phases)
        blocks.append(constant([float(group <= phase) for group in range(phases + 1)], rounds))
    return ExpertProblem(sizes, horizon, 0.0), blocks


def expanded(blocks: list[Block]) -> list[Block]:
    """The same losses, a block a round."""
    rounds = []
    for block in blocks:
        losses = np.broadcast_to(block.losses, (block.rounds, *block.losses.shape[1:]))
        rounds += [ExpertBlock(each[None], 1) for each in losses]
    return rounds
