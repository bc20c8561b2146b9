"""The public functions: `import dpregret as dp`, then `dp.play`, `dp.sweep`, `dp.claim`, `dp.audit`, `dp.load`.

Answers are frozen dataclasses, which print themselves in a few lines, and pandas frames. Mistakes of a caller are
`dp.ConfigError`, a ValueError whose text is one line that names the argument and what is allowed there; what a learner
does wrong is `dp.LearnerFault`, a RuntimeError. Nothing here draws from a global generator: the same call gives the
same bits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dpregret.core.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from dpregret.workflows.mechanisms.own_mechanism import Verdict
    from dpregret.workflows.run.check import ClaimOf, Measured
    from dpregret.workflows.run.data import Read
    from dpregret.workflows.run.load_run import Run
    from dpregret.workflows.run.played import Played
    from dpregret.workflows.run.sweep import Swept


P = ParamSpec("P")
R = TypeVar("R")


def _door(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse values that no message could show: what contains itself, and classes that fail to write themselves."""

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> R:
        from dpregret.core.arguments import plain, printable_value

        for name, value in (*zip(function.__code__.co_varnames, args, strict=False), *given.items()):
            try:
                repr(plain(value) if isinstance(value, list | tuple | dict) else value)
            except RecursionError:
                raise ConfigError(f"{function.__name__}: {name}: contains itself, or has too many levels") from None
            except Exception as error:
                if not isinstance(value, int):  # of thousands of digits: its own message follows
                    raise ConfigError(f"{function.__name__}: {name}: is {printable_value(value)}") from error
        return function(*args, **given)

    return call


@_door
def play(
    learner: str | type[Any],
    *,
    stream: str | type[Any] | None = None,
    rounds: int | None = None,
    dimension: int | None = None,
    data: Read | None = None,
    window: int | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    runs: int = 16,
    set: str | None = None,
    seed: int = 20201214,
    limits: str | None = None,
    **options: Any,
) -> Played:
    """Play one learner on one stream of losses, at one setting.

    Args:
        learner: a name of `learners()`, with a variant behind a dot (its default where none is given), or a class of
            your own that derives from `Learner`, `ExpertLearner`, `BanditLearner` or `ErmLearner`.
        stream: a name of `streams()`, or a class of your own that derives from `Stream` or its like of another family.
        rounds: T; of risk minimisation the number of records n.
        dimension: d; of experts their number.
        data: the answer of `records`. Where they are left out, T is then the number of records, d that of features, and
            the stream `records-logistic`, or `fetched-regression` of a label of numbers; without data all three are
            needed.
        window: W, for learners that protect the last W rounds only (None: all rounds are protected); others refuse it.
            Trees need a power of two.
        epsilon: of the privacy budget, (epsilon, delta)-DP for two streams that differ in one round; learners without
            privacy ignore it. Where a stream repeats its records, `record_epsilon` is that of a record.
        delta: of the budget; pure learners report 0.
        runs: independent repetitions, at least 2.
        set: the constraint set (the unit ball where none is given).
        seed: of all draws, that of the profiles where none is given; learners with the same seed meet the same losses.
        limits: lifts those of profiles, as in "hours:1e5" or "off".
        options: of the stream, and `strong_convexity`.

    Returns:
        Regret in units of the loss against the best fixed point of the whole run, its curve, the learner's proved
        bound, the accounted epsilon, `guarantee` (one sentence), `noise_scale`, `mu` and `rho`,
        `frame`, `plot()`.

    Raises:
        ConfigError: a name, a number or a combination is not allowed.
        LearnerFault: a class of your own does something wrong.
        StreamFault: the best fixed point of a stream cannot be computed as it must be.

    >>> import dpregret as dp
    >>> result = dp.play("wdp-cocop-gaussian", stream="norm-kink", rounds=4096, dimension=4, window=64, epsilon=1.0)
    >>> result
    wdp-cocop-gaussian.corrected on norm-kink, set ball: T = 4096, d = 4, W = 64, eps = 1, delta = 1e-06
    regret 1147 [1133, 1161] (95 % over 16 runs); fixed-point baseline 2560; upper bound 3028
    accounted eps = 1 at delta = 1e-06
    >>> result.curve.columns.to_list()
    ['rounds', 'regret', 'low', 'high', 'baseline', 'bound']

    Source of this learner: Lou & Cheung 2020, Algorithm 1 with Gaussian noise.
    """
    from dpregret.workflows.run.single import Shared, play_one

    shared = Shared(delta, runs, set, seed, options, limits, data)
    return play_one(learner, stream, rounds, dimension, window, epsilon, shared)


