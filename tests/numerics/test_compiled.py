"""Kernels give the same bits on every processor, and are kept on disk without going stale."""

import os
import platform
import sys
import types
import uuid
from pathlib import Path

import pytest
from commands import ran
from numba.core.extending import _Intrinsic

from dpregret.datasets import risk_squared
from dpregret.numerics import intrinsics

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = """
import hashlib, numba, numpy as np
from dpregret.algorithms.privacy import WindowBuffers, WindowRoot
from dpregret.numerics.elementary import exp, log, power_of
from dpregret.numerics.random import addresses, exponential_rows, fill_normals
from dpregret.numerics.sums import product, vecdot
power = numba.njit(lambda values: np.array([power_of(each, 1.37) for each in values.ravel()]))
generators = [np.random.default_rng([1, run]) for run in range(3)]
drawn, waits = np.empty((3, 50, 29)), np.empty((3, 50, 7))
fill_normals(addresses(generators), drawn)
for generator, rows in zip(addresses(generators), waits):
    exponential_rows(generator, rows, False)
square = product(drawn[0].T, drawn[1])
found = [drawn, waits, square, vecdot(drawn, drawn), exp(30 * drawn), log(waits), power(waits)]
for made in (WindowRoot(16), WindowRoot(200), WindowBuffers(64)):
    state, units = made.init(64, 2, 9), np.random.default_rng(0).standard_normal((5, 64, 2, 9))
    found += [made.next(state, block, None).copy() for block in units] + [np.array(made.nodes_per_item)]
print(hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in found)).hexdigest())
"""


