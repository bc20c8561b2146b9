"""Compute the privacy loss by age of an item."""

from dpregret.workflows.expiry import loss_by_age
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--settings --output"""
    loss_by_age(asked.settings, asked.output)