@_door
def sweep(
    learners: str | type[Any] | Sequence[str | type[Any]],
    *,
    stream: str | type[Any] | None = None,
    rounds: int | Sequence[int] | None = None,
    dimension: int | Sequence[int] | None = None,
    data: Read | None = None,
    window: int | Sequence[int] | None = None,
    epsilon: float | Sequence[float] = 1.0,
    delta: float = 1e-6,
    runs: int = 16,
    set: str | None = None,
    seed: int = 20201214,
    limits: str | None = None,
    cores: int | None = None,
    progress: bool | None = None,
    keep: bool = False,
    **options: Any,
) -> Swept:
    """Play several learners over a grid of settings, on the same losses.

    Args:
        learners: names and classes as in `play`, in a list; `"private"` (`"not private"`) stands for the usual variants
            of all learners of that kind which the stream serves; windows of such a group are rounded up to powers of
            two, and the answer says so.
        stream: as in `play`.
        rounds: a number or a list; every combination of lists is played.
        dimension: a number or a list.
        data: as in `play`.
        window: a number or a list; a learner without a window protects all rounds, and takes part at every value.
        epsilon: a number or a list; a learner without privacy ignores it, and takes part at every value.
        delta: as in `play`.
        runs: as in `play`.
        set: as in `play`.
        seed: as in `play`.
        limits: as in `play`.
        cores: processes (all that this process may use where none is given); no number depends on them.
        progress: a line on standard error (where None: on a terminal, or in a notebook, from the first second on).
        keep: puts plays of bundled learners into results/store of the working folder. What is there is not played
            again, in this and every later sweep.
        options: as in `play`.

    Each play has the numbers that `play` gives alone.

    Returns:
        `ranking()`, `plot(x=...)`, `to_latex()`, `frame` (a row a play), `plays` (each a `Played`), and `left_out`
        (learners of a group that refuse the setting, with the reason).

    Raises:
        ConfigError: before anything is played.
        LearnerFault, StreamFault: as `play`.

    >>> import dpregret as dp
    >>> setting = dict(stream="norm-kink", rounds=256, dimension=2, window=16, runs=4)
    >>> found = dp.sweep(["wdp-cocop-gaussian", "wdp-cocop-gaussian.root"], epsilon=[4, 8], **setting)
    >>> found.ranking()[["epsilon", "rank", "learner"]].to_records(index=False).tolist()[:2]
    [(4.0, 1, 'wdp-cocop-gaussian.root'), (4.0, 2, 'wdp-cocop-gaussian.corrected')]
    """
    from dpregret.workflows.run.single import Shared
    from dpregret.workflows.run.sweep import sweep as swept

    shared = Shared(delta, runs, set, seed, options, limits, data)
    return swept(learners, stream, rounds, dimension, window, epsilon, shared, cores, progress, keep)


@_door
def claim(paper: str, name: str) -> ClaimOf:
    """One claim of a paper, or a consistency check: its statement, and `measure()` to decide it.

    Args:
        paper: a name of `papers()`, or the beginning of one.
        name: the claim's, column `claim` of `load().claims`.

    Returns:
        `statement`, `source` (its place in the paper) and `stated` (the rate). Its `measure(profile="full")` plays what
        decides it and nothing else, into results/store of the working folder, or makes the exact computation that
        decides it; seconds where a play takes seconds. That returns a `Measured`: stated, measured (the power that was
        fitted, or the ratio that `quantity` names), interval (95 %), verdict.

    Raises:
        ConfigError: there is no such paper, claim or profile.

    >>> import dpregret as dp
    >>> stated = dp.claim("lou_cheung", "thm1-printed")
    >>> stated.source
    'Theorem 1, eq. (15)'
    >>> found = stated.measure()
    >>> found.measured, found.verdict, found.decided_by
    (1.25, 'violated', 'exact computation')
    """
    from dpregret.workflows.run.check import find

    return find(paper, name)


@_door
def check(paper: str, name: str, profile: str | Path = "full", figure: str | Path | None = None) -> Measured:
    """The command `dpregret check PAPER CLAIM`: `claim(paper, name).measure()`, and its figure.

    Args:
        paper: as in `claim`.
        name: as in `claim`.
        profile: the profile to run.
        figure: the PNG file to draw; where none is given results/check/PAPER/CLAIM.png, or nothing of a claim that an
            exact computation decides.

    Returns:
        The number and the verdict; printed, the page that the command prints.

    Raises:
        ConfigError: there is no such paper, claim or profile.
        RunsError: a play cannot be trusted.

    >>> import dpregret as dp
    >>> dp.check("lou_cheung", "thm1-printed").verdict
    'violated'
    """
    from dpregret.workflows.run.check import check as checked

    return checked(paper, name, profile, figure)


