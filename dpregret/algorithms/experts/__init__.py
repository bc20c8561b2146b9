"""Prediction with expert advice: Asi, Feldman, Koren & Talwar 2023 and what it is compared with."""