def run(code, root=ROOT, **environment):
    done = ran([sys.executable, "-c", code], root, PYTHONPATH=str(root), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.nightly
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names a processor of one family")
def test_bits_do_not_depend_on_the_target():
    """Nor on what this processor has beyond a plain one: vectors of four and more, fused products and sums, which a
    library computes elsewhere, rounded once.

    `make processors` compares whole runs.
    """
    assert run(NUMBERS, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="", OPENBLAS_CORETYPE="Nehalem") == run(NUMBERS)


STUDY = {
    "helper": """
from dpregret.numerics.compiled import inlined

@inlined
def bend(square, radius):
    return (radius * radius) * ((1.0 + square / (radius * radius)) ** 0.5 - 1.0)
""",
    "study": """
from typing import NamedTuple
import numpy as np
from dpregret.numerics.compiled import generic, specialised
from helper import bend

class PseudoHuber(NamedTuple):
    radius: float

value_of = generic("value_of")

@value_of.add
def _(loss: PseudoHuber, x):
    return bend(x * x, loss.radius)

def total(loss, points):
    found = 0.0
    for place in range(len(points)):
        found += value_of(loss, points[place])
    return found

loops = specialised(total, PseudoHuber)
found = loops(PseudoHuber(0.5), np.linspace(-1.0, 2.0, 41))
print(sum(loops.kernel.stats.cache_misses.values()), found.hex())
""",
}


def studied(folder, **edited):
    """A loop, and a text with a helper in another file, all from outside of the package; kernels lie beside it."""
    folder.mkdir(exist_ok=True)
    for name, text in (STUDY | edited).items():
        (folder / f"{name}.py").write_text(text)
    environment = {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}", "NUMBA_CACHE_DIR": str(folder.parent / "kernels")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # an edit of the same second and length would be taken for no edit
    return ran([sys.executable, "-c", "import study"], ROOT, **environment)


def test_an_edit_compiles_what_uses_it_and_a_copy_nothing(tmp_path):
    """Of the loop itself, and far away; what was compiled before lies in the same folder."""
    (missed, first), again = (studied(tmp_path / name).stdout.split() for name in ("one", "copy"))
    assert (missed, again) == ("1", ["0", first])
    before = {*tmp_path.rglob("*.nbc")}
    assert len(before) == 3  # the loop, the text, its helper
    studied(tmp_path / "one", study=STUDY["study"].replace("found = 0.0", "found = 0.5"))
    (written,) = {*tmp_path.rglob("*.nbc")} - before
    assert written.name.startswith("study.total")
    missed, edited = studied(tmp_path / "one", helper=STUDY["helper"].replace("- 1.0)", "- 0.5)")).stdout.split()
    assert missed == "1"
    assert edited != first


TEXT = """
from typing import NamedTuple
import numpy as np
from dpregret.numerics.compiled import compiled, generic, inlined
from dpregret.numerics.intrinsics import fused
WEIGHT, TABLE, STEPS = 2.0, np.array([1.0, 3.0]), [19.0]
class Line(NamedTuple):
    slope: float
at = generic("at")
@at.add
def _(line: Line, x):
    return 5.0 * line.slope * x
@inlined
def far(x):
    return 7.0 * x
def made(power):
    @inlined
    def near(x):
        "Near."
        return far(x) ** power
    return near
near = made(11)
@compiled
def whole(line, x):
    "Whole."
    return fused(at(line, near(x)), WEIGHT, TABLE[1]) + made_here(x) + STEPS[0]
def made_here(x):
    return at(Inner(13.0), x)
class Inner(NamedTuple):
    slope: float
@at.add
def _(line: Inner, x):
    return 17.0 * x
"""


def test_all_that_decides_code_names_its_folder_and_nothing_else_does(monkeypatch):
    from dpregret.numerics.compiled import _digest

    for name in ("GENERICS", "_KERNELS"):
        monkeypatch.setattr(f"dpregret.numerics.compiled.{name}", [])
    monkeypatch.setitem(sys.modules, "text", None)

    def named(text, line=True):
        module = types.ModuleType("text")
        sys.modules["text"] = module
        exec(text, vars(module))
        return _digest(module.whole.py_func, [module.Line] if line else [])

    plain = named(TEXT)
    assert named("\n\n" + TEXT.replace('"Near."', '"Nearer."').replace('"Whole."', '"All."')) == plain
    edits = [(f"{number}.0", f"{number}.5") for number in (2, 3, 5, 7, 13, 17, 19)]
    edits += [("(11)", "(12)"), ("    slope", "    rise: float\n    slope"), ("* x\ndef made(", "/ x\ndef made(")]
    found = [named(TEXT.replace(old, new, 1)) for old, new in edits]
    assert len({plain, named(TEXT, line=False), *found}) == 2 + len(edits)


def test_what_an_operator_is_compiled_as_is_part_of_what_uses_it(monkeypatch):
    from dpregret.algorithms.online.ftal import Leader, step
    from dpregret.numerics.compiled import _digest
    from dpregret.numerics.quotients import Divisor

    before = _digest(step.kinds[Leader], [Leader])
    monkeypatch.setattr(Divisor, "compiled", lambda number, by: number * by.reciprocal)
    assert _digest(step.kinds[Leader], [Leader]) != before


def test_no_text_of_the_package_holds_an_address_by_which_no_other_process_would_find_it():
    from dpregret.core.oracles import ByMethods
    from dpregret.numerics.compiled import GENERICS, _Text

    texts = [(text, kind) for each in GENERICS for kind, text in each.kinds.items()]
    assert ByMethods in {kind for _, kind in texts}
    assert not [line for text, kind in texts for line in _Text(text, [kind]).lines if " at 0x" in line]


def test_text_that_cannot_be_compiled_is_named_with_its_line(tmp_path):
    broken = STUDY["study"].replace("bend(x * x, loss.radius)", "nothing_of_that_name(x)")
    done = studied(tmp_path / "one", study=broken)
    last, line = done.stderr.splitlines()[-1], 1 + broken.splitlines().index("    return nothing_of_that_name(x)")
    assert done.returncode == 1
    assert "Uncompilable" in last
    assert f"study.py, line {line}" in last
    assert "nothing_of_that_name" in last


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs permissions of POSIX")
def test_kernels_are_not_read_from_a_folder_that_is_open_to_others(tmp_path, monkeypatch):
    import dpregret.numerics.compiled as it

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = it._cache()
    assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="is open to others than the code is"):
        private = it._cache()
    assert (private.parent != tmp_path, private.stat().st_mode & 0o777) == (True, 0o700)
    private.rmdir()


def test_texts_of_one_name_are_of_one_thing() -> None:
    """Compiled code is known by module, name and types: two texts of one name would be mistaken for each other."""
    import dpregret.algorithms.geometry
    import dpregret.algorithms.online.wdp_cocop
    import dpregret.datasets.losses  # noqa: F401
    from dpregret.numerics.compiled import GENERICS

    texts = [text for each in GENERICS for text in each.kinds.values()]
    assert len(texts) > 30
    assert len({(text.__module__, text.__qualname__) for text in texts}) == len(set(texts))


def test_no_instruction_draws_its_identity_in_the_middle_of_a_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba's draws take it from `random` where a system has no libuuid, which a learner would be blamed for."""
    monkeypatch.setattr(uuid, "uuid1", lambda: pytest.fail("drawn at the first compilation"))
    found = [value for names in (vars(intrinsics), vars(risk_squared)) for value in names.values()]
    ours = {value for value in found if isinstance(value, _Intrinsic)}
    assert len(ours) >= 9
    assert all(value._uuid for value in ours)
