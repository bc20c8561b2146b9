"""Are results the same on every processor? Runs a profile under forced kernels and compares runs, claims and checks.

``python -m dpregret.workflows.run.processors [PROFILE]`` (ci by default) runs it as on each of four processors:
OpenBLAS's kernel, NumPy's vector units, numba's target and the C library's are all made those of that machine, or of an
older one. Two machines without fused multiply-add play the smoke profile, since the C library then does every such
product in software, a hundred times slower. Differences are listed by file and column, with the largest relative
difference; the exit status is 1 where anything does. Timings are left out. A processor that needs what this one has not
is left out and reported; at least two must be left.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy._core import _multiarray_umath as features  # type: ignore[attr-defined]

from dpregret.core import parquet

ROOT: Final = Path(__file__).resolve().parents[3]
EVERY: Final = tuple(unit for unit in features.__cpu_dispatch__ if features.__cpu_features__[unit])
"""NumPy's vector units beyond those that it always uses, as far as this processor has them."""
WIDE: Final = tuple(unit for unit in EVERY if unit not in {"X86_V3", "AVX2", "FMA3"})
PROCESSORS: Final = {
    "mixed": ("Nehalem", EVERY, "x86-64-v3", "", {"AVX2", "FMA3"}),
    "haswell": ("Haswell", WIDE, "haswell", "-AVX512F", {"AVX2", "FMA3"}),
    "zen": ("Zen", WIDE, "znver2", "-AVX512F", {"AVX2", "FMA3"}),
    "skylake": ("SkylakeX", (), "skylake-avx512", "", {"AVX512_SKX"}),
}
"""Name -> OpenBLAS's kernel, NumPy's units that are switched off, numba's processor, what the C library may not use,
what this machine needs for them. mixed: libraries as on an old machine, compiled code as on a newer one."""
UNFUSED: Final = {
    "oldest": ("Prescott", EVERY, "generic", "-AVX2,-FMA,-AVX512F,-AVX,-AVX_Usable,-AVX2_Usable", set[str]()),
    "nehalem": ("Nehalem", EVERY, "nehalem", "-AVX2,-FMA,-AVX512F", set[str]()),
}
"""Machines without fused multiply-add."""


def environment(name: str) -> dict[str, str]:
    """Variables that force the kernels of a processor."""
    blas, disabled, target, library, _ = {**PROCESSORS, **UNFUSED}[name]
    return {
        **os.environ, "OPENBLAS_CORETYPE": blas, "NPY_DISABLE_CPU_FEATURES": " ".join(disabled),
        "NUMBA_CPU_NAME": target, "NUMBA_CPU_FEATURES": "", "OPENBLAS_NUM_THREADS": "1",
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={library}" if library else "",
    }  # fmt: skip


def play(profile: str, out: Path, environment: dict[str, str]) -> dict[str, pd.DataFrame]:
    """All runs of a profile, claims and checks, made in a folder: file -> table. Raises where a job fails."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(out)]
    command += ["--until", "tables", "--config", f"profile={profile}", "--cores", str(os.cpu_count() or 1), "-q", "all"]
    subprocess.run(command, env=environment, check=True, cwd=ROOT)
    made = out / "results" / "made"
    files = [*made.glob("runs/*/*.parquet"), *made.glob("tables/*/claims.csv"), *made.glob("tables/*/checks.csv")]
    return {
        file.relative_to(made).as_posix(): parquet.read(file) if file.suffix == ".parquet" else pd.read_csv(file)
        for file in files
    }


def differences(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, float]:
    """Column -> largest relative difference, of the columns whose bytes differ; inf where they are not numbers."""
    found: dict[str, float] = {}
    for column in first.columns:
        one, other = first[column], second[column]
        if column.startswith("seconds") or one.equals(other):
            continue
        found[column] = np.inf
        if pd.api.types.is_numeric_dtype(one) and one.notna().equals(other.notna()):
            apart: pd.Series = (one - other).abs() / np.maximum(one.abs(), other.abs()).clip(np.finfo(float).tiny)
            found[column] = float(apart.max())
    return found


def compare(profile: str, names: Sequence[str]) -> list[str]:
    """Play a profile as on each processor; a line for every file that differs from that of the last one."""
    with tempfile.TemporaryDirectory() as folder:
        *others, (_, last) = [(name, play(profile, Path(folder) / name, environment(name))) for name in names]
    found = [
        f"{file}: {name} differs from {names[-1]}: {', '.join(f'{key} {size:.1e}' for key, size in apart.items())}"
        for name, tables in others
        for file, table in last.items()
        if (apart := differences(table, tables[file]))
    ]
    if not found:
        print(f"all {len(last)} tables of {profile} have the same numbers as on {', '.join(names)}")
    return found


def main(profile: str = "ci") -> int:
    """Play everywhere, compare, print what differs."""
    has = {unit for unit, present in features.__cpu_features__.items() if present}
    for name in (name for name, forced in PROCESSORS.items() if not forced[-1] <= has):
        print(f"{name} is left out: this processor cannot play it")
    fused = [name for name, forced in PROCESSORS.items() if forced[-1] <= has]
    if len(fused) < 2:
        print("nothing is compared: at least two processors with fused multiply-add are needed", file=sys.stderr)
        return 2
    found = [*compare(profile, fused), *compare("smoke", [*UNFUSED, fused[-1]])]
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