@_door
def audit(
    mechanism: str | Callable[..., Any] | object,
    rounds: int = 512,
    window: int | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    sensitivity: float = 1.0,
    participations: int = 1,
    separation: int = 1,
    sums: bool = False,
    exact_gaps: bool = False,
) -> Verdict:
    """Exact privacy loss of correlated noise of your own, read off the code that draws it.

    With A the lower triangular ones, A v + B z is released, z normal; the loss is that of the Gaussian mechanism (Dong,
    Roth & Su 2022; Denisov et al. 2022), exact but where `worst.exact` is false: `epsilon` is then an upper bound,
    `least_epsilon` the loss of the record found.

    Args:
        mechanism: a function of a generator that returns the noise of the prefix sums, shape (rounds, dimension); a
            function that makes one, given rounds, window, sensitivity, epsilon and so on by the names of its
            parameters; (streaming matrix, standard deviation); or `FILE.py:FUNCTION`.
        rounds: outputs, at most 4096.
        window: rounds that an item stays protected (None: all).
        epsilon: what is claimed.
        delta: what is claimed.
        sensitivity: how far an item moves where it is replaced, l2: 2 C for items clipped to C.
        participations: most rounds that one record takes part in; the loss is the worst over all such schedules, those
            that fit into the rounds in part too.
        separation: how many rounds they are apart at least.
        sums: a streaming matrix makes noise of sums, not of single items, which is summed here.
        exact_gaps: the rounds of a record are exactly `separation` apart.

    Returns:
        `verdict` ('keeps', 'violates', 'undecided'), `taken` (what the mechanism was taken for), `kept`, `epsilon`
        (accounted: no record loses more), `worst` (rounds, mu and bound of the record that loses most), `by_age` (a
        frame: the loss of an item by its age), item_mu, age_mu (Gaussian-DP parameters, (rounds,)), noise (the matrix
        B, (rounds, draws)).

    Raises:
        OwnNoiseError: a ConfigError of one line, for code that draws otherwise than it may, or is not linear.

    >>> import dpregret as dp
    >>> def fresh(generator, rounds, dimension):  # new noise in every sum: an item is in all later ones
    ...     return 100.0 * generator.standard_normal((rounds, dimension))
    >>> found = dp.audit(fresh, rounds=64, epsilon=1.0, delta=1e-6)
    >>> found.kept, round(found.epsilon, 3)
    (True, 0.313)
    """
    from dpregret.workflows.mechanisms import own_mechanism

    protected = rounds if window is None else window
    claim = own_mechanism.Claim(rounds, protected, epsilon, delta, sensitivity, participations, separation, exact_gaps)
    return own_mechanism.audited(mechanism, claim, sums)


@_door
def records(
    file: str | Path,
    *,
    label: str,
    norm: float,
    positive: Any = None,
    negative: Any = None,
    range: tuple[float, float] | None = None,
    **options: Any,
) -> Read:
    """Records of a CSV file, read as a study reads them, and what was read.

    Args:
        file: with a line of column names, compressed or not.
        label: its column.
        norm: largest Euclidean norm of a row of features, a public constant: longer rows are scaled down to it.
        positive: the value of the label that becomes +1.
        negative: those that become -1, where there are more than two.
        range: instead of both, (low, high) of a label of numbers.
        options: drop, ranges, levels, header, separator, encoding, decimal (docs/your_study.md).

    Returns:
        names, features (n, d), labels (n,), overview; printed, the page of `dpregret data`.

    Raises:
        ConfigError: one line with file, line, column and remedy.

    >>> import dpregret as dp
    >>> from pathlib import Path
    >>> _ = Path("bought.csv").write_text("age,visits,bought\\n31,2,no\\n54,9,yes\\n")
    >>> public = {"norm": 1.0, "ranges": {"age": (18, 90)}}
    >>> found = dp.records("bought.csv", label="bought", positive="yes", drop="visits", **public)
    >>> found.features.round(3).tolist(), found.labels.tolist()
    ([[-0.639], [0.0]], [-1.0, 1.0])
    >>> played = dp.play("dp-ftrl-lipschitz", data=found, epsilon=1.0)
    >>> played.stream, played.rounds, played.dimension
    ('records-logistic', 2, 1)
    """
    from dpregret.workflows.run.data import read

    given = {"label": label, "norm": norm, "positive": positive, "negative": negative, "range": range}
    return read(file, {name: value for name, value in {**given, **options}.items() if value is not None})


