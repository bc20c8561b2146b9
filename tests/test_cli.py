"""The command `dpregret`: the Snakemake command that it becomes, what it hands on, and mistakes in one line."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner, Result

from dpregret import cli, study
from dpregret.core.errors import ConfigError
from dpregret.workflows.plan import config
from dpregret.workflows.plan.read import OF_MAINTENANCE
from dpregret.workflows.run import check, studies
from dpregret.workflows.run.again import finished

ROOT = Path(__file__).resolve().parents[1]


def call(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(cli.app, list(words), env=environment, prog_name="dpregret")


def mistake(*words: str) -> str:
    """What a command is refused with, which `core.boundary` prints."""
    found = call(*words).exception
    assert isinstance(found, ConfigError)
    return str(found)


COMMANDS = {
    "test": [], "audit-learners": [], "check": ["mine", "claim"], "advise": ["--epsilon", "1"], "data": [], "gate": [],
}  # fmt: skip
"""Commands that take limits of a study, with what else they need."""


@pytest.mark.parametrize("given", [["--limits", "import_seconds:60"], ["--limits=import_seconds:60"]])
@pytest.mark.parametrize("word", COMMANDS)
def test_limits_reach_all_processes_of_a_command_on_a_study(
    word: str, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounded: list[str | None] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(study, "FOLDER", tmp_path)
    monkeypatch.setenv(study.LIMITS, "")
    monkeypatch.setattr(config, "bound_imports", lambda: bounded.append(os.environ[study.LIMITS]))
    monkeypatch.setattr(cli, "resolve_name", lambda _: lambda **arguments: 3 + ("limits" in arguments))
    assert call(word, *COMMANDS[word], *given).exit_code == 3
    assert bounded == ["import_seconds:60"]
    assert call(word, *COMMANDS[word], "--limits").exit_code == 2
    monkeypatch.setattr(study, "FOLDER", None)
    assert "--limits: are those of a study" in mistake(word, *COMMANDS[word], *given)


@pytest.mark.parametrize(
    ("words", "name"),
    [(["check", "mine", "claim", "--figure"], "figure"), (["advise", "--epsilon", "1", "--results"], "results")],
)
def test_a_path_is_that_of_the_folder_where_it_was_typed(
    words: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command works in the folder of results: in a clone, its root."""
    given: list[tuple[Path, Path]] = []
    monkeypatch.setattr(cli, "resolve_name", lambda _: lambda **asked: given.append((Path.cwd(), asked[name])))
    monkeypatch.chdir(ROOT / "docs")
    assert call(*words, "here/it").exit_code == 0
    monkeypatch.chdir(ROOT)
    assert call(*words, "here/it").exit_code == 0
    assert given == [(ROOT, ROOT / "docs" / "here" / "it"), (ROOT, Path("here/it"))]


