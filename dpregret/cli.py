"""The command `dpregret`, in a clone or in a folder of results.

It drives the same workflow as `snakemake`, whose command it prints. The signature of every command is here; what it
does is a function elsewhere, called with the arguments that were given. Only what a command needs is imported:
completion and help are instant.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from dpregret import study
from dpregret.core import boundary, interrupt
from dpregret.core.errors import NAME_PATTERN, NAME_RULE, ConfigError, not_allowed
from dpregret.core.files import reference
from dpregret.core.machine import processors
from dpregret.core.paper_names import meant, paper_of, short_names
from dpregret.workflows.plan.late import late
from dpregret.workflows.plan.read import TARGETS, offered_profiles, papers, profile_path

PACKAGE: Final = Path(__file__).resolve().parent
OWN: Final = PACKAGE.parent
"""The clone that holds this code, if there is one."""
FURTHER: Final = {"allow_extra_args": True, "ignore_unknown_options": True}
ABOUT: Final = """Measure private online and projection-free algorithms against the claims of their papers.

\b
  dpregret run lou_cheung --profile quick    a first Table I, with a report
  dpregret report --open                     look at it
  dpregret check lou_cheung thm3-T           one claim, and its verdict
  dpregret run                               all papers, audit, report
  dpregret confirm                           all claims again, on fresh seeds
  dpregret table lou                         Table I: yours, or as committed
  dpregret new my_study                      a study of your own
  dpregret advise --rounds 1e5 --dimension 32 --epsilon 1 --window 1024

`dpregret COMMAND --help` says more. Only data sets and addresses that are not here need a network. --debug adds the
traceback to the line of a failure."""
RUNS, OWN_WORK, MAINTENANCE = HEADINGS = ("Commands", "Commands for your own work", "Maintenance")


class Sections(TyperGroup):
    """A help with the commands below headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        known: Any = self.commands
        longest = max(map(len, known))
        for heading in HEADINGS:
            commands = [(name, each) for name, each in known.items() if each.rich_help_panel == heading]
            with formatter.section(heading):
                width = formatter.width - longest - 6
                formatter.write_dl([(f"{name:{longest}}", each.get_short_help_str(width)) for name, each in commands])


app = typer.Typer(cls=Sections, help=ABOUT, **boundary.PARSER)


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
                raise ConfigError(f"this command belongs to {OWN}; here start {folder}/.venv/bin/dpregret")
            return folder
    return here


def seen_from(root: Path, word: str) -> str:
    """A path relative to the clone; any other argument unchanged."""
    return os.path.relpath(word, root) if "/" in word or word.endswith((".yaml", ".yml")) else word


def results_of(profile: str) -> Path:
    """The folder of the results of a profile, relative to the clone. Raises ConfigError for what is no name of one."""
    name = Path(profile).stem if profile.endswith((".yaml", ".yml")) else profile
    if not re.fullmatch(NAME_PATTERN, name):
        profile_path(profile)
        raise ConfigError(f"profile: {name!r} {NAME_RULE}")
    return Path("results") if name == "full" else Path("results") / name


def played(profile: str) -> Path:
    """`results_of` a profile that has results, or whose file exists. Raises ConfigError for any other."""
    folder = results_of(profile)
    if not (workplace() / folder).is_dir() and not profile_path(profile).is_file():
        raise ConfigError(f"profile: {no_profile(Path(profile))}")
    return folder


def no_profile(file: Path) -> str:
    """Why a path is no profile."""
    return f"{file}: {'is a folder, not a YAML file' if file.is_dir() else 'no such file'}"


def no_target(path: Path, word: str) -> str:
    """Why a run makes no file or folder outside of its results, and what to type instead."""
    if path.is_dir():
        return f"is no study: it has no {study.NEEDED[0]}; `dpregret new NAME` writes an example"
    if not path.is_file():
        return "no such file or folder, and a run makes files below results only"
    if path.suffix in (".yaml", ".yml"):
        return f"a profile is named by --profile {shlex.quote(word)}"
    return f"a run takes no data: `dpregret new my_study --data {shlex.quote(word)}` makes a study of the file"


