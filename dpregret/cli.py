"""The command `dpregret`, in a clone or in a folder of results.

It drives the same workflow as `snakemake`, whose command it prints, and hands the other arguments to the modules
that know them: an option is in one place. Only what a command needs is imported: completion and help are instant.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Final, NoReturn

import typer

from dpregret import study
from dpregret.core import boundary, interrupt
from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.files import reference
from dpregret.core.machine import processors
from dpregret.workflows.plan.read import TARGETS, papers, profile_names, profile_path, short_names

PACKAGE: Final = Path(__file__).resolve().parent
OWN: Final = PACKAGE.parent
"""The clone that holds this code, if there is one."""
FURTHER: Final = {"allow_extra_args": True, "ignore_unknown_options": True}
HELP: Final = {"help_option_names": ["-h", "--help"]}
ABOUT: Final = """What private online and projection-free algorithms cost, measured against what their papers claim.

\b
  dpregret run lou_cheung --profile quick    a first Table I with figures and report
  dpregret report --open                     look at it
  dpregret check lou_cheung thm3-T           one claim: plays what it needs, prints the verdict
  dpregret run                               everything: all papers, audit, report
  dpregret table lou                         the committed reference, where nothing has been run
  dpregret new my_study                      an algorithm, a loss and data of your own; then dpregret run ./my_study
  dpregret advise --rounds 1e5 --dimension 32 --epsilon 1 --window 1024

`dpregret COMMAND --help` says more. Everything but fetch works without a network."""

app = typer.Typer(help=ABOUT, context_settings=HELP, rich_markup_mode=None, pretty_exceptions_enable=False)


def stop(message: str) -> NoReturn:
    """One line, exit code 2."""
    typer.echo(f"dpregret: {message}", err=True)
    raise typer.Exit(2)


def workplace() -> Path:
    """The folder that results lie in: the clone around the working folder, else that folder itself.

    Ends with one line in another clone, whose code is not what this command would run.
    """
    here = Path.cwd()
    if study.FOLDER:
        return here
    for folder in (here, *here.parents):
        if (folder / "Snakefile").is_file() and (folder / "workflows" / "papers").is_dir():
            if folder.resolve() != OWN:
                stop(f"this command belongs to {OWN}; here start {folder}/.venv/bin/dpregret")
            return folder
    return here


def seen_from(root: Path, word: str) -> str:
    """A path relative to the clone; any other argument unchanged."""
    return os.path.relpath(word, root) if "/" in word or word.endswith((".yaml", ".yml")) else word


def results_of(profile: str) -> Path:
    """The folder of the results of a profile, relative to the clone."""
    name = Path(profile).stem if profile.endswith((".yaml", ".yml")) else profile
    return Path("results") if name == "full" else Path("results") / name


def targets() -> set[str]:
    """Valid targets besides files: papers, and rules that make one thing."""
    return {"all", *TARGETS, *papers(), *paper_names()}


def paper_names() -> list[str]:
    """Short names of the papers."""
    return sorted(short_names(papers()).values())


def profile_option(help_text: str) -> Any:
    """The option --profile, completed with the profiles that there are."""
    return typer.Option("--profile", "-p", help=help_text, autocompletion=profile_names)


Profile = Annotated[str, profile_option("full, ci, quick, smoke, large, or a YAML file of yours.")]
AnyProfile = Annotated[str | None, profile_option("Of this profile (of the newest run where not given).")]
Paper = Annotated[str, typer.Argument(help="A paper, or the beginning of its name.", autocompletion=paper_names)]


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context, shown: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Answer --version, and a call without arguments."""
    if shown:
        import dpregret

        typer.echo(dpregret.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


@app.command(context_settings=FURTHER)
def run(
    context: typer.Context,
    requested: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER", help="Papers, rules or files; all where none is named.", autocompletion=paper_names
        ),
    ] = None,
    profile: Profile = "full",
    cores: Annotated[int | None, typer.Option("--cores", "-c", min=1, help="How many (all where not given).")] = None,
    limits: Annotated[str | None, typer.Option(help="Lift limits: rounds:2^36,runs:1e7, or off.")] = None,
) -> None:
    """Compute tables, figures and report of papers.

    \b
      dpregret run lou_cheung --profile quick    one paper, small
      dpregret run lou_cheung talwar --cores 8   two papers as published
      dpregret run -n                            what would be done, and why
      dpregret run --profile mine.yaml           an experiment of your own

    What is finished is not done again; kill a run anywhere, the same command resumes. Further options are
    Snakemake's, whose command is printed.
    """
    root = workplace()
    arguments = [*(requested or []), *context.args]
    first = next((at for at, arg in enumerate(arguments) if arg.startswith("-")), len(arguments))
    goals, further = [seen_from(root, arg) for arg in arguments[:first]], arguments[first:]
    if "--config" in further or "-C" in further:
        stop("--config is Snakemake's: say --profile NAME, and --limits for limits")
    known_targets = targets()
    for goal in goals:
        if not re.search(r"[/.]", goal) and goal not in known_targets:
            stop(not_allowed("paper or target", goal, [*paper_names(), "all", "audit", "html_report"]))
    short = short_names(papers())
    goals = [short.get(goal, goal) for goal in goals]
    profile = seen_from(root, profile)
    file = profile_path(profile)
    if not (root / file).is_file():
        stop(f"{profile}: no such file")
    config = ["--config", f"profile={profile}", *([f"limits={limits}"] if limits else [])]
    snakefile = [] if root.resolve() == OWN else ["--snakefile", str(PACKAGE / "Snakefile")]
    command = ["snakemake", *snakefile, *goals, "--cores", str(cores or processors()), *config, *further]
    if study.FOLDER and (study.FOLDER / study.DATA).is_file():
        from dpregret.workflows.run import data

        if code := data.announce():
            raise typer.Exit(code)
    typer.echo(f"$ {shlex.join(command)}", err=True)
    os.chdir(root)
    interrupt.go_on(*command)  # signals and the exit code are Snakemake's


