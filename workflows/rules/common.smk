# Which files belong to what.

TABLES = [
    "claims.csv",
    "checks.csv",
    "jobs.csv",
    *[f"costs.{form}" for form in ("csv", "md", "html")],
    *[f"errata.{form}" for form in ("csv", "md")],
    *[
        f"{name}.{form}"
        for name in ("table_1", "table_1_all")
        for form in ("csv", "md", "tex", "html")
    ],
]
CAPTIONS = {
    "table_1.html": ("Claims", "printed.rst", "table as printed"),
    "table_1_all.html": ("Claims", "table.rst", "comparison table"),
    "table_{number}.html": ("Claims", "table.rst", "comparison table {number}"),
    "claims.csv": ("Claims", "claims.rst", "every claim"),
    "checks.csv": ("Claims", "checks.rst", "every consistency check"),
    "errata.csv": ("Errata", "errata.rst", "errata"),
    "costs.html": ("Costs", "costs.rst", "oracle calls"),
}
RUN_MINUTES, RUN_MB = 5, 1250  # least that a run asks a cluster for
HOSTS = contained.hosts(CONFIG, INDEX.card)
AUDIT = CONFIG.audit or configuration.AuditSize()
FAMILIES = sorted(INDEX.learners)
AUDIT_TABLES = [
    "audit/audit_pairs.csv",
    *[f"audit/audit.{form}" for form in ("csv", "md", "html")],
    *[f"audit/planted.{form}" for form in ("csv", "md", "html")],
]
VALIDATION_TABLES = [
    f"validation/{name}.{form}"
    for name in ("intervals", "verdicts", "resolution", "gate", "stopping")
    for form in ("csv", "md", "html")
]
TRUST_CAPTIONS = {
    "audit/audit.html": ("Privacy audit", "audit.rst", "every learner"),
    "audit/planted.html": ("Privacy audit", "planted.rst", "planted bugs"),
    "validation/intervals.html": (
        "Validation of the fits",
        "intervals.rst",
        "coverage of intervals",
    ),
    "validation/verdicts.html": (
        "Validation of the fits",
        "verdicts.rst",
        "planted curves",
    ),
    "validation/resolution.html": (
        "Validation of the fits",
        "resolution.rst",
        "stated resolutions",
    ),
    "validation/gate.html": ("Validation of the fits", "gate.rst", "odds of the gate"),
    "validation/stopping.html": (
        "Validation of the fits",
        "stopping.rst",
        "intervals of runs that stop",
    ),
}
WINNERS = [
    "winners.csv",
    "winners.md",
    *[f"winners/{name}.csv" for name in ("cells", "times")],
    *[
        f"winners/{name}.{form}"
        for name in ("profiles", "pairs", "coverage")
        for form in ("csv", "md", "html")
    ],
    *[f"winners/profiles.{form}" for form in ("png", "pdf", "svg")],
    "winners/profiles_figure.csv",
]
CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
PYTHON = "python" if CONDA else shlex.quote(sys.executable)
EXEC = "exec " if os.name == "posix" else ""  # signals for the shell then reach the job
CLIENT = shlex.quote(f"{workflow.basedir}/workflows/forkserver/client.py")


def task(script, arguments):
    """The command of a rule: a job of workflows/scripts, done by the server of the run where there is one.

    The job seals what it makes, with all its parameters, of which the code comes last, and the inputs that it is given.
    """
    read = " ".join(re.findall(r"--(\w+) \{input", arguments))
    sealed = f"--asked {{params:q}} --from {read}"
    # no name is a word of the shell
    quoted = re.sub(r"{([^{}:]+)}", r"{\1:q}", arguments)
    return f"{EXEC}{PYTHON} -I -S {CLIENT} {script} --log {{log:q}} --output {{output:q}} {sealed} {quoted}"


@cache
def run_need(*job):
    """Minutes and megabytes that the size of a run predicts; only who sends jobs or counts memory has to know."""
    counted = {"mem_mb", "runtime"} & set(workflow.resource_settings.resources)
    sent = workflow.resource_settings.nodes is not None or not workflow.local_exec
    if not workflow.is_main_process or not (sent or counted):
        return RUN_MINUTES, RUN_MB
    from dpregret.workflows.costs.model import asked

    try:
        found = asked(CONFIG, configuration.Job(*job))
    except OSError:  # the table of measured rates is not there
        return RUN_MINUTES, RUN_MB
    return max(RUN_MINUTES, found[0]), max(RUN_MB, found[1])


def data_files(wildcards):
    """The prepared data that the streams of an experiment need."""
    experiment = CONFIG.experiment(wildcards.paper, wildcards.experiment)
    names = INDEX.needed(experiment.family, experiment.streams)
    if "source" in experiment.options:
        names.append(experiment.options["source"])
    return [f"datasets/cache/{name}.npz" for name in names]