def targets() -> set[str]:
    """Valid targets besides files: papers, and rules that make one thing."""
    return {"all", *TARGETS, *papers(), *paper_names()}


def paper_names() -> list[str]:
    """Short names of the papers."""
    return sorted(short_names(papers()).values())


def feedbacks() -> list[str]:
    """Kinds of feedback that `advise` knows."""
    from dpregret.workflows.plan.facts import FEEDBACKS

    return [*FEEDBACKS]


def in_reference(column: str, table: str, leaving_out: tuple[str, str] = ("", "")) -> list[str]:
    """The values of a column of a committed table but for rows of one value, for completion; none without the table."""
    name, value = leaving_out
    with contextlib.suppress(OSError), (reference() / table).open(encoding="utf-8", newline="") as file:
        return sorted({row[column] for row in csv.DictReader(file) if row.get(name) != value})
    return []


def claim_names(context: typer.Context) -> list[str]:
    """Claims and checks of the paper that was typed; none of a word that means no paper."""
    with contextlib.suppress(ConfigError):
        tables = [f"{named(context.params['paper'])}/{kind}.csv" for kind in ("claims", "checks")]
        return [name for table in tables for name in in_reference("claim", table, ("origin", "automatic"))]
    return []


def figure_names(context: typer.Context) -> list[str]:
    """Figures of the paper that was typed, which have data in the reference; none of a word that means no paper."""
    with contextlib.suppress(ConfigError):
        return sorted(path.stem for path in (reference() / named(context.params["paper"]) / "figures").glob("*.csv"))
    return []


def measured(column: str) -> Callable[[], list[str]]:
    """Sets or streams on which learners were measured."""
    return lambda: in_reference(column, "winners/laws.csv")


def audited() -> list[str]:
    """Private learners."""
    return sorted(
        {name.partition(".")[0] for name in in_reference("learner", "winners/laws.csv", ("private", "False"))}
    )


def source_names() -> list[str]:
    """Data sets that are declared."""
    return re.findall(r"^([\w-]+):", (PACKAGE / "workflows/config/sources.yaml").read_text("utf-8"), re.MULTILINE)


def option(text: str, *names: str, complete: Callable[..., list[str]] | None = None, **settings: Any) -> Any:
    """An option with its help. names: of a switch, or other ones than that of the parameter; complete: its values."""
    return typer.Option(*names, help=text, autocompletion=complete, **settings)


def profile_option(help_text: str) -> Any:
    """The option --profile, completed with the profiles that there are."""
    return option(help_text, "--profile", "-p", complete=offered_profiles)


Text = str | None
File = Path | None


Paper = Annotated[
    str, typer.Argument(metavar="PAPER", help="A paper, or the beginning of its name.", autocompletion=paper_names)
]
Profile = Annotated[str, profile_option(f"{', '.join(offered_profiles())}, or a YAML file of yours.")]
AnyProfile = Annotated[str | None, profile_option("Of this profile (of the newest run where not given).")]
Cores = Annotated[int | None, option("How many (all where not given).", "--cores", "-c", min=1)]
Json = Annotated[bool, option("The answer as JSON.", "--json")]
Long = Annotated[bool, option("All columns.", "--long", "--all")]
Limits = Annotated[Text, option("Lift limits of a study: play_minutes:600,check_gb:8, or off.", "--limits")]


