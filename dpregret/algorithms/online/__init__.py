"""Constrained online convex optimisation: Lou & Cheung 2020 and what it is compared with."""
