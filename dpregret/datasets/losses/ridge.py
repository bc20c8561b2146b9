"""Base of losses of a linear prediction."""

from typing import Any, Protocol

from dpregret.numerics.arrays import Array


class RidgeLinear(Protocol):
    """f(x) = phi(<features, x>; labels) + (mu/2) |x|^2, made of (features, labels, mu), with the scalar loss phi.

    ``features`` has shape (runs, d) or (d,), ``labels`` shape (runs,) or ().
    """

    features: Array
    labels: Array
    strong_convexity: float

    @staticmethod
    def bend() -> float:
        """Upper bound on the second derivative of phi."""

    def __call__(self, features: Array, labels: Array, strong_convexity: float) -> Any:
        """The loss of one round."""

    @staticmethod
    def loss(scores: Array, labels: Array) -> Array:
        """Return phi(scores; labels), elementwise."""

    @staticmethod
    def slope(scores: Array, labels: Array) -> Array:
        """Return the derivative of phi in the score, elementwise."""

    @staticmethod
    def steepest(reach: float) -> float:
        """Largest |derivative| of phi over scores in [-reach, reach] and admissible labels."""
