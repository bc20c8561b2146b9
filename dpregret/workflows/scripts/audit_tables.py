"""Write the tables of the audit."""

from dpregret.workflows.audit.tables import write_audit
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    families = [script.file(f"audit_family/{family}") for family in script.plan.content["families"]]
    write_audit(families, script.file("planted/all"), script.out)
