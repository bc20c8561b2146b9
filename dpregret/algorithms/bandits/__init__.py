"""Bandit convex optimisation: Ene, Nguyen & Vladu 2021 and what it is compared with."""