def test_what_is_missing_of_a_study_is_named_with_the_command_that_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be typed in any folder: the study is named in full, not as a paper, which another folder has not."""
    folder = tmp_path / "my study"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(study, "FOLDER", folder)
    monkeypatch.setattr(cli, "papers", lambda: ["mine"])
    monkeypatch.setattr(cli, "profile_path", lambda _: ROOT / "pyproject.toml")
    makes = f"`dpregret run '{folder}'` makes"
    assert makes in mistake("report", "mine", "--profile", "study")
    assert makes in call("table", "mine", "--profile", "study").stderr
    with pytest.raises(ConfigError, match=re.escape(makes)):
        finished("mine", [Path("results/study")])
    assert study.command("report", profile="small") == f"dpregret report '{folder}' --profile small"
    monkeypatch.setattr(check, "papers", lambda: ["mine"])
    monkeypatch.setattr(check, "claims_of", lambda _: [])
    with pytest.raises(ConfigError, match=f"`dpregret claims '{folder}'` lists all"):
        check.find("mine", "thm")
    monkeypatch.setattr(study, "FOLDER", None)
    assert study.command("run", "lou", "full") == study.command("run", "lou") == "dpregret run lou"
    assert study.command("run", "lou", "ci") == "dpregret run lou --profile ci"


@pytest.mark.parametrize("profile", ["/etc", "..", "../quick", "quick/../..", "here/...yaml", "QUICK"])
@pytest.mark.parametrize("words", [["table", "lou"], ["claims", "lou"], ["report"], ["figure", "lou", "name"]])
def test_the_name_of_a_profile_leads_to_no_other_folder(words: list[str], profile: str) -> None:
    assert mistake(*words, "--profile", profile).startswith("profile: ")


@pytest.mark.parametrize("profile", ["ful", "./no.yaml", "no/where"])
@pytest.mark.parametrize(
    "words", [["table", "lou"], ["claims", "lou"], ["report"], ["figure", "lou"], ["figure", "lou", "name"]]
)
def test_a_profile_that_there_is_not_is_refused_by_what_reads_results(words: list[str], profile: str) -> None:
    assert mistake(*words, "--profile", profile).startswith("profile: ")


def test_records_are_those_of_the_study_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    studies.write(tmp_path / "mine")
    for words, expected in (
        (["--data", "./mine", "--epsilon", "1"], ["--data", "", "--epsilon", "1"]),
        (["--data=./mine", "--epsilon", "1"], ["--data", "", "--epsilon", "1"]),
        (["./mine", "--data", "pay", "--epsilon", "1"], ["--data", "pay", "--epsilon", "1"]),
        (["--epsilon", "1", "./mine"], ["--epsilon", "1"]),
    ):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv(study.VARIABLE, "")
        inside = cli.within(["advise", *words]) or []
        assert inside[: len(expected) + 1] == ["advise", *expected]


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (["run", "./mine", "--profile", "own.yaml"], ["--profile", "HERE/own.yaml"]),
        (["run", "./mine", "--profile=own.yaml"], ["--profile=HERE/own.yaml"]),
        (["run", "./mine", "-p", "theirs.yaml"], ["-p", "theirs.yaml"]),  # not here: of the study
        (["run", "./mine", "-p", "quick"], ["-p", "quick"]),  # a name, whatever is called so here
        (["check", "./mine", "claim", "--figure", "a.png"], ["--figure", "HERE/a.png"]),
        (["advise", "./mine", "--results", "done"], ["--results", "HERE/done"]),
    ],
)
def test_files_beside_a_study_are_found_from_within_it(
    words: list[str], whole: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studies.write(tmp_path / "mine")
    for name in ("quick", "done"):
        (tmp_path / name).mkdir()
    for name in ("own.yaml", "mine/theirs.yaml"):
        (tmp_path / name).write_text("profile: own\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(study.VARIABLE, "")
    inside = " ".join(cli.within(words) or [])
    assert " ".join(whole).replace("HERE", str(tmp_path.resolve())) in inside


@pytest.mark.parametrize("folder", ["nowhere", "docs", "README.md"])
def test_a_variable_that_names_no_study_is_refused(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "FOLDER", ROOT / folder)
    with pytest.raises(SystemExit) as end:
        cli.main(["table", "lou"])
    assert end.value.code == 2
    assert all(
        line.startswith(f"dpregret: DPREGRET_STUDY: {ROOT / folder}") for line in capsys.readouterr().err.splitlines()
    )


def every_command() -> dict[str, Any]:
    return dict(typer.main.get_group(cli.app).commands)


def test_every_command_stands_in_the_help_below_its_heading() -> None:
    page = call("--help").stdout
    places = [page.index(f"\n{heading}:\n") for heading in cli.HEADINGS]
    assert places == sorted(places)
    for name, command in every_command().items():
        at = page.index(f"\n  {name} ")
        assert cli.HEADINGS[sum(place < at for place in places) - 1] == command.rich_help_panel
    assert not any(name in call("run", "--help").stdout for name in OF_MAINTENANCE)


def test_a_figure_names_the_run_whose_rows_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at, folder in enumerate(["results", "results/ci"]):
        runs = tmp_path / folder / "lou_cheung_2020" / "runs"
        runs.mkdir(parents=True)
        os.utime(runs, (at, at))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "workplace", lambda: tmp_path)
    monkeypatch.setattr("dpregret.workflows.run.again.redraw", lambda paper, results, to, names: [to / "a.pdf"])
    for options, run in (([], "results/ci"), (["--profile", "full"], "results")):
        found = call("figure", "lou", "printed_errata", "--to", "out", *options)
        assert (found.stdout, found.stderr) == ("out/a.pdf\n", f"dpregret: from the rows of {run}\n")


@pytest.mark.parametrize("name", ["", *every_command()])
def test_help_fits_into_eighty_columns(name: str) -> None:
    page = call(*[name] * bool(name), "--help", COLUMNS="80", TERMINAL_WIDTH="80").stdout
    assert [line for line in page.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", every_command())
def test_every_option_is_explained_and_completed(name: str) -> None:
    command = every_command()[name]
    named = [each for each in command.params if not each.name.startswith("_")]
    assert all(each.help for each in named if each.name not in ("help", "further"))
    assert command.get_short_help_str(200)
    long = {word for each in named for word in each.opts if word.startswith("--")}
    assert long <= set(offered(name, "--"))


def offered(*words: str) -> list[str]:
    """What a shell is offered for the last word."""
    asked = {"COMP_WORDS": " ".join(["dpregret", *words]), "COMP_CWORD": str(len(words))}
    return call(_DPREGRET_COMPLETE="complete_bash", **asked).stdout.split()


class BecomesError(Exception):
    """What a process would become."""


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words that replace the process; in the clone, and back afterwards."""
    words: list[str] = []

    def execv(_: str, command: list[str]) -> None:
        words.extend([*command, os.getcwd()])
        raise BecomesError

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(os, "execv", execv)
    return words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["lou_cheung", "--profile", "ci", "-c", "2"], "lou_cheung --cores 2 --config profile=ci"),
        (["--profile", "ci", "talwar", "-n", "--cores", "2"], "talwar --cores 2 --config profile=ci -n"),
        (["--limits", "off", "-c2", "--until", "play"], "--cores 2 --config profile=full limits=off --until play"),
        (["results/claims.csv", "-c2"], "results/claims.csv --cores 2 --config profile=full"),
    ],
)
def test_a_run_is_a_command_of_snakemake_with_targets_before_its_settings(
    become: list[str], words: list[str], expected: str
) -> None:
    done = call("run", *words)
    assert isinstance(done.exception, BecomesError), done.output
    module = "snakemake" if "--until" in words else "dpregret.workflows.run.progress"
    assert become == [sys.executable, "-P", "-m", "dpregret.core.interrupt", module, *expected.split(), str(ROOT)]
    assert done.stderr == f"$ snakemake {expected}\n"