def command(heading: str, function: str, inside: bool = False, **settings: Any) -> Callable[..., Any]:
    """A command that is a signature: a function of dpregret is called with its arguments, by name, but for those that
    were not given, and returns the exit code. inside: in the folder that results lie in.
    """

    def decorate(signature: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(signature)
        def called(**arguments: Any) -> NoReturn:
            if "limits" in arguments:
                bound(arguments.pop("limits"))
            if inside and (root := workplace()) != (start := Path.cwd()):
                arguments |= {name: start / value for name, value in arguments.items() if isinstance(value, Path)}
                os.chdir(root)
            hand_over(function, **arguments)

        app.command(rich_help_panel=heading, **settings)(called)
        return called

    return decorate


def hand_over(function: str, **arguments: Any) -> NoReturn:
    """Call a function of dpregret with the arguments that were given; its exit code is that of the command."""
    given = {name: value for name, value in arguments.items() if value is not None}
    if not study.FOLDER:  # whose files may use it, and are watched: see core/discovery.py
        late("pandas")  # a third of the time of a command that answers in text
    raise typer.Exit(resolve_name(f"dpregret.{function}")(**given) or 0)


def bound(limits: str | None) -> None:
    """Limits of a command on a study hold in all of its processes."""
    if limits is not None and not study.FOLDER:
        raise ConfigError("--limits: are those of a study: name its folder")
    if study.FOLDER:
        from dpregret.workflows.plan.config import bound_imports

        if limits is not None:
            os.environ[study.LIMITS] = limits
        bound_imports()


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context,
    version: Annotated[bool, option("Print the version.", "--version")] = False,
    debug: Annotated[bool, option("Print the traceback of a failure.", boundary.DEBUG)] = False,
) -> None:
    """Answer --version, and a call without arguments."""
    if version:
        import dpregret

        typer.echo(dpregret.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


@app.command(context_settings=FURTHER, rich_help_panel=RUNS)
def run(
    context: typer.Context,
    requested: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER",
            help="Papers, rules or files; all where none is named.",
            autocompletion=lambda: [*paper_names(), *TARGETS],
        ),
    ] = None,
    profile: Profile = "full",
    cores: Cores = None,
    limits: Annotated[Text, option("Lift limits: memory_gb:64,hours:1e5, or off.")] = None,
) -> None:
    """Compute tables, figures and report of papers.

    \b
      dpregret run lou_cheung --profile quick    one paper, small
      dpregret run lou_cheung talwar --cores 8   two whole papers
      dpregret run -n                            what would be done, and why
      dpregret run --profile mine.yaml           an experiment of your own

    Runs can be interrupted; repeat the command to resume. Further options are Snakemake's, whose command is printed;
    with one of them but -n it reports in its own words.
    """
    root = workplace()
    arguments = [*(requested or []), *context.args]
    first = next((at for at, arg in enumerate(arguments) if arg.startswith("-")), len(arguments))
    goals, further = [seen_from(root, arg) for arg in arguments[:first]], arguments[first:]
    if "--config" in further or "-C" in further:
        raise ConfigError("--config is Snakemake's: say --profile NAME, and --limits for limits")
    known_targets = targets()
    for word, goal in zip(arguments, goals, strict=False):
        is_path = re.search(r"[/.]", word)
        if not is_path and goal not in known_targets:
            raise ConfigError(not_allowed("paper or target", goal, [*paper_names(), "all", "audit", "html_report"]))
        if is_path and os.path.normpath(goal).split(os.sep)[0] != "results":
            raise ConfigError(f"{word}: {no_target(root / goal, word)}")
    short = short_names(papers())
    goals = [short.get(goal, goal) for goal in goals]
    typed, profile = profile, seen_from(root, profile)
    if not (root / profile_path(profile)).is_file():
        raise ConfigError(f"profile: {no_profile(Path(typed))}")
    if limits is not None:
        from dpregret.workflows.plan.config import parse_limits

        parse_limits(limits, "--limits")
    config = ["--config", f"profile={profile}", *([f"limits={limits}"] if limits is not None else [])]
    snakefile = [] if root.resolve() == OWN else ["--snakefile", str(PACKAGE / "Snakefile")]
    command = ["snakemake", *snakefile, *goals, "--cores", str(cores or processors()), *config, *further]
    if study.FOLDER and (study.FOLDER / study.DATA).is_file():
        from dpregret.workflows.run import data

        data.announce()
    typer.echo(f"$ {shlex.join(command)}", err=True)
    os.chdir(root)
    module = "snakemake" if {*further} - {"-n", "--dry-run"} else "dpregret.workflows.run.progress"
    interrupt.go_on(module, *command[1:])  # signals and the exit code are Snakemake's