def compare(first: Played | Run | str | Path, second: Played | Run | str | Path) -> pd.DataFrame:
    """The differences between two plays, or between two runs.

    Args:
        first: a `Played`; or a run: a `Run`, a folder, an archive, an https address, or the word `reference`.
        second: of the same kind.

    Returns:
        Of plays one row a checkpoint that both have: the mean regrets of both, in columns named after the learners (and
        the settings that differ, budgets among them), and their `difference` (second minus first, in units of the loss)
        with low and high, a 95 % interval over runs: plays are compared run by run, on the same losses.
        Of runs one row a claim that differs, with both verdicts and exponents; `what` says whether an exponent moved
        beyond its interval.

    Raises:
        ConfigError: plays without a common checkpoint or run, or on other losses; a play beside a run; what is no run.

    >>> import dpregret as dp
    >>> setting = dict(stream="norm-kink", rounds=1024, dimension=4, window=64, epsilon=8.0)
    >>> tree, root = (dp.play(f"wdp-cocop-gaussian.{name}", **setting) for name in ("corrected", "root"))
    >>> last = dp.compare(tree, root).iloc[-1]
    >>> bool(last["high"] < 0)  # the root's regret is smaller
    True
    >>> dp.compare("reference", "reference").empty
    True
    """
    from dpregret.workflows.run.played import Played, compare_plays

    if isinstance(first, Played) and isinstance(second, Played):
        return compare_plays(first, second)
    if isinstance(first, Played) or isinstance(second, Played):
        raise ConfigError("compare: two plays or two runs, not one of each")
    from dpregret.paper_figs.compare.two_runs import compare as compared

    return compared(_lines(first), _lines(second))


def _lines(run: Run | str | Path) -> pd.DataFrame:
    """The lines of a run that were measured."""
    from dpregret.core.arguments import path
    from dpregret.paper_figs.judge.vocabulary import NOT_RUN
    from dpregret.workflows.run.load_run import Run, read_run

    if isinstance(run, Run):
        return run.lines.loc[run.lines["verdict"] != NOT_RUN]
    if not isinstance(run, str | Path):
        raise ConfigError(f"compare: must be a play, a run, or the path of a run, not {type(run).__name__}")
    return read_run(str(path("compare", run)))


@_door
def load(place: str | Path = "reference") -> Run:
    """The tables of a finished run as frames.

    Args:
        place: a folder of results, a file that `make archive` made of one (every checksum is compared before a number
            is read), or `reference`, the results that are published with this version (`reference/ci`: of the profile
            ci).

    Returns:
        `claims` and `checks` (one row each, columns of claims.csv), `table(paper, number)`, `tables`,
        `rows(paper, experiment)` (one row a run and checkpoint; the reference has none).

    Raises:
        ConfigError: one line, for a place without results or with damaged ones.

    >>> import dpregret as dp
    >>> reference = dp.load()
    >>> row = reference.claims.set_index(["paper", "claim"]).loc[("lou_cheung_2020", "thm3-T")]
    >>> row["rate"], row["verdict"]
    ('ln T', 'reproduced')
    """
    from dpregret.workflows.run.load_run import load as read

    return read(place)


def learners() -> pd.DataFrame:
    """All learners, one row each.

    Returns:
        name, variants (a tuple), default (the variant that is played where none is named; it keeps its budget), title,
        family (`online`, `experts`, `bandits`, `erm`), paper, reference (the place there), private, windowed, needs
        (traits that a stream must have, see `streams()`, and `local-oracle` of sets that have one), same_as (another
        learner whose points its own are, and where).

    Raises:
        ConfigError: a file of the study, where there is one, cannot be imported.

    >>> import dpregret as dp
    >>> dp.learners().set_index("name").loc["wdp-cocop-gaussian", "paper"]
    'Lou & Cheung 2020'
    """
    import pandas as pd

    from dpregret.workflows.families import FAMILIES

    return pd.DataFrame(
        [
            {
                "name": name,
                "variants": tuple(learner.card.variants),
                "default": learner.card.usual,
                "title": learner.card.title,
                "family": family.name,
                "paper": learner.card.paper,
                "reference": learner.card.reference,
                "private": learner.card.private,
                "windowed": learner.card.windowed,
                "needs": tuple(sorted(family.needs(learner))),
                "same_as": learner.card.same_as,
            }
            for family in FAMILIES.values()
            for name, learner in family.learners.items()
        ]
    )