def test_a_subfolder_will_do_and_files_are_named_from_there(
    become: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").touch()
    monkeypatch.chdir(ROOT / "docs")
    call("run", "../results/claims.csv", "--profile", os.path.relpath(tmp_path / "mine.yaml"), "-c1")
    seen = os.path.relpath(tmp_path / "mine.yaml", ROOT)
    assert become[5:] == ["results/claims.csv", "--cores", "1", "--config", f"profile={seen}", str(ROOT)]


@pytest.mark.parametrize(
    ("words", "name"),
    [(["run", "lou_chung"], "lou_cheung"), (["run", "-p", "fulll"], "full"), (["run", "-p", "no.yaml"], "no.yaml"),
     (["run", "--config", "profile=ci", "lou_cheung"], "--profile"), (["table", "nobody"], "nobody"),
     (["run", "pyproject.toml"], "new my_study --data pyproject.toml"), (["run", "./docs/examples"], "no study"),
     (["run", "nowhere/my.csv"], "no such file"), (["run", "./lou"], "./lou: no such file or folder"),
     (["run", "-p", "/etc"], "/etc: is a folder"), (["run", "--limits", ""], "--limits: must be off or name:number"),
     (["run", "--limits", "hour:1"], "did you mean 'hours'?"),
     (["run", "lou_cheung", "CITATION.cff", "-n"], "--data CITATION.cff"),
     (["run", "dpregret/workflows/config/ci.yaml"], "--profile"),
     (["table", "lou", "--number", "7"], "unknown table '7'"), (["verify", "nowhere"], "nowhere")],
)  # fmt: skip
def test_a_mistake_is_told_at_once_with_what_to_type(become: list[str], words: list[str], name: str) -> None:
    done = call(*words)
    assert done.exit_code in (1, 2)
    assert not become
    assert name in (done.stderr or str(done.exception))
    assert done.stdout == ""


def test_outside_a_clone_results_lie_in_the_working_folder(
    become: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call("run", "lou_cheung", "-c1")
    package = str(ROOT / "dpregret" / "Snakefile")
    assert become[5:9] == ["--snakefile", package, "lou_cheung", "--cores"]
    assert become[-1] == str(tmp_path)
    assert str(ROOT / "results" / "reference" / "lou_cheung_2020") in call("table", "lou").stdout
    assert mistake("report").startswith(f"{tmp_path}/results holds no report")
    assert mistake("report", "lou", "--profile", "smoke").endswith(
        "holds no report: `dpregret run lou_cheung_2020 --profile smoke` makes one"
    )


def test_a_paper_that_was_not_run_is_not_the_one_whose_name_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "results/reference/asi_et_al_2023_experts", tmp_path / "results/asi_et_al_2023_experts")
    for word in ("asi_et_al_2023_experts", "asi_et_al_2023_e"):
        assert call("table", word).stdout.startswith("results/asi_et_al_2023_experts/table_1.csv")
    assert str(ROOT / "results" / "reference" / "asi_et_al_2023") in call("table", "asi_et_al_2023").stdout


def test_the_newest_run_is_of_the_paper_that_a_short_name_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for second, paper in enumerate(("asi_et_al_2023", "asi_et_al_2023_experts"), 1):
        run = tmp_path / "results" / f"run_{second}"
        shutil.copytree(ROOT / "results/reference" / paper, run / paper)
        os.utime(run / paper / "claims.csv", (second, second))
    assert call("table", "asi").stdout.startswith("results/run_1/asi_et_al_2023/table_1.csv")


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a clone."""
    (tmp_path / "workflows" / "papers").mkdir(parents=True)
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_of_one_clone_does_not_run_another(other: Path) -> None:
    assert f"{other}/.venv/bin/dpregret" in mistake("run")


def test_the_newest_report_is_found(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "OWN", other.resolve())
    assert "holds no report" in mistake("report")
    pages = ["report.html", "lou_cheung_2020/report.html", "ci/report.html", "quick/lou_cheung_2020/report.html"]
    for seconds, page in enumerate(pages):
        path = other / "results" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (seconds, seconds))
    for words, index in [([], 3), (["--profile", "ci"], 2), (["-p", "full"], 1), (["lou", "-p", "full"], 1)]:
        assert call("report", *words).stdout == f"results/{pages[index]}\n"
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    assert call("report", "--open").exit_code == 0
    assert opened == [(other / "results" / pages[3]).as_uri()]


def test_papers_and_profiles_complete() -> None:
    assert offered("run", "lou") == ["lou_cheung"]
    assert offered("run", "audit_g") == ["audit_gate"]
    assert offered("table", "ta") == ["talwar"]
    assert offered("run", "--profile", "") == ["ci", "full", "quick"]
    assert offered("advise", "--feedback", "b") == ["bandit"]
    assert offered("advise", "--set", "hyper") == ["hypersimplex"]
    assert offered("advise", "--loss", "norm-k") == ["norm-kink", "norm-kink-risk"]
    assert offered("check", "lou", "thm3-T") == ["thm3-T", "thm3-T-smooth"]
    assert offered("check", "asi", "thm") == offered("figure", "zz", "") == []  # of no paper, and no line of an error
    assert offered("figure", "lou", "regret_ho") == ["regret_horizon", "regret_horizon_smooth"]
    assert offered("audit-learners", "wdp-cocop-g") == ["wdp-cocop-gamma", "wdp-cocop-gaussian"]
    assert offered("fetch", "a") == ["adult", "a9a"]
    assert "advise" in offered("a")


def test_results_are_pruned_in_the_clone_wherever_the_command_is_typed(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "OWN", other.resolve())
    old = other / "results" / "store" / "ab" / f"ab{'0' * 62}.parquet"
    old.parent.mkdir(parents=True)
    old.touch()
    monkeypatch.chdir(other / "workflows")
    assert call("prune", "-n", "--all").exit_code == 0
    assert old.exists()
    monkeypatch.chdir(other / "workflows")
    assert call("prune", "--all").exit_code == 0
    assert not old.exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "--cores", "two"], "'--cores' / '-c': must be a valid integer, not 'two'"),
        (["run", "--cores", "0"], "greater than or equal to 1, not '0'"),
        (["figure", "lou", "printed_errrata"], "unknown figure 'printed_errrata'; did you mean 'printed_errata'?"),
        (["data", "./nowhere"], "/nowhere: no such folder; `dpregret new "),
        (["data", "pyproject.toml"], "`dpregret new my_study --data pyproject.toml` makes one of it"),
        (["advise", "--epsilon", "1", "--data", "here.csv"], "'here.csv' is no folder of a study"),
        (["advise", "--epsilon", "1e99"], "--epsilon: '1e99': give a number from 1e-09 to 1e+09"),
        (["new", "mine", "--label", "y"], "--label: describes a file"),
        (["new", "mine", "--data", "my.csv", "--printed"], "--printed: is for the example"),
        (["fetch", "adlt"], "unknown source 'adlt'; did you mean 'adult'?"),
        (["compare", "CITATION.cff", "reference"], "CITATION.cff: neither a folder of results nor an archive"),
        (["verify", "CITATION.cff"], "CITATION.cff: neither a folder of results nor an archive"),
        (["audit", "ftal"], "ftal: there is no such file or folder; expected FILE.py:FUNCTION"),
        (["audit", ""], "'': expected FILE.py:FUNCTION"),
        (["new", "docs/examples"], "docs/examples: exists: give the name of a folder that is not there"),
        (["new", "docs/examples", "--data", "pyproject.toml"], "docs/examples: exists"),
        (
            ["advise", "--epsilon", "1", "--rounds", "9", "--dimension", "2", "--results", "docs"],
            "--results: docs: no ",
        ),
        (["audit", "docs:f"], "docs: is a folder, not a Python file"),
        (["audit", "docs/examples/my_noise.py:right", "--save", "docs"], "--save: docs is a folder"),
        (["audit", "docs/examples/my_noise.py:right", "--save", "/proc/x/a.npz"], "/proc/x: cannot be written"),
        (["table", "/etc"], "'/etc'"),
        (["claims", "../lou"], "'../lou'"),
        (["table", "lou", "--number", "99"], "unknown table '99', allowed: 1"),
        (["table", "lou", "--profile", "nonsense"], "unknown profile 'nonsense'"),
    ],
)
def test_a_mistake_is_one_line_that_names_what_was_wrong(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as end:
        cli.main(words)
    said = capsys.readouterr().err
    assert (end.value.code, said.count("\n")) == (2, 1)
    assert said.startswith("dpregret: ")
    assert named in said