@app.command(rich_help_panel=RUNS)
def table(
    paper: Paper,
    profile: AnyProfile = None,
    number: Annotated[int, option("Table of the paper.")] = 1,
    long: Annotated[bool, option("All columns, and a row for each learner.", "--long", "--all")] = False,
    in_json: Json = False,
    to: Annotated[File, option("Judge the rows of a run again and write its tables here.", metavar="DIR")] = None,
) -> None:
    """Print a paper's comparison table.

    Of the newest run, else of the reference.

    \b
      dpregret table lou                     by the beginning of its name
      dpregret table talwar --number 2       its second table
      dpregret table lou --profile quick     of another run
      dpregret table lou --long              every column
      dpregret table lou --to build/tables   makes the files of the tables again
    """
    if to is not None:
        again("rewrite_tables", paper, profile, to)
    show(paper, profile, number=number, long=long, in_json=in_json)


@app.command(rich_help_panel=RUNS)
def figure(
    paper: Paper,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Figures; all are listed where none is.", autocompletion=figure_names),
    ] = None,
    profile: AnyProfile = None,
    to: Annotated[Path, option("Folder to write into.", metavar="DIR")] = Path("build/figures"),
) -> None:
    """Draw a figure of a paper from the rows of a run.

    PDF, PNG, SVG, and its data as CSV.

    \b
      dpregret figure lou                    its figures, each with its title
      dpregret figure lou printed_errata     of the newest run
      dpregret figure lou printed_errata --profile quick --to my_paper
    """
    if profile:
        played(profile)
    from dpregret.workflows.run.again import check_names, listed

    if names:
        check_names(named(paper), names)
        again("redraw", paper, profile, to, names)

    typer.echo("\n".join(listed(named(paper))) or "no figures: claims.yaml lists none")


def named(word: str) -> str:
    """The paper that a word means; without a word the only paper of a study."""
    known = papers()
    return known[0] if not word and len(known) == 1 else paper_of(word, known)


def again(function: str, paper: str, profile: str | None, to: Path, *arguments: Any) -> NoReturn:
    """Make something of a paper again from the rows of a run, the newest where no profile is named; name the files."""
    from dpregret.workflows.run import again as making

    name, start = named(paper), Path.cwd()
    chosen = played(profile) if profile else None
    os.chdir(workplace())
    results = making.finished(name, [chosen] if chosen else [Path("results"), *Path("results").glob("*")])
    typer.echo(f"dpregret: from the rows of {results}", err=True)
    paths = getattr(making, function)(name, results, start / to, *arguments)
    inside = [path.relative_to(start) if path.is_relative_to(start) else path for path in paths]
    typer.echo("\n".join(map(str, inside)))
    raise typer.Exit


@app.command(rich_help_panel=RUNS)
def claims(
    paper: Paper,
    profile: AnyProfile = None,
    checks: Annotated[bool, option("The consistency checks instead.", "--checks")] = False,
    long: Long = False,
    in_json: Json = False,
) -> None:
    """Print a paper's claims and their verdicts.

    Of the newest run, else of the reference.

    \b
      dpregret claims lou
      dpregret claims lou --long             with learner, resolution and reason
      dpregret claims lou --checks           consistency checks
    """
    show(paper, profile, lines="check" if checks else "claim", long=long, in_json=in_json)


def show(paper: str, profile: str | None, **options: Any) -> NoReturn:
    """A table on the terminal, of the newest run (of a profile, if one is named), else of the reference."""
    chosen = played(profile) if profile else None
    os.chdir(workplace())
    if chosen:
        folders = [chosen, *filter(Path.is_dir, [reference(chosen)])]
    else:
        files = [file for part in ("", "*/") for file in Path("results").glob(f"{part}*/claims.csv")]
        files = [file for file in files if not file.resolve().is_relative_to(reference().resolve())]
        named_so = meant(paper, sorted({file.parent.name for file in files}), papers())
        runs = [file for file in files if file.parent.name in named_so]
        folders = [max(runs, key=lambda file: file.stat().st_mtime_ns).parents[1]] if runs else []
        folders.append(reference())
    hand_over("paper_figs.tables.show:main", paper=paper, results=folders, known=papers(), **options)


