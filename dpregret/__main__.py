"""`python -m dpregret`, and the command `dpregret`."""

from __future__ import annotations

import gc
from typing import NoReturn

from dpregret.core import interrupt


def main() -> NoReturn:
    """The command; its modules take a second to import, in which it may be interrupted too."""
    interrupt.guard()
    gc.set_threshold(50_000)  # imports make much and leave nothing: a fifteenth of the time of most commands
    from dpregret.cli import main

    main()


if __name__ == "__main__":
    main()
