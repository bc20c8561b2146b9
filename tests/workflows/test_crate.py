"""A crate names every file of a run with its checksum, and nothing that it does not hold."""

import json
import zipfile
from pathlib import Path

from dpregret.core.files import checksum
from dpregret.workflows.run import archive
from dpregret.workflows.run.sums import write_sums


def test_a_crate_holds_and_names_what_the_run_lists(tmp_path: Path) -> None:
    results = tmp_path / "results"
    (results / "paper").mkdir(parents=True)
    (results / "paper" / "claims.csv").write_text("claim\n")
    write_sums(results, ["paper"], {"profile": "mine", "commit": "abc", "dpregret": "1.2.3"})
    output = tmp_path / "run.zip"
    assert archive.main([str(results), str(output)]) == 0
    with zipfile.ZipFile(output) as packed:
        described = json.loads(packed.read(archive.METADATA))
        held = set(packed.namelist())
    entities = {each["@id"]: each for each in described["@graph"]}
    named = {name for name, each in entities.items() if "File" in each["@type"]}
    assert held == named | {archive.METADATA} == {
        archive.METADATA, "Snakefile", "results/origin.json", "results/paper/claims.csv"}  # fmt: skip
    assert entities["results/paper/claims.csv"]["sha256"] == checksum(results / "paper" / "claims.csv")
    assert {each["@id"] for each in entities["./"]["hasPart"]} == named
    assert entities["#run"]["instrument"]["@id"] == entities["./"]["mainEntity"]["@id"] == "Snakefile"
    told = json.dumps(described["@graph"])
    assert {each["@id"] for each in entities["./"]["conformsTo"]} <= set(entities)
    assert str(tmp_path) not in told
    (results / "paper" / "claims.csv").write_text("edited\n")
    assert archive.main([str(results), str(output)]) == 1
