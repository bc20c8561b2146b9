"""Reproducibility benchmark for differentially private online and projection-free optimisation."""

from pathlib import Path

__version__ = "0.1.0"

if not Path(__file__).with_name("algorithms").is_dir():
    raise ImportError(
        "dpregret/algorithms is no folder: this checkout has no symbolic links; "
        "git config core.symlinks true, then git checkout -- dpregret"
    )
