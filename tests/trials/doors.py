"""The front doors that trials knock at: each is given something odd and returns an exit code with all that was said."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("workflows", "datasets", "paper_figs")]
import conftest as usual  # noqa: E402 - that of tests/workflows
import local_server as web  # noqa: E402
import test_fuzz_damage as damaged  # noqa: E402
import test_mentions as mentioned  # noqa: E402

from dpregret.core.errors import ConfigError  # noqa: E402
from dpregret.datasets import examples, fetch  # noqa: E402
from dpregret.paper_figs.compare import gate  # noqa: E402
from dpregret.paper_figs.judge.runs import RunsError, read_runs  # noqa: E402
from dpregret.paper_figs.tables.write import show  # noqa: E402
from dpregret.paper_figs.text import formats  # noqa: E402
from dpregret.workflows.audit.plan import load_settings  # noqa: E402
from dpregret.workflows.plan.cross_references import text_problems  # noqa: E402
from dpregret.workflows.plan.limits import given_limits  # noqa: E402
from dpregret.workflows.plan.load import check_options, load_config  # noqa: E402
from dpregret.workflows.run import (  # noqa: E402
    archive,
    compare,
    sums,
)

Door = Callable[[Path], tuple[int, str]]
"""Given an empty folder: exit code, and what was said."""
Change = Callable[[Path], object]
PAPER = "lou_cheung_2020"
WORKS = "works: "


def refused(load: Callable[[], object]) -> tuple[int, str]:
    """As the command does it: a refusal is code 1 and its words."""
    try:
        return 0, str(load())
    except (ConfigError, ValueError, OSError) as fault:
        return 1, str(fault)


def command(main: Callable[[list[str]], int], *words: object) -> tuple[int, str]:
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        code = main([str(word) for word in words])
    return code, told.getvalue()


def settings(experiment: Mapping[str, Any] = {}, **top: Any) -> dict[str, Any]:
    """A small valid configuration with changes; None takes a key away."""
    own = {**copy.deepcopy(usual.EXPERIMENT), **experiment}
    content: dict[str, Any] = {
        "profile": "mine",
        "seed": 7,
        "papers": {
            PAPER: {"experiments": {"horizon": {key: value for key, value in own.items() if value is not None}}}
        },
        **top,
    }
    return content


def config(experiment: Mapping[str, Any] = {}, **top: Any) -> Door:
    return text(yaml.safe_dump(settings(experiment, **top), sort_keys=False))


def text(content: str | bytes, name: str = "mine.yaml") -> Door:
    """A configuration file as it is written."""

    def load(folder: Path) -> tuple[int, str]:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return refused(lambda: load_config(folder / name).profile)

    return load


def options(**given: Any) -> Door:
    """What stands behind --config."""
    return lambda _: refused(lambda: (check_options(given), given_limits(given.get("limits"))))


def paper(part: str, **changes: Any) -> Door:
    """A paper of one claim, table row, figure, gain and erratum, some keys of one of them changed; None: without."""

    def load(folder: Path) -> tuple[int, str]:
        reference = {"experiment": "typical", "stream": "norm-kink"}
        content: dict[str, Any] = {
            "claim": mentioned.CLAIM,
            "row": mentioned.ROW,
            "reference": reference,
            "erratum": mentioned.ERRATUM,
            "figure": {"type": "regret", "experiment": "horizon"},
            "exact": {"crossing": "A table."},
            "top": {},
        }
        merged = {**content[part], **changes}
        content[part] = {key: value for key, value in merged.items() if value is not None}
        table = {"caption": "t", "reference": content["reference"], "rows": [content["row"]]}
        claims = {
            "title": "t",
            "claims": [content["claim"]],
            "tables": [table],
            "figures": [content["figure"]],
            "exact": content["exact"],
            **content["top"],
        }
        (folder / "claims.yaml").write_text(yaml.safe_dump(claims, sort_keys=False))
        (folder / "errata.yaml").write_text(yaml.safe_dump({"errata": [content["erratum"]]}, sort_keys=False))
        known = {name: [each] for name, each in mentioned.FULL.papers[PAPER].experiments.items()}
        try:
            found = text_problems(folder, known)
        except ConfigError as fault:
            found = fault.problems
        return min(1, len(found)), "\n".join(found) or "accepted"

    return load


def audit(**learners: Any) -> Door:
    def load(folder: Path) -> tuple[int, str]:
        (folder / "some.yaml").write_text(yaml.safe_dump({"delta": 1e-6, "learners": learners}))
        return refused(lambda: load_settings(folder / "some.yaml").delta)

    return load


def gated(change: Change, main: Callable[[list[str]], int] = gate.main, which: str = "now") -> Door:
    """Results equal to their reference, one side changed, through the gate (or `make compare`, `make table`)."""

    def judge(folder: Path) -> tuple[int, str]:
        for name in ("now", "kept"):
            damaged.shortened(folder / name / damaged.KEPT.name)
        change(folder / which / damaged.KEPT.name)
        words: dict[Any, tuple[object, ...]] = {
            gate.main: (folder / "now", folder / "kept"),
            show.main: (damaged.KEPT.name, "--results", folder / which, "--lines", "claim"),
        }
        return command(main, *words.get(main, (folder / "now", folder / "kept")))

    return judge


def edit(name: str, old: str, new: str, count: int = 1) -> Change:
    """Replace in a file; what is not there to be replaced is a fault of the trial."""

    def change(folder: Path) -> None:
        content = (folder / name).read_text(encoding="utf-8")
        assert old in content, f"{name} has no {old!r}"
        (folder / name).write_text(content.replace(old, new, count), encoding="utf-8")

    return change


def cell(name: str, row: int, column: str, value: str) -> Change:
    """Write one cell of a table."""

    def change(folder: Path) -> None:
        frame = pd.read_csv(folder / name, dtype=str, keep_default_na=False)
        frame.loc[row, column] = value
        frame.to_csv(folder / name, index=False)

    return change


def cut(name: str, length: int | float) -> Change:
    """Keep the first bytes of a file, or that share of them."""

    def change(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: length if isinstance(length, int) else int(length * len(content))])

    return change


def put(name: str, content: bytes | str = b"") -> Change:
    return lambda folder: (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def gone(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def verified(change: Change, packed: bool = False) -> Door:
    """A finished run, changed, through `verify`; packed: as an archive."""

    def look(folder: Path) -> tuple[int, str]:
        root = damaged.finished(folder / "run")
        if not packed:
            change(root)
            return command(sums.main, root)
        archive.write(root, folder / "a.tar.gz")
        change(folder)
        return command(sums.main, folder / "a.tar.gz")

    return look


def rows(change: Callable[[pd.DataFrame], pd.DataFrame] | None = None, after: Change = lambda _: None) -> Door:
    """A file of runs, its rows changed before it is written, or the file afterwards."""

    def read(folder: Path) -> tuple[int, str]:
        made = damaged.ROWS if change is None else change(damaged.ROWS)
        damaged.parquet.write(made, folder / "a.parquet", damaged.parquet.Stamp("", ""))
        after(folder)
        try:
            return 0, f"{len(read_runs(folder))} rows"
        except RunsError as fault:
            return 1, str(fault)

    return read


def npz(change: Change) -> Door:
    def read(folder: Path) -> tuple[int, str]:
        examples.save(folder / "tiny.npz", damaged.np.eye(3), damaged.np.ones(3))
        change(folder)
        return refused(lambda: examples.read(folder / "tiny.npz").labels)

    return read


@contextlib.contextmanager
def served() -> Iterator[str]:
    """A server on this machine that does whatever the path asks for."""
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1"
    with ThreadingHTTPServer(("127.0.0.1", 0), web.Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        web.Handler.over.clear()
        try:
            yield f"http://127.0.0.1:{running.server_port}"
        finally:
            web.Handler.over.set()
            running.shutdown()
            thread.join()


def fetched(path: str = "tiny.txt", before: Change = lambda _: None, **declared: Any) -> Door:
    """A declared download; whatever is refused must leave nothing but what was there before."""

    def bring(folder: Path) -> tuple[int, str]:
        (folder / "data").mkdir()
        before(folder / "data")
        with served() as url:
            place = web.Place(url, folder / "data", folder / "sources.yaml")
            place.declare(path, **declared)
            there = place.contents()
            code, said = command(fetch.main, "tiny", "--to", place.folder, "--sources", place.sources)
            left = place.contents() - there
        return code, said + (f" LEFT BEHIND: {left}" if code and left else "")

    return bring


def shown(form: str, name: str) -> Door:
    """A cell of odd text, written and read as a stranger's program would see it."""

    def write(folder: Path) -> tuple[int, str]:
        frame = pd.DataFrame({"a": [name], "n": [1.0]})
        if form == "csv":
            formats.write_csv(frame, folder / "x.csv")
            return 0, (folder / "x.csv").read_text(encoding="utf-8")
        made = {
            "markdown": lambda: formats.markdown(frame),
            "html": lambda: formats.html(frame, "x", name),
            "latex": lambda: formats.latex(frame, "x", name),
            "terminal": lambda: formats.terminal(frame, name),
        }
        return 0, made[form]()

    return write


@contextlib.contextmanager
def empty() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


__all__ = [name for name in dir() if not name.startswith("_")]
COMPARE, TABLE = compare.main, show.main
