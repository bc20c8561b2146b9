"""Are results the same on every processor? Runs a profile under forced kernels and compares runs, claims and checks.

``python -m dpregret.workflows.run.processors [PROFILE]`` (ci by default; or a file) runs it as on each of four
processors: OpenBLAS's kernel, NumPy's vector units, numba's target and the C library's are all made those of that
machine, or of an older one. Two machines without fused multiply-add play the smoke profile, since the C library then
does every such product in software, a hundred times slower. Differences are listed by file and column, with the largest
relative difference; the exit status is 1 where anything does. Timings are left out. A processor that needs what this
one has not is left out and reported; at least two must be left.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy._core import _multiarray_umath as features  # type: ignore[attr-defined]

from dpregret.core import parquet
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.paper_names import profile_path

ROOT = Path(__file__).resolve().parents[3]
EVERY: Final = tuple(unit for unit in features.__cpu_dispatch__ if features.__cpu_features__[unit])
"""NumPy's vector units beyond those that it always uses, as far as this processor has them."""
WIDE: Final = tuple(unit for unit in EVERY if unit not in {"X86_V3", "AVX2", "FMA3"})


class Processor(NamedTuple):
    """The forced kernels, and the features that this machine needs for them."""

    blas: str  # OpenBLAS's kernel
    disabled: tuple[str, ...]  # NumPy's vector units that are switched off
    target: str  # numba's processor
    library: str  # what the C library may not use
    needs: frozenset[str] = frozenset({"AVX2", "FMA3"})


PROCESSORS: Final = {
    "mixed": Processor("Nehalem", EVERY, "x86-64-v3", ""),
    "haswell": Processor("Haswell", WIDE, "haswell", "-AVX512F"),
    "zen": Processor("Zen", WIDE, "znver2", "-AVX512F"),
    "skylake": Processor("SkylakeX", (), "skylake-avx512", "", frozenset({"AVX512_SKX"})),
}
"""Name -> kernels; mixed: libraries as on an old machine, compiled code as on a newer one."""
UNFUSED: Final = {
    "oldest": Processor("Prescott", EVERY, "generic", "-AVX2,-FMA,-AVX512F,-AVX,-AVX_Usable,-AVX2_Usable", frozenset()),
    "nehalem": Processor("Nehalem", EVERY, "nehalem", "-AVX2,-FMA,-AVX512F", frozenset()),
}
"""Machines without fused multiply-add."""


def supported() -> set[str]:
    """Vector units that this processor has and NumPy uses."""
    return {unit for unit, present in features.__cpu_features__.items() if present}


def environment(name: str) -> dict[str, str]:
    """Variables that force the kernels of a processor."""
    forced = {**PROCESSORS, **UNFUSED}[name]
    return {
        **os.environ, "OPENBLAS_CORETYPE": forced.blas, "NPY_DISABLE_CPU_FEATURES": " ".join(forced.disabled),
        "NUMBA_CPU_NAME": forced.target, "NUMBA_CPU_FEATURES": "", "OPENBLAS_NUM_THREADS": "1",
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={forced.library}" if forced.library else "",
    }  # fmt: skip


def play(profile: Path, out: Path, environment: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    """All runs of the profile, claims and checks, made in the folder `out`: file -> table.

    Raises subprocess.CalledProcessError where a job fails.
    """
    config = load_config(profile, check=False)
    results = Path("results") / config.profile
    tables = [f"{results / paper / name}.csv" for paper in config.papers for name in ("claims", "checks")]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(out)]
    command += [*tables, "--config", f"profile={profile}", "--cores", str(os.cpu_count() or 1), "--quiet", "all"]
    subprocess.run(command, env=dict(environment), check=True, cwd=ROOT)
    rows = sorted(path.relative_to(out).as_posix() for path in (out / results).glob("*/runs/*.parquet"))
    return {**{name: pd.read_csv(out / name) for name in tables}, **{name: parquet.read(out / name) for name in rows}}


def differences(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, float]:
    """Column -> largest relative difference, of the columns whose bytes differ; inf where they are not numbers."""
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


def compare(profile: Path, names: Sequence[str]) -> list[str]:
    """Play a profile as on each processor; a line for every file that differs from that of the last one."""
    with tempfile.TemporaryDirectory() as folder:
        played = {name: play(profile, Path(folder) / name, environment(name)) for name in names}
    *others, last = names
    found = [
        f"{file}: {name} differs from {last}: {', '.join(f'{column} {size:.1e}' for column, size in apart.items())}"
        for name in others
        for file, table in played[last].items()
        if (apart := differences(table, played[name][file]))
    ]
    if not found:
        print(f"all {len(played[last])} tables of {profile.stem} have the same numbers as on {', '.join(names)}")
    return found


def main(profile: str = "ci") -> int:
    """Play everywhere, compare, print what differs."""
    named = Path(profile).absolute() if profile.endswith(".yaml") else profile_path(profile)
    here = [name for name, forced in {**UNFUSED, **PROCESSORS}.items() if forced.needs <= supported()]
    for name in sorted({*UNFUSED, *PROCESSORS} - set(here)):
        print(f"{name} is left out: this processor cannot play it")
    fused = [name for name in here if name in PROCESSORS]
    if len(fused) < 2:
        print("nothing is compared: at least two processors with fused multiply-add are needed", file=sys.stderr)
        return 2
    found = [*compare(named, fused), *compare(profile_path("smoke"), [*UNFUSED, fused[-1]])]
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
