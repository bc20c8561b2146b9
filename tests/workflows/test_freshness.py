"""What was made is fresh by its key and content; jobs leave all or nothing; finished runs are listed, old files pruned.

The same in whole runs: test_snakemake.py.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plays import NO_CODE, ended, given, part_of, plan_of, run_script

from dpregret.core.files import remove
from dpregret.workflows.plan import keys
from dpregret.workflows.plan.read import Plan
from dpregret.workflows.run import archive, publish
from dpregret.workflows.run.freshness import EDITED, FAILED, MISSING, NEW, OUTDATED, Record, contents, stale_items
from dpregret.workflows.run.stage import Job, make

RESULTS = Path("results/mine")
CLAIMS, FIGURES, PAGE = RESULTS / "p" / "claims.csv", RESULTS / "p" / "figures", RESULTS / "report.html"
OUTPUTS = {"p/tables": [CLAIMS], "p/figures": [FIGURES], "report": [PAGE]}
INPUTS = {"p/tables": [], "p/figures": ["p/tables"], "report": ["p/tables", "p/figures"]}
Write = Callable[[Job], object]


def plan_with(folder: Path, **changed: str) -> Plan:
    """A plan of a table, figures of it, and a page of both. changed: item -> its key, in place of its name."""
    ends = {name: changed.get(name.replace("/", "_"), f"key-of-{name[-6:]}") for name in OUTPUTS}
    items = {name: [key, NO_CODE, INPUTS[name]] for name, key in ends.items()}
    return plan_of(folder, items=items, everything=list(items), papers={"p": "p"})


def write(job: Job) -> None:
    """A table with another one beside it, figures in a folder of a folder, or a page."""
    if job.name == "p/figures":
        (job.file / "sub").mkdir(parents=True)
        (job.file / "a.png").write_text("a")
        (job.file / "sub" / "b.csv").write_text("b")
    else:
        job.file.write_text(f"{job.name}\n")
    if job.name == "p/tables":
        (job.out / "table_2.csv").write_text("2\n")


def made(plan: Plan, item: str, writer: Write = write, keep: bool = False) -> tuple[Any, str]:
    """Exit code and log of the job that makes an item; Snakemake has removed the outputs before."""
    for output in OUTPUTS[item]:
        remove(output)
    snakemake = given(plan, item, OUTPUTS[item])
    return ended(lambda: make(snakemake, writer, keep), Path(snakemake.log[0]))


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan of which everything is made."""
    monkeypatch.chdir(tmp_path)
    found = plan_with(tmp_path)
    assert stale_items(found) == dict.fromkeys(OUTPUTS, NEW)
    assert [made(found, item)[0] for item in OUTPUTS] == [0, 0, 0]
    assert stale_items(found) == {}
    return found


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def link(path: Path, to: Path) -> None:
    """A link in the place of a file or folder."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(to.absolute())


def swap(path: Path) -> None:
    """A folder in the place of a file."""
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, tuple[Callable[[], object], dict[str, str]]] = {
    "nothing": (lambda: None, {}),
    "dates": (lambda: os.utime(CLAIMS, (0, 0)), {}),
    "edited": (lambda: CLAIMS.write_text("p/tablas\n"), {"p/tables": EDITED}),
    "edited beside": (lambda: (RESULTS / "p" / "table_2.csv").write_text("3\n"), {"p/tables": EDITED}),
    "lost beside": (lambda: (RESULTS / "p" / "table_2.csv").unlink(), {"p/tables": MISSING}),
    "lost in a folder": (lambda: (FIGURES / "sub" / "b.csv").unlink(), {"p/figures": MISSING}),
    "more in a folder": (lambda: (FIGURES / "more.png").touch(), {"p/figures": EDITED}),
    "a stamp of Snakemake": (lambda: (FIGURES / ".snakemake_timestamp").touch(), {}),
    "lost folder": (lambda: shutil.rmtree(FIGURES), {"p/figures": MISSING}),
    "a folder in its place": (lambda: swap(PAGE), {"report": EDITED}),
    "a link to another file": (lambda: link(PAGE, CLAIMS), {"report": EDITED}),
    "a link to nothing": (lambda: link(PAGE, Path("nowhere")), {"report": MISSING}),
    "a link to itself": (lambda: link(PAGE, PAGE), {"report": MISSING}),
    "a link to a folder": (lambda: link(RESULTS / "p" / "table_2.csv", Path("theirs")), {"p/tables": EDITED}),
    "a folder that is a link": (lambda: link(FIGURES, Path("theirs")), {"p/figures": EDITED}),
    "a pipe": (lambda: (PAGE.unlink(), os.mkfifo(PAGE)), {"report": EDITED}),
    "two": (lambda: (PAGE.unlink(), CLAIMS.write_text("")), {"p/tables": EDITED, "report": MISSING}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_content_decides_and_no_date(plan: Plan, damage: str) -> None:
    """The job that makes it again follows no link of somebody else."""
    theirs = Path("theirs")
    theirs.mkdir()
    (theirs / "a.png").write_text("theirs")
    change, wanted = DAMAGE[damage]
    right = tree(RESULTS) if not wanted else {}
    change()
    assert {name: why.partition(":")[0] for name, why in stale_items(plan).items()} == wanted
    assert [made(plan, name)[0] for name in wanted] == [0] * len(wanted)
    assert stale_items(plan) == {}
    assert tree(theirs) == {"a.png": b"theirs"}
    assert not wanted or not any(path.is_symlink() for path in RESULTS.rglob("*"))
    assert wanted or tree(RESULTS) == right or damage == "a stamp of Snakemake"


def test_an_item_with_another_key_is_outdated_and_no_other(plan: Plan, tmp_path: Path) -> None:
    other = plan_with(tmp_path, p_tables="another")
    assert stale_items(other) == {"p/tables": OUTDATED}
    plan.record("report").write_text("{")
    assert stale_items(other) == {"p/tables": OUTDATED, "report": NEW}


def raising(fault: BaseException) -> Write:
    def write_and_fail(job: Job) -> None:
        write(job)
        raise fault

    return write_and_fail


@pytest.mark.parametrize("fault", [ValueError("no"), SystemExit(2), MemoryError(), KeyboardInterrupt()])
def test_a_job_that_fails_leaves_nothing_and_its_item_is_stale(plan: Plan, fault: BaseException) -> None:
    before = tree(RESULTS)
    code, log = made(plan, "p/figures", raising(fault))
    assert code == {SystemExit: 2, KeyboardInterrupt: 130}.get(type(fault), 1)
    assert ("Traceback" in log) == isinstance(fault, Exception)
    assert set(before) - set(tree(RESULTS)) == {"p/figures/a.png", "p/figures/sub/b.csv"}
    assert list((RESULTS / "made" / "parts").iterdir()) == []
    assert set(stale_items(plan)) == {"p/figures"}


def test_an_output_that_was_not_written_fails_the_job(plan: Plan) -> None:
    code, log = made(plan, "report", lambda job: None)
    assert code == 1
    assert "report.html was not written" in log


def test_what_is_made_of_something_that_is_not_fresh_is_not_fresh(plan: Plan) -> None:
    """A failed play, or an edit while the job is at work."""
    assert made(plan, "p/tables", lambda job: (write(job), False)[1])[0] == 0
    assert CLAIMS.exists(), "it is shown"
    assert [made(plan, item)[0] for item in ("p/figures", "report")] == [0, 0]
    assert stale_items(plan) == dict.fromkeys(OUTPUTS, FAILED)
    assert [made(plan, item)[0] for item in OUTPUTS] == [0, 0, 0]

    def while_edited(job: Job) -> None:
        write(job)
        CLAIMS.write_text("edited")

    assert made(plan, "report", while_edited)[0] == 0
    assert set(stale_items(plan)) == {"p/tables", "report"}


def test_an_empty_folder_is_an_output(plan: Plan) -> None:
    """Of a paper without figures."""
    assert made(plan, "p/figures", lambda job: None)[0] == 0
    assert list(FIGURES.iterdir()) == []
    assert "p/figures" not in stale_items(plan)
    FIGURES.rmdir()
    assert stale_items(plan)["p/figures"].startswith(MISSING)


def test_a_file_that_is_written_no_more_is_removed(plan: Plan) -> None:
    made(plan, "p/tables", lambda job: job.file.write_text("p/tables\n"))
    assert not (RESULTS / "p" / "table_2.csv").exists()
    assert stale_items(plan) == {}


def test_a_job_of_another_plan_is_refused(plan: Plan, tmp_path: Path) -> None:
    snakemake = given(plan, "report", OUTPUTS["report"])
    plan_with(tmp_path, report="another")
    code, log = ended(lambda: make(snakemake, write), Path(snakemake.log[0]))
    assert code == 1
    assert "is not in the plan" in log


def stored(key: str) -> Path:
    return keys.STORE / key[:2] / key


def test_what_is_kept_is_copied_and_never_trusted_unseen(plan: Plan) -> None:
    item, folder = "p/figures", stored(plan.items["p/figures"].key)
    refuse = raising(ValueError("made again"))
    assert made(plan, item, keep=True)[0] == 0
    right, kept = tree(FIGURES), tree(folder)
    assert kept == {f"figures/{name}": content for name, content in right.items()}
    assert made(plan, item, refuse, keep=True)[0] == 0, "taken from the store"
    assert tree(FIGURES) == right
    for damage in (
        lambda: (folder / "figures" / "a.png").write_text("b"),
        lambda: (folder / "figures" / "a.png").unlink(),
        lambda: (folder / "figures" / "more").touch(),
        lambda: folder.with_suffix(".json").unlink(),
        lambda: folder.with_suffix(".json").write_text("[]"),
    ):
        damage()
        assert made(plan, item, refuse, keep=True)[0] == 1
        assert made(plan, item, keep=True)[0] == 0
        assert (tree(FIGURES), tree(folder)) == (right, kept)


# What a command leaves and says


def listed() -> set[str]:
    return set(archive.listed(RESULTS))


def test_a_finished_run_is_listed_and_one_at_work_is_not(plan: Plan) -> None:
    publish.begin(plan)
    assert publish.ended(plan, [], [], 60.0).startswith("dpregret: done in 1.0 minutes by the clock, ")
    assert archive.faults(RESULTS) == []
    assert listed() == {
        "p/claims.csv", "p/table_2.csv", "p/figures/a.png", "p/figures/sub/b.csv", "report.html", "plan.json",
        "origin.json",
    }  # fmt: skip
    whole = (RESULTS / "SHA256SUMS").read_text()
    assert publish.is_listed(plan, {})
    for name in ("SHA256SUMS", "origin.json", "plan.json"):
        (RESULTS / name).write_text("{}")
        assert not publish.is_listed(plan, {})
        publish.begin(plan)
        publish.ended(plan, [], [], 60.0)
        assert archive.faults(RESULTS) == []
        assert publish.is_listed(plan, {})
    for line in whole.splitlines(keepends=True):
        (RESULTS / "SHA256SUMS").write_text(whole.replace(line, ""))
        assert not publish.is_listed(plan, {}), "a line is lost"
        (RESULTS / "SHA256SUMS").write_text(whole.replace(line, f"{'0' * 64}{line[64:]}"))
        assert not publish.is_listed(plan, {}), "a line is edited"
    (RESULTS / "SHA256SUMS").write_text(f"{whole}{'0' * 64}  more.csv\n")
    assert not publish.is_listed(plan, {}), "a line is added"
    publish.begin(plan)
    assert not (RESULTS / "SHA256SUMS").exists()


def test_what_becomes_stale_after_a_run_stays_listed(plan: Plan) -> None:
    """The list is of the last run: a command that has nothing to do leaves it."""
    publish.begin(plan)
    publish.ended(plan, [], [], 60.0)
    assert publish.is_listed(plan, {"report": OUTDATED})
    PAGE.unlink()
    publish.begin(plan)
    publish.ended(plan, [], [], 60.0)
    assert publish.is_listed(plan, stale_items(plan)), "of a part"
    assert not publish.is_listed(plan, {}), "as soon as it is there again"


LOST: dict[str, Callable[[], object]] = {
    "a file": PAGE.unlink,
    "a folder": lambda: shutil.rmtree(FIGURES),
    "its content": lambda: (FIGURES / "a.png").write_text("edited"),
}


@pytest.mark.parametrize("damage", LOST)
def test_done_is_said_only_of_what_is_there_and_fresh(plan: Plan, damage: str) -> None:
    """As after --touch, and where a play failed; a file that is no result, as the mark, may go."""
    outputs = [str(file) for files in OUTPUTS.values() for file in files] + [".snakemake/freshness/mark"]
    publish.begin(plan)
    assert publish.ended(plan, outputs, [], 60.0).startswith("dpregret: done")
    LOST[damage]()
    publish.begin(plan)
    with pytest.raises(SystemExit, match="dpregret: not done: 1 output"):
        publish.ended(plan, outputs, [], 60.0)
    assert not (RESULTS / "SHA256SUMS").exists()


NOT_MADE: dict[tuple[str, ...], str] = {
    ("-n", "results/mine/p/claims.cvs"): "results/mine/p/claims.cvs: no rule makes this file; "
    "did you mean 'results/mine/p/claims.csv'?",
    ("./results/mine/p/figures/b.png",): "./results/mine/p/figures/b.png: no rule makes this file; "
    "request its folder results/mine/p/figures",
    (
        "results/p/claims.csv",
    ): "results/p/claims.csv: no rule makes this file; did you mean 'results/mine/p/claims.csv'?",
    ("results/mine/p/claims.csv", "--cores", "2"): "",
    ("all", "-n", "--config", "profile=mine"): "",
    ("--report", "results/page.html"): "",
}


@pytest.mark.parametrize("words", NOT_MADE)
def test_a_file_that_no_rule_makes_is_one_line_with_the_nearest(words: tuple[str, ...], tmp_path: Path) -> None:
    made_files = [str(file) for files in OUTPUTS.values() for file in files]
    patterns = ["results/mine/{paper,a|b}/claims.csv", "results/mine/{paper}/{name,[a-z]+}.parquet", *made_files]
    plan = plan_of(tmp_path, parts={"p": {}})
    assert publish.not_made(plan, words, patterns) == NOT_MADE[words]


def test_a_part_that_was_requested_is_listed(plan: Plan) -> None:
    PAGE.unlink()
    publish.begin(plan)
    assert publish.ended(plan, [str(CLAIMS)], [], 60.0).startswith("dpregret: done")
    assert archive.described(RESULTS)["part"] is True
    assert archive.faults(RESULTS) == []
    assert "report.html" not in listed()
    assert made(plan, "report")[0] == 0
    publish.ended(plan, [], [], 60.0)
    assert "part" not in archive.described(RESULTS)


def test_a_failed_play_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = {"p": {"0123": part_of(Path("e.parquet"))}}
    plan = plan_of(tmp_path, parts=parts, batches={"p": {"e": {"parts": ["0123"]}}})
    assert publish.failures(plan) == []
    receipt = RESULTS / "made" / "plays" / "p" / "e.csv"
    receipt.parent.mkdir(parents=True)
    receipt.write_text('experiment,learner,variant,fault\ne,l,v,"it hangs, for ever"\ne,k,v,\n')
    assert publish.failures(plan) == ["failed: p, e: l.v: it hangs, for ever"]


def test_old_files_are_pruned_and_nothing_that_a_plan_names(
    plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(plan, "p/figures", keep=True)
    publish.begin(plan)
    publish.ended(plan, [], [], 60.0)
    before = tree(Path("results"))
    log = RESULTS / "log" / "report.log"
    log.parent.mkdir()
    log.touch()
    old = [
        keys.file_of("0" * 64),
        stored("1" * 64) / "figures" / "a.png",
        RESULTS / "made" / "plays" / "q" / "e.csv",
        RESULTS / "log" / "q" / "tables.log",
        RESULTS / "benchmark" / "q" / "tables.tsv",
        RESULTS / "q" / "claims.csv",
        keys.STORE / "00" / f".{'0' * 64}.parquet.{'a' * 32}.part",
    ]
    for path in old:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")
        os.utime(path, (0, 0))
    records = {stored("1" * 64).with_suffix(".json"): old[1:2], plan.record("q/tables"): [old[2], old[5]]}
    for record, files in records.items():
        Record("a-key", tuple(map(str, files)), contents(files)).write(record)
    old += records
    mine = [
        RESULTS / "p" / "notes.txt",
        RESULTS / "log" / "notes.log",
        RESULTS / "made" / "mine.csv",
        RESULTS / "made" / "records" / "mine.json",
        keys.STORE / "mine.parquet",
        keys.STORE / "00" / "mine.parquet",
        stored("1" * 64) / "notes.txt",
        RESULTS / "made" / f".claims.csv.{'b' * 32}.part",  # which a run may be writing
        tmp_path / "thesis.tex",
    ]
    for path in mine:
        path.write_text("of the user")
    edited = RESULTS / "q" / "checks.csv"
    edited.write_text("as dpregret wrote it")
    Record("a-key", (str(edited),), contents([edited])).write(plan.record("q/checks"))
    edited.write_text("as the user wrote it")
    Record("a-key", (str(mine[-1]),), contents(mine[-1:])).write(plan.record("q/elsewhere"))
    shutil.copytree(RESULTS, "results/copy")
    copy = tree(Path("results/copy"))
    assert publish.main(dry_run=True) == 0
    assert all(path.exists() for path in old)
    assert publish.main() == 0
    assert f"{len(old) + 1} files" in capsys.readouterr().out
    assert not any(path.exists() for path in old)
    assert tree(Path("results/copy")) == copy
    shutil.rmtree("results/copy")
    plan.record("q/elsewhere").unlink()
    for path in (*mine, edited):
        path.unlink()
    log.unlink()
    assert tree(Path("results")) == before


PLANS: dict[str, Callable[[Path], object]] = {
    "another version": lambda file: file.write_text(json.dumps({"format": 0})),
    "no mapping": lambda file: file.write_text("[]"),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:100]),
    "bytes": lambda file: file.write_bytes(b"\xff\xfe"),
    "nested": lambda file: file.write_text("[" * 100_000),
    "emptied": lambda file: file.write_text(json.dumps({**json.loads(file.read_text()), "parts": {}, "items": {}})),
    "without a digest": lambda file: file.write_text(file.read_text().replace('"digest"', '"dig"')),
    "another type": lambda file: file.write_text(json.dumps({**json.loads(file.read_text()), "items": 7})),
    "a folder": swap,
    "a dangling link": lambda file: (file.unlink(), file.symlink_to("nowhere")),
}


@pytest.mark.parametrize("damage", PLANS)
def test_nothing_is_pruned_beside_a_plan_that_is_not_as_it_was_written(
    damage: str, plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    made(plan, "p/figures", keep=True)
    publish.begin(plan)
    assert publish.main(dry_run=True) == 0
    PLANS[damage](RESULTS / "plan.json")
    before = tree(Path("results"))
    assert capsys.readouterr().out.startswith("0 files")
    assert publish.main() == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("dpregret: prune: nothing is deleted: results/mine/plan.json: ")
    assert tree(Path("results")) == before


def test_a_plan_in_results_names_no_folder_of_a_user(plan: Plan, tmp_path: Path) -> None:
    theirs = plan_of(tmp_path, read={str(tmp_path / "mine.yaml"): "0"}, items={}, papers={})
    publish.begin(theirs)
    assert str(tmp_path) not in (RESULTS / "plan.json").read_text()
    assert publish.kept_plan(RESULTS / "plan.json").content["profile"] == "mine"


def test_data_are_made_under_their_name_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wildcard of the rule is the name of a data set and its key; the data set is found by the former."""
    monkeypatch.chdir(tmp_path)
    stem = "diabetes.0123456789ab"
    item, file = f"data/{stem}", Path("results/store/data") / f"{stem}.npz"
    snakemake = given(plan_of(tmp_path, items={item: ["0123", NO_CODE, []]}), item, [file])
    snakemake.wildcards.name = stem
    code, log = run_script("data", snakemake)
    assert code == 0, log
    with np.load(file) as content:
        assert {len(content[name]) for name in ("features", "labels")} == {442}
