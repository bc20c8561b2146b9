"""Are results the same on every processor? Runs a profile under forced kernels and compares runs, claims and checks.

``python -m dpregret.workflows.processors [PROFILE]`` (ci by default; or a file) runs it in four environments:
OpenBLAS's kernel, NumPy's vector units, numba's processor and the C library's are all made those of an older machine.
What differs is told by file and column, with the largest relative difference; the exit status is 1 where anything does.
Timings are left out.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy._core import _multiarray_umath as features  # type: ignore[attr-defined]

from dpregret.core import stamped
from dpregret.workflows.config import experiment_jobs, load_config
from dpregret.workflows.known import profile_path

ROOT = Path(__file__).resolve().parents[1]
WIDE = [each for each in features.__cpu_dispatch__ if each not in {"X86_V3", "AVX2", "FMA3"}]
PROCESSORS = {
    "oldest": ("Prescott", features.__cpu_dispatch__, "generic", "-AVX2,-FMA,-AVX512F,-AVX,-AVX_Usable,-AVX2_Usable"),
    "nehalem": ("Nehalem", features.__cpu_dispatch__, "nehalem", "-AVX2,-FMA,-AVX512F"),
    "haswell": ("Haswell", WIDE, "haswell", "-AVX512F"),
    "skylake": ("SkylakeX", [], "skylake-avx512", ""),
}
"""Name -> OpenBLAS's kernel, NumPy's vector units that are switched off, numba's processor, glibc's that are off."""


def supported() -> set[str]:
    """Vector units that this processor has and NumPy uses."""
    return {unit for unit, present in features.__cpu_features__.items() if present}


def environment(name: str) -> dict[str, str]:
    """Variables that force the kernels of a processor."""
    blas, disabled, target, library = PROCESSORS[name]
    return {
        **os.environ, "OPENBLAS_CORETYPE": blas, "NPY_DISABLE_CPU_FEATURES": " ".join(disabled),
        "NUMBA_CPU_NAME": target, "NUMBA_CPU_FEATURES": "", "OPENBLAS_NUM_THREADS": "1",
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={library}" if library else "",
    }  # fmt: skip


def play(profile: Path, out: Path, environment: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    """All runs of the profile, claims and checks, made in the folder `out`: file -> table.

    Raises subprocess.CalledProcessError where a job fails.
    """
    config = load_config(profile, check=False)
    results = Path("results") / config.profile
    tables = [f"{results / paper / name}.csv" for paper in config.papers for name in ("claims", "checks")]
    rows = [
        f"{results / paper / 'runs' / experiment / learner}.{variant}.parquet"
        for paper, experiment, learner, variant in experiment_jobs(config)
    ]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(out)]
    command += [*tables, *rows, "--config", f"profile={profile}", "--cores", str(os.cpu_count() or 1), "--quiet", "all"]
    subprocess.run(command, env=dict(environment), check=True, cwd=ROOT)
    return {**{name: pd.read_csv(out / name) for name in tables}, **{name: stamped.read(out / name) for name in rows}}


def differences(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, float]:
    """Column -> largest relative difference, of the columns whose bytes differ; inf where they are no numbers."""
    found: dict[str, float] = {}
    for column in first.columns:
        if column.startswith("seconds") or first[column].equals(second[column]):
            continue
        one, other = first[column], second[column]
        if not (pd.api.types.is_numeric_dtype(one) and one.notna().equals(other.notna())):
            found[column] = np.inf
            continue
        apart: pd.Series = (one - other).abs() / np.maximum(np.maximum(one.abs(), other.abs()), np.finfo(float).tiny)
        found[column] = float(apart.max())
    return found


def main(profile: str = "ci") -> int:
    """Play everywhere, compare with the last processor, print what differs."""
    named = Path(profile).absolute() if profile.endswith(".yaml") else profile_path(profile)
    with tempfile.TemporaryDirectory() as folder:
        played = {name: play(named, Path(folder) / name, environment(name)) for name in PROCESSORS}
    *others, newest = PROCESSORS
    failed = False
    for name in others:
        for file, table in played[newest].items():
            if apart := differences(table, played[name][file]):
                failed = True
                told = ", ".join(f"{column} {size:.1e}" for column, size in apart.items())
                print(f"{file}: {name} differs from {newest}: {told}")
    same = f"all {len(played[newest])} tables of {named.stem} have the same numbers under {', '.join(PROCESSORS)}"
    print("something differs" if failed else same)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
