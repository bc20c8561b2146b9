"""Are results the same on every processor? Plays a profile's jobs under forced kernels and compares all their bytes.

``python -m dpregret.workflows.processors [PROFILE]`` (smoke by default; or a file) runs each job in four environments:
OpenBLAS's kernel, NumPy's vector units, numba's processor and the C library's are all made those of an older machine.
What differs is told by job and column, with the largest relative difference; the exit status is 1 where anything does.
Timings are left out.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from numpy._core import _multiarray_umath as features  # type: ignore[attr-defined]

from dpregret.workflows.config import experiment_jobs, load_config

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


def play(profile: str, out: Path) -> None:
    """All jobs of the profile, one file each, by this process."""
    from dpregret.workflows.job import run_job

    named = Path(profile) if profile.endswith(".yaml") else ROOT / "workflows" / "config" / f"{profile}.yaml"
    config = load_config(named, check=False)
    for job in experiment_jobs(config):
        run_job(config, *job, output=out / f"{'.'.join(job)}.parquet", data_dir=ROOT / "datasets" / "cache")


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


def main(profile: str = "smoke") -> int:
    """Play everywhere, compare with the last processor, print what differs."""
    reference, failed = list(PROCESSORS)[-1], False
    with tempfile.TemporaryDirectory() as folder:
        for name in PROCESSORS:
            out = Path(folder) / name
            out.mkdir()
            command = [sys.executable, "-m", "dpregret.workflows.processors", profile, str(out)]
            subprocess.run(command, env=environment(name), check=True, cwd=ROOT)
        for path in sorted((Path(folder) / reference).iterdir()):
            for name in PROCESSORS:
                apart = differences(pd.read_parquet(path), pd.read_parquet(Path(folder) / name / path.name))
                failed |= bool(apart)
                if apart:
                    told = ", ".join(f"{column} {size:.1e}" for column, size in apart.items())
                    print(f"{path.stem}: {name} differs from {reference}: {told}")
    print("something differs" if failed else f"every job of {profile} has the same bytes under {', '.join(PROCESSORS)}")
    return int(failed)


if __name__ == "__main__":
    given = sys.argv[1:]
    if len(given) == 2:
        play(given[0], Path(given[1]))
    else:
        sys.exit(main(*given))