@app.command(rich_help_panel=RUNS)
def report(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="A paper that was run alone.", autocompletion=paper_names)
    ] = None,
    profile: AnyProfile = None,
    show_it: Annotated[bool, option("Open it in a browser.", "--open")] = False,
) -> None:
    """Print where the newest report is, or open it.

    \b
      dpregret report --open
      dpregret report lou --profile quick
    """
    root = workplace()
    results = root / "results"
    folders = [root / played(profile)] if profile else [results, *results.glob("*")]
    known = papers()
    names = ["", *known] if paper is None else [paper_of(paper, known)]
    pages = [folder / name / "report.html" for folder in folders for name in names]
    existing = [page for page in pages if page.is_file()]
    if not existing:
        makes = study.command("run", names[-1] if paper else "", profile or "")
        raise ConfigError(f"{results} holds no report: `{makes}` makes one")
    newest = max(existing, key=lambda page: page.stat().st_mtime_ns)
    typer.echo(newest if study.FOLDER else os.path.relpath(newest))  # the user of a study is elsewhere
    if show_it:
        import webbrowser

        if not webbrowser.open(newest.resolve().as_uri()):
            raise ConfigError("no browser here: open that file in one")


ANSWERED: Final = ("check", "advise", "audit", "test")
"""Commands that import files of a study: their exit code comes from a child, which such a file may end."""
IN_STUDY: Final = ("run", "data", "table", "figure", "claims", "report", "check", "audit", "test", "gate", "advise")
"""Commands that take the folder of a study for a paper."""
PROFILED: Final = ("run", "table", "figure", "claims", "report", "check")


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
    if command == "advise":
        rest = [part for arg in rest for part in (arg.split("=", 1) if arg.startswith("--data=") else [arg])]
    position = next((at for at, arg in enumerate(rest) if arg[:1] != "-" and is_study(arg)), None)
    if position is None:
        if command not in ("test", "gate", "data") or any(arg in ("-h", "--help") for arg in rest):
            return None
        position = next((at for at, arg in enumerate(rest) if arg[:1] != "-"), -1)
        if position < 0:
            raise ConfigError(f"{command}: name the folder of a study, as in `dpregret {command} ./my_study`")
        if Path(rest[position]).is_file():
            file = shlex.quote(rest[position])
            raise ConfigError(f"{command}: {file}: is no folder: `dpregret new my_study --data {file}` makes one of it")
    folder = Path(rest[position]).resolve()
    # `advise --data ./pay`: the records of the study, if it has one file
    rest[position : position + 1] = [""] if rest[position - 1 : position] == ["--data"] else []
    mistakes = list(study.mistakes(folder))
    if mistakes:
        raise ConfigError(mistakes)
    rest = list(_from_here(rest))
    options = {arg.partition("=")[0] for arg in rest}
    if command in PROFILED and not options & {"-p", "--profile", "-h", "--help"}:
        rest += ["--profile", study.PROFILE]
    if command == "advise" and not options & {"--results", "--data"}:
        rest += ["--results", str(folder / "results" / study.PROFILE)]
    if command in ("table", "figure", "claims", "report", "check") or (command == "run" and rest[:1] != ["all"]):
        rest.insert(0, folder.name)
    os.environ[study.VARIABLE] = str(folder)
    os.chdir(folder)
    return [command, *rest]


def _from_here(words: list[str]) -> Iterator[str]:
    """The words, with whole paths of the files and folders that are here, and of those to be written here."""
    for before, word in zip(("", *words), words, strict=False):
        option, joined, value = word.partition("=") if word.startswith("-") else (before, "", word)
        is_path = "/" in value or value.endswith((".yaml", ".yml")) or option == "--results"
        here = bool(value) and ((is_path and Path(value).exists()) or option in ("--figure", "--to"))
        yield f"{f'{option}=' * bool(joined)}{Path(value).resolve()}" if here else word


