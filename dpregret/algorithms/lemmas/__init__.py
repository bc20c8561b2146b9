"""Lemmas of the papers: lemmas of noise, computed or drawn, where nothing is learnt."""