@app.command(context_settings=FURTHER)
def table(context: typer.Context, paper: Paper, profile: AnyProfile = None) -> None:
    """Print a paper's comparison table, of the newest run, else of the committed reference.

    \b
      dpregret table lou                     by the beginning of its name
      dpregret table talwar --number 2       its second table
      dpregret table lou --profile quick     of another run
      dpregret table lou --long              every column
    """
    show(paper, profile, context.args)


@app.command(context_settings=FURTHER)
def claims(
    context: typer.Context,
    paper: Paper,
    profile: AnyProfile = None,
    checks: Annotated[bool, typer.Option("--checks", help="The consistency checks instead.")] = False,
) -> None:
    """Print a paper's claims: the law, what was measured, the verdict.

    \b
      dpregret claims lou
      dpregret claims lou --long             with learner, resolution and reason
      dpregret claims lou --checks           what can fail only through a bug or a wrong derivation
    """
    show(paper, profile, ["--lines", "check" if checks else "claim", *context.args])


def show(paper: str, profile: str | None, further: list[str]) -> NoReturn:
    """A table on the terminal, of the newest run (of a profile, if one is named), else of the reference."""
    os.chdir(workplace())
    committed = reference()
    if profile:
        if not results_of(profile).is_dir():
            profile_path(profile)  # raises for an unknown name
        folders = [results_of(profile), committed / results_of(profile).relative_to("results")]
    else:
        files = [file for part in ("", "*/") for file in Path("results").glob(f"{part}*/claims.csv")]
        runs = [file for file in files if file.parent.name.startswith(paper)]
        runs = [file for file in runs if not file.resolve().is_relative_to(committed.resolve())]
        folders = [max(runs, key=lambda file: file.stat().st_mtime_ns).parents[1]] if runs else []
        folders.append(committed)
    hand_over("paper_figs.tables.show:main", [paper, "--results", *map(str, folders), *further])