@command(RUNS, "workflows.run.check:main", inside=True)
def check(
    paper: Paper,
    claim: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM", help="A claim or check, as `dpregret claims PAPER` lists them.", autocompletion=claim_names
        ),
    ],
    profile: Annotated[str, profile_option("Profile to run.")] = "full",
    figure: Annotated[File, option("The PNG to draw (of plays: results/check/PAPER/CLAIM.png).")] = None,
    in_json: Json = False,
    limits: Limits = None,
) -> None:
    """Decide one claim of a paper.

    What it needs is played, or computed.

    \b
      dpregret check lou_cheung thm3-T
      dpregret check lou_cheung thm1-printed --json
    """


@command(RUNS, "workflows.run.confirm:main", inside=True)
def confirm(
    requested: Annotated[
        list[str] | None,
        typer.Argument(metavar="PAPER", help="Papers; all where none is named.", autocompletion=paper_names),
    ] = None,
    profile: Annotated[str, profile_option("Profile to run.")] = "full",
    seeds: Annotated[int, option("How many fresh seeds.", min=1, max=1000)] = 5,
    cores: Cores = None,
    date: Annotated[
        Text, option("Let the seeds, and the folder, depend on a date too: for a nightly job.", metavar="YYYY-MM-DD")
    ] = None,
) -> None:
    """Judge every claim again, on fresh seeds.

    The seeds follow from the text of the claims and experiments: nobody chooses them.

    \b
      dpregret confirm lou_cheung --profile quick --seeds 2    a trial
      dpregret confirm                                         all papers

    Plays only: no audit, no figures of papers. What is in the store is not played again; a command that was stopped
    resumes. A seed of the profile full takes about 70 % of the time of
    a full run.
    """


@app.command(rich_help_panel=RUNS)
def compare(
    a: Annotated[
        Text,
        typer.Argument(
            metavar="A", help="A folder of results, an archive, or its https address (default: the reference)."
        ),
    ] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="The run to compare with (default: results).")] = None,
    long: Long = False,
    in_json: Json = False,
) -> None:
    """Compare two runs: exponents and verdicts that moved.

    An exponent has moved where the 95 % intervals of both do not allow its change.

    \b
      dpregret compare                                  the reference and your run
      dpregret compare results/reference/ci results/ci
      dpregret compare reference run.tar.gz
    """
    if a is None:
        os.chdir(workplace())
        a, b = str(reference()), "results"
    if b is None:
        raise ConfigError("compare: name two runs, or none")
    hand_over("workflows.run.load_run:main", a=a, b=b, long=long, in_json=in_json)


