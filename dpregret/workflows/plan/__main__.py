"""`python -m dpregret.workflows.plan OPTIONS`: print the plan for some options, both as JSON, or what is wrong."""

from __future__ import annotations

import json
import sys
from typing import Any

from dpregret.workflows.run import child


def answer(say: child.Say) -> dict[str, Any]:
    """In the child: everything of ours is imported here."""
    sys.stdout = sys.stderr  # what a learner prints when it is imported is not part of the answer
    from dpregret.core import discovery

    discovery.announce.append(lambda module: say(f"while {module} was imported"))
    from dpregret.workflows.plan.make import planned

    return planned(json.loads(sys.argv[1]), say)


def main() -> int:
    """Make the plan in a child of this process."""
    found, fault = child.call(answer)
    if fault:
        found = {"problems": [f"the plan could not be made: {fault}"], "plan": None}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
