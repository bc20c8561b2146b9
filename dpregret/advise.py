"""Which learner for a setting: `python -m dpregret.advise --rounds 1e5 --dimension 32 --epsilon 1 --window 1024`."""

import sys

from dpregret.workflows.advice.page import main

if __name__ == "__main__":
    sys.exit(main())