@app.command()
def report(
    paper: Annotated[str | None, typer.Argument(help="A paper that was run alone.", autocompletion=paper_names)] = None,
    profile: AnyProfile = None,
    show_it: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Find the newest report, and open it.

    \b
      dpregret report --open
      dpregret report lou --profile quick
    """
    root = workplace()
    results = root / "results"
    folders = [root / results_of(profile)] if profile else [results, *results.glob("*")]
    known = papers()
    names = [paper] if paper in known else [name for name in known if name.startswith(paper)] if paper else ["", *known]
    if not names:
        stop(not_allowed("paper", paper, paper_names()))
    pages = [folder / name / "report.html" for folder in folders for name in names]
    existing = [page for page in pages if page.is_file()]
    if not existing:
        stop(f"{results} holds no report of what was asked for: dpregret run makes one")
    newest = max(existing, key=lambda page: page.stat().st_mtime_ns)
    typer.echo(os.path.relpath(newest))
    if show_it:
        import webbrowser

        if not webbrowser.open(newest.resolve().as_uri()):
            stop("no browser here: open that file in one")


def hand_over(function: str, arguments: list[str]) -> NoReturn:
    """Call a function of dpregret with these arguments; its exit code is that of the command."""
    raise typer.Exit(resolve_name(f"dpregret.{function}")(arguments) or 0)


def delegate(name: str, function: str, help_text: str, default: Callable[[list[str]], list[str]] = list) -> None:
    """A command whose options, and help, are those of a function. default: completes its arguments."""

    def command(context: typer.Context) -> None:
        hand_over(function, default(context.args))

    app.command(name, help=help_text, context_settings={**FURTHER, "help_option_names": []})(command)


def compared(arguments: list[str]) -> list[str]:
    """Without folders: the reference and the run of the profile full."""
    root = workplace()
    if any(not arg.startswith("-") for arg in arguments):
        return arguments
    os.chdir(root)
    return [str(reference()), "results", *arguments]


def cached(arguments: list[str]) -> list[str]:
    """Without --to: the folder in which runs look for data."""
    options = {arg.partition("=")[0] for arg in arguments} & {"--to", "--pin", "-h", "--help"}
    return arguments if options else [*arguments, "--to", str(workplace() / "datasets" / "cache")]


def in_workplace(arguments: list[str]) -> list[str]:
    """The same arguments, in the folder of the results."""
    os.chdir(workplace())
    return arguments


ANSWERED: Final = ("check", "advise", "audit", "test")
"""Commands that import files of a study: their exit code comes from a child, which such a file may end."""
IN_STUDY: Final = ("run", "data", "table", "claims", "report", "check", "audit", "test", "gate", "advise")
"""Commands that take the folder of a study for a paper."""
PROFILED: Final = ("run", "table", "claims", "report", "check")


def is_study(word: str) -> bool:
    """Whether an argument is a folder that a user means to be a study."""
    path = Path(word)
    if not word:
        return False
    inside = any((path / name).exists() for name in (*study.NEEDED, study.DATA, "algorithms", "datasets"))
    return path.is_dir() and inside and ("/" in word or word == "." or not (path / "claims.csv").exists())


def within(arguments: list[str]) -> list[str] | None:
    """The arguments relative to the study that they name; its folder becomes the working folder, for this process
    and for all that it starts. None where they name no study.
    """
    if not arguments or arguments[0] not in IN_STUDY or study.FOLDER:
        return None
    command, *rest = arguments
    position = next((at for at, arg in enumerate(rest) if arg[:1] != "-" and is_study(arg)), None)
    if position is None:
        if command not in ("test", "gate") or any(arg in ("-h", "--help") for arg in rest):
            return None
        position = next((at for at, arg in enumerate(rest) if arg[:1] != "-"), -1)
        if position < 0:
            raise ConfigError(f"{command}: name the folder of a study, as in `dpregret {command} ./my_study`")
    folder = Path(rest.pop(position)).resolve()
    mistakes = list(study.mistakes(folder))
    if mistakes:
        raise ConfigError(mistakes)
    rest = [str(Path(arg).resolve()) if "/" in arg and Path(arg).exists() else arg for arg in rest]
    if command in (*ANSWERED, "data", "gate"):
        rest = _without_limits(rest)
    options = {arg.partition("=")[0] for arg in rest}
    if command in PROFILED and not options & {"-p", "--profile", "-h", "--help"}:
        rest += ["--profile", study.PROFILE]
    if command == "advise" and not options & {"--results", "--data"}:
        rest += ["--results", str(folder / "results" / study.PROFILE)]
    if command in ("table", "claims", "report", "check") or (command == "run" and rest[:1] != ["all"]):
        rest.insert(0, folder.name)
    os.environ[study.VARIABLE] = str(folder)
    os.chdir(folder)
    return [command, *rest]


def _without_limits(words: list[str]) -> list[str]:
    """The words without `--limits LIMITS`, which goes to all processes of the command."""
    at = next((at for at, word in enumerate(words) if word.partition("=")[0] == "--limits"), None)
    if at is None:
        return words
    _, joined, limits = words[at].partition("=")
    if not joined and at + 1 == len(words):
        raise ConfigError("--limits: give limits, as in --limits check_seconds:60, or off")
    os.environ[study.LIMITS] = limits if joined else words[at + 1]
    return [*words[:at], *words[at + (1 if joined else 2) :]]


delegate(
    "check",
    "workflows.run.check:main",
    "Decide one claim of a paper: what it needs is played, or computed.",
    in_workplace,
)
delegate("compare", "workflows.run.load:main", "Compare two runs: folders, archives or addresses.", compared)
delegate("advise", "workflows.advice:main", "Advise which learner to use in a setting of yours.")
if study.FOLDER:
    delegate("audit", "workflows.audit.own:main", "Audit the private learners of a study on neighbouring inputs.")
else:
    delegate("audit", "workflows.mechanisms.own_mechanism:main", "Audit a mechanism of your own, exactly.")
delegate("data", "workflows.run.data:main", "Show what was read of the records of a study.")
delegate("new", "workflows.run.studies:new", "Write an example study: learner, loss, data, experiments, claims.")
delegate("test", "workflows.run.contracts:main", "Test the learners and streams of a study against their contracts.")
delegate("gate", "workflows.run.studies:gate", "Run, test, audit and compare a study with its reference.")
delegate("verify", "workflows.run.archive:main", "Verify a folder or an archive of results.")
delegate("fetch", "datasets.fetch:main", "Fetch a data set that is not shipped with it.", cached)
delegate("prune", "workflows.run.publish:main", "Delete results that no plan names.", in_workplace)


def called(arguments: list[str] | None) -> object:
    """The exit code of a command. On a study it is a second process, which works in the folder of the study."""
    try:
        inside = within(sys.argv[1:] if arguments is None else arguments)
    except ConfigError as error:
        for line in error.problems:
            typer.echo(f"dpregret: {line}", err=True)
        return 2
    if inside is not None:
        interrupt.go_on("dpregret", *inside)
    words = sys.argv[1:] if arguments is None else arguments
    if study.FOLDER and words[:1] and words[0] in ANSWERED:
        return answered(words)
    return within_app(arguments)


def within_app(words: list[str] | None) -> Any:
    """The exit code of the parser of commands, which makes a number of an interrupt and says nothing."""
    code = app(args=words, prog_name="dpregret", standalone_mode=False)
    if code == boundary.INTERRUPTED:
        raise KeyboardInterrupt
    return code


def answered(words: list[str]) -> int:
    """The exit code of a command that a child answers; 2 and one line where it ended without an answer."""
    from dpregret.core import child
    from dpregret.workflows.plan.config import bound_imports

    def bounded() -> object:
        bound_imports()
        return within_app(words)

    def command(say: child.Say) -> Any:
        try:
            boundary.end(bounded)
        except SystemExit as end:
            return end.code

    answer, fault = child.call(command)
    if fault:
        typer.echo(f"dpregret: {words[0]}: could not be judged: {fault}", err=True)
        return 2
    return answer or 0


def main(arguments: list[str] | None = None) -> NoReturn:
    """The command."""
    boundary.end(lambda: called(arguments))