def run_code(wildcards):
    """The fingerprint of the code that decides the results of a run."""
    experiment = CONFIG.experiment(wildcards.paper, wildcards.experiment)
    return fingerprint.learner_fingerprint(
        *INDEX.modules(experiment.family, wildcards.learner, experiment.streams)
    )


def seal_run(anew=True):
    """List what there is now, with checksums; not anew where a list is as young as the last job."""
    from dpregret.workflows import manifest

    if not anew and manifest.current(Path(RESULTS)):
        return
    sums = seals.Checksums()
    try:
        manifest.write(Path(RESULTS), CONFIG, rules.all.input, sums)
    except OSError as error:
        logger.info(f"dpregret: no list of the results: {error}")
    sums.save()


def run_file(job):
    """Where the result of a job is."""
    return f"{RESULTS}/{job.paper}/runs/{job.experiment}/{job.learner}.{job.variant}.parquet"


def host_file(wildcards):
    """The result of the job that plays all that this one asks for, where there is one."""
    host = HOSTS.get(configuration.Job(*wildcards))
    return [] if host is None else [run_file(host)]


def paper_runs(paper):
    """Where the results of a paper's jobs are."""
    return [run_file(job) for job in JOBS if job.paper == paper]


def paper_costs(paper):
    """Where the timings of a paper's oracles are, if its configuration lists some."""
    listed = CONFIG.papers[paper].oracle_costs
    return [f"{RESULTS}/{paper}/oracles.parquet"] if listed else []


def run_files(wildcards):
    """The results of all jobs of one paper."""
    return paper_runs(wildcards.paper)


def cost_files(wildcards):
    """The timings of a paper's oracles, where its configuration lists some."""
    return paper_costs(wildcards.paper)


def expiry_files(wildcards):
    """The loss by age of window privacy, where a paper has a figure of it."""
    wanted = any(figure.type == "expiry" for figure in CLAIMS[wildcards.paper].figures)
    return [f"{RESULTS}/{wildcards.paper}/expiry.parquet"] if wanted else []


def exact_files(wildcards):
    """The folder of a chapter's exact tables, where it lists some."""
    listed = CLAIMS[wildcards.paper].exact
    return [f"{RESULTS}/{wildcards.paper}/exact"] if listed else []


def paper_outputs(paper):
    """Everything that the default run makes for one paper."""
    further = range(2, len(CLAIMS[paper].tables) + 1)
    names = [*TABLES, "figures", *(["exact"] if CLAIMS[paper].exact else [])]
    names += [f"gains.{form}" for form in ("csv", "md", "html") if CLAIMS[paper].gains]
    names += [
        f"table_{number}.{form}"
        for number in further
        for form in ("csv", "md", "tex", "html")
    ]
    return [f"{RESULTS}/{paper}/{name}" for name in names]


def asked_papers():
    """The papers that the asked targets are about."""
    found = {getattr(job.wildcards, "paper", None) for job in workflow.dag.jobs}
    return [paper for paper in CONFIG.papers if paper in found]


def shown_files(wildcards):
    """What the report shows: tables and figures of all papers with their runs, audit and validation, and speed where known."""
    parts = paper_outputs, paper_runs, paper_costs
    files = [name for paper in CONFIG.papers for part in parts for name in part(paper)]
    files += [f"{RESULTS}/{name}" for name in WINNERS]
    files += [f"{RESULTS}/{name}" for name in AUDIT_TABLES if CONFIG.audit]
    files += [f"{RESULTS}/{name}" for name in VALIDATION_TABLES if CONFIG.validation]
    folders = [Path(RESULTS), Path("results") / "reference"]
    measured = [sorted((folder / "speed").glob("*.md")) for folder in folders]
    return files + [str(path) for paths in measured for path in paths]


KEPT = "claims", "checks", "jobs", "audit", "planted", "exact_losses"
REFERENCE = RESULTS.replace("results", "results/reference", 1)


def kept(*folders):
    """What is there of the reference and is compared; the gates say what is missing."""
    names = ["SHA256SUMS", *(f"{name}.csv" for name in KEPT)]
    paths = [Path(REFERENCE) / folder / name for folder in folders for name in names]
    return [str(path) for path in paths if path.exists()]


def captioned(name):
    """A table of a paper, marked for the report where it has a caption."""
    path = f"{RESULTS}/{{paper}}/{name}"
    if name not in CAPTIONS:
        return path
    category, caption, label = CAPTIONS[name]
    return report(
        path,
        category=category,
        caption=f"../report/{caption}",
        labels={"paper": "{paper}", "what": label},
    )


def trust_table(name):
    """A table of the audit or of the validation, marked for the report where it is meant to be read."""
    path = f"{RESULTS}/{name}"
    if name not in TRUST_CAPTIONS:
        return path
    category, caption, label = TRUST_CAPTIONS[name]
    return report(
        path,
        category=category,
        caption=f"../report/{caption}",
        labels={"paper": "all", "what": label},
    )