def streams() -> pd.DataFrame:
    """All streams of losses, and risks, one row each.

    Returns:
        name, title, family (as of `learners()`), traits (a tuple: what learners may need).

    Raises:
        ConfigError: a file of the study, where there is one, cannot be imported.

    >>> import dpregret as dp
    >>> sorted(dp.streams().set_index("name").loc["norm-kink", "traits"])
    ['strongly-convex']
    """
    import pandas as pd

    from dpregret.workflows.families import FAMILIES

    return pd.DataFrame(
        [
            {"name": name, "title": stream.title, "family": family.name, "traits": tuple(sorted(stream.traits))}
            for family in FAMILIES.values()
            for name, stream in family.streams.items()
        ]
    )


def papers() -> tuple[str, ...]:
    """Names of the papers, and of the chapters of our own, whose claims are measured.

    Returns:
        What `claim`, `claims` and `errata` take as `paper`, in alphabetical order.

    >>> import dpregret as dp
    >>> "lou_cheung_2020" in dp.papers()
    True
    """
    from dpregret.workflows.plan.read import papers as names

    return names()


def sets() -> pd.DataFrame:
    """All constraint sets, one row each.

    Returns:
        name (what `play` takes as `set`), title, local_oracle (whether it has one, for learners that need it).

    Raises:
        ConfigError: a file of the study, where there is one, cannot be imported.

    >>> import dpregret as dp
    >>> dp.sets().set_index("name").loc["ball", "title"]
    'ball'
    """
    import pandas as pd

    from dpregret.workflows.plan.facts import display_names
    from dpregret.workflows.plan.semantic_checks import has_local_oracle, set_names

    titles = display_names()
    rows = [
        {"name": name, "title": titles[f"set:{name}"], "local_oracle": has_local_oracle(name)} for name in set_names()
    ]
    return pd.DataFrame(rows)


@_door
def claims(paper: str | None = None) -> pd.DataFrame:
    """The claims of a paper, or of all; `claim(paper, name)` decides one, `load().claims` has those measured.

    Args:
        paper: a name of `papers()`, or the beginning of one (None: all).

    Returns:
        One row each: paper, claim, statement, source (its place), stated (the rate), learner (`name.variant`).

    Raises:
        ConfigError: there is no such paper.

    >>> import dpregret as dp
    >>> dp.claims("lou_cheung").set_index("claim").loc["thm3-T", "statement"]
    'for a fixed window regret grows like ln T'
    """
    import pandas as pd

    from dpregret.core.paper_names import paper_of
    from dpregret.workflows.run.check import claims_of

    names = papers() if paper is None else (paper_of(paper, papers()),)
    rows = [entry for name in names for entry in claims_of(name)]
    columns = {"paper": "paper", "claim": "id"} | {name: name for name in ("statement", "source", "stated", "learner")}
    return pd.DataFrame([{name: getattr(row, field) for name, field in columns.items()} for row in rows])


@_door
def errata(paper: str | None = None) -> pd.DataFrame:
    """The errata of a paper, or of all, as measured for this version.

    Args:
        paper: as in `claims`.

    Returns:
        One row each: paper, erratum, kind, place, printed, right, why, and the further columns of errata.csv: what the
        misprint costs, and where that is seen.

    Raises:
        ConfigError: there is no such paper.

    >>> import dpregret as dp
    >>> dp.errata("lou_cheung").set_index("erratum").loc["L1", "place"]
    'eq. (10) and Algorithm 1, line 3'
    """
    import pandas as pd

    from dpregret.core.paper_names import paper_of

    wanted = None if paper is None else paper_of(paper, papers())
    tables = load().tables
    named = [(name.partition("/")[0], table) for name, table in tables.items() if name.endswith("/errata")]
    parts = [table.assign(paper=name) for name, table in named if wanted in (None, name)]
    if not parts:
        return pd.DataFrame(columns=["paper", "erratum"])
    joined = pd.concat(parts, ignore_index=True)
    return joined[["paper", *[column for column in joined if column != "paper"]]]


def profiles() -> tuple[str, ...]:
    """Names of the profiles, the sizes of a run.

    Returns:
        What `claim(...).measure(profile)` and `dpregret run --profile` take, beside a path of a profile of your own.

    >>> import dpregret as dp
    >>> "quick" in dp.profiles()
    True
    """
    from dpregret.workflows.plan.read import profile_names

    return tuple(profile_names())