@command(RUNS, "workflows.advice:main", inside=True)
def advise(
    epsilon: Annotated[str, option("Privacy budget.")],
    rounds: Annotated[Text, option("Rounds (erm, population: records): 1000, 1e5 or 2^17.", metavar="T")] = None,
    dimension: Annotated[Text, option("Dimension, or experts.", metavar="d")] = None,
    delta: Annotated[Text, option("0: pure privacy only (default 1e-6).")] = None,
    window: Annotated[Text, option("Protect the last W rounds only (default: all).", metavar="W")] = None,
    feedback: Annotated[Text, option("full, bandit, experts, erm or population (full).", complete=feedbacks)] = None,
    set: Annotated[
        Text, option("Constraint set (default: that of --data, or the most measured).", complete=measured("set"))
    ] = None,
    loss: Annotated[
        Text,
        option("Losses (smooth, kinked, linear, realizable, ...), or a stream's name.", complete=measured("stream")),
    ] = None,
    stochastic: Annotated[bool, option("The losses are drawn from one law.", "--stochastic")] = False,
    adversarial: Annotated[bool, option("The losses are any fixed sequence.", "--adversarial")] = False,
    data: Annotated[Text, option("Folder of a study: sizes of its records, learners that they serve.")] = None,
    results: Annotated[File, option("Folder of results (default: a finished run, else the reference).")] = None,
    long: Annotated[bool, option("Every column; why others are not listed.", "--long", "--why", "--all")] = False,
    in_json: Json = False,
    limits: Limits = None,
) -> None:
    """Advise which private learner to use in a setting of yours.

    Learners are ranked by the regret (of records: excess risk) that measured cells predict, with a 95 % interval,
    beside their own proved bound. Numbers are those of one stream of losses, named in the answer: a measured instance,
    not the worst case. Learners that were measured at one value only of a parameter stand below a rule, where they
    could have less regret: their power in that parameter is a guess.

    \b
      dpregret advise --rounds 1e5 --dimension 32 --epsilon 1 --window 1024
      dpregret advise --rounds 2^16 --dimension 4 --epsilon 2 --delta 0 \\
        --feedback bandit --set ball
      dpregret advise --rounds 1e6 --dimension 1024 --epsilon 0.5 \\
        --feedback experts --adversarial --long
      dpregret advise --rounds 20000 --dimension 100 --epsilon 1 \\
        --feedback erm --set l1-ball --json
      dpregret advise --data ./my_study --epsilon 1
    """


@command(OWN_WORK, "workflows.run.studies:new")
def new(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder to write; its name is the name of the study.")
    ],
    data: Annotated[File, option("A study for this file, with the questions left open.", metavar="CSV")] = None,
    label: Annotated[Text, option("Of --data: the column that is to be predicted.", metavar="COLUMN")] = None,
    encoding: Annotated[Text, option("Of --data, such as latin-1 (default: utf-8, or as the file is marked).")] = None,
    header: Annotated[
        Text, option("Of --data: yes if its first line names columns; NAME,NAME,... if none does.")
    ] = None,
    printed: Annotated[bool, option("With printed.yaml, a table as a paper prints it.", "--printed")] = False,
) -> None:
    """Write an example study.

    It has a learner, a loss, data, experiments and claims.

    \b
      dpregret new my_study
      dpregret new pay --data pay.csv --label paid
    """


@command(OWN_WORK, "workflows.run.data:main")
def data(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Data sets of data.yaml (all).")] = None,
    in_json: Json = False,
    limits: Limits = None,
) -> None:
    """Show the records of a study as they were read.

    \b
      dpregret data ./my_study
    """


@command(OWN_WORK, "workflows.run.contracts:main", name="test")
def contracts(limits: Limits = None) -> None:
    """Test the learners and streams of a study.

    \b
      dpregret test ./my_study
    """


@command(OWN_WORK, "workflows.run.studies:gate")
def gate(
    profile: Annotated[str, profile_option("Profile to run.")] = study.PROFILE,
    cores: Cores = None,
    no_audit: Annotated[bool, option("Leave out the audit.", "--no-audit")] = False,
    keep: Annotated[bool, option("Write the tables of this run to reference/.", "--keep")] = False,
    limits: Limits = None,
) -> None:
    """Compare a study with its reference.

    \b
      dpregret gate ./my_study
    """


if not study.FOLDER:

    @command(OWN_WORK, "workflows.mechanisms.own_mechanism:main")
    def audit(
        mechanism: Annotated[
            str,
            typer.Argument(
                metavar="NOISE", help="FILE.py:FUNCTION (example: docs/examples/my_noise.py:right), or a study."
            ),
        ],
        rounds: Annotated[int, option("Outputs.")] = 512,
        window: Annotated[int | None, option("Rounds that an item stays protected (all).")] = None,
        epsilon: Annotated[float, option("Claimed.")] = 1.0,
        delta: Annotated[float, option("Claimed.")] = 1e-6,
        sensitivity: Annotated[float, option("How far a replaced item moves, l2: 2C if clipped to C.")] = 1.0,
        participations: Annotated[int, option("Most rounds of one record.")] = 1,
        separation: Annotated[int, option("Least gap between two of them, in rounds.")] = 1,
        exact_gaps: Annotated[bool, option("Gaps are exactly --separation.", "--exact-gaps")] = False,
        sums: Annotated[bool, option("A streaming matrix makes noise of sums, not of single items.", "--sums")] = False,
        save: Annotated[File, option("Write A, B and the losses to this .npz file.")] = None,
        in_json: Json = False,
        minutes: Annotated[float, option("Most that it may take.")] = 60.0,
        gigabytes: Annotated[float | None, option("Most memory that it may take (that of this machine).")] = None,
    ) -> None:
        """Audit your noise, or the learners of a study.

        Noise for prefix sums is a mechanism or a matrix of yours.

        \b
          dpregret audit docs/examples/my_noise.py:wrong --rounds 128 \\
            --participations 4 --separation 8
          dpregret audit ./my_study
        """


