"""Compute the privacy loss by age of an item."""

from dpregret.core import stamped
from dpregret.workflows.expiry import loss_by_age
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--output"""
    stamped.write(loss_by_age(), asked.output, asked.stamp)
