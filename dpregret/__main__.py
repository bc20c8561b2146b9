"""`python -m dpregret`, and the command `dpregret`."""

from __future__ import annotations

from typing import NoReturn

from dpregret.core import interrupt


def main() -> NoReturn:
    """The command; its modules take a second to import, in which it may be interrupted too."""
    interrupt.guard()
    from dpregret.cli import main

    main()


if __name__ == "__main__":
    main()