@command(
    OWN_WORK if study.FOLDER else MAINTENANCE,
    "workflows.run.audit_learners:main",
    name="audit" if study.FOLDER else "audit-learners",
)
def audit_learners(
    learners: Annotated[
        list[str] | None,
        typer.Argument(metavar="LEARNER", help="Names of learners, or of their files.", autocompletion=audited),
    ] = None,
    runs: Annotated[int | None, option("Plays of each input (default 4000).")] = None,
    seed: Annotated[int | None, option("Of the plays (default 1).")] = None,
    limits: Limits = None,
) -> None:
    """Audit private learners on neighbouring inputs.

    Each in all its variants.
    """


@command(MAINTENANCE, "workflows.run.archive:main")
def verify(
    places: Annotated[
        list[Path] | None, typer.Argument(metavar="PLACE", help="Folders of results, or archives (results).")
    ] = None,
) -> None:
    """Verify the checksums of results or of an archive."""


@app.command(rich_help_panel=MAINTENANCE)
def fetch(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Entry of the declared sources.", autocompletion=source_names)
    ],
    to: Annotated[
        File,
        option(
            "Folder (default: datasets/cache, of this clone or folder; studies take it from the clone).", metavar="DIR"
        ),
    ] = None,
    sources: Annotated[File, option("YAML file of declared sources.")] = None,
    pin: Annotated[bool, option("Only print size and SHA-256 of what the URL gives now.", "--pin")] = False,
) -> None:
    """Fetch a data set that is not shipped with dpregret."""
    folder = to if to or pin else workplace() / "datasets" / "cache"
    hand_over("datasets.fetch:main", name=name, to=folder, sources=sources, pin=pin)


@command(MAINTENANCE, "workflows.run.publish:main", inside=True)
def prune(
    dry_run: Annotated[bool, option("Only list what would be deleted.", "--dry-run", "-n")] = False,
    everything: Annotated[bool, option("Every play and record: all is made again.", "--all")] = False,
) -> None:
    """Delete cached results that nothing uses.

    These are old plays, and files made of them.
    """


def called(arguments: list[str] | None) -> object:
    """The exit code of a command. On a study it is a second process, which works in the folder of the study."""
    words = sys.argv[1:] if arguments is None else arguments
    if (inside := within(words)) is not None:
        interrupt.go_on("dpregret", *inside)
    if study.FOLDER and (mistakes := list(study.mistakes(study.FOLDER))):
        raise ConfigError([f"{study.VARIABLE}: {line}" for line in mistakes])
    if study.FOLDER and words[:1] and words[0] in ANSWERED:
        return answered(words)
    return parsed(arguments)


def parsed(words: list[str] | None) -> Any:
    """The exit code of the parser of commands, which makes a number of an interrupt and says nothing."""
    code = app(args=words, prog_name="dpregret", standalone_mode=False)
    if code == boundary.INTERRUPTED:
        raise KeyboardInterrupt
    return code


def answered(words: list[str]) -> int:
    """The exit code of a command that a child answers; 2 and one line where it ended without an answer."""
    from dpregret.core import child

    def command(on_progress: child.OnProgress) -> Any:
        try:
            boundary.end(lambda: parsed(words))
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
