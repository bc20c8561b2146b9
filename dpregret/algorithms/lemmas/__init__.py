"""What papers say on the way to their theorems: lemmas of noise, computed or drawn, where nothing is learnt."""
