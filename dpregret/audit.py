"""Exact audit of your own correlated noise: `python -m dpregret.audit my_noise.py:make --window 64 --rounds 512`."""

import sys

from dpregret.workflows.mechanisms.own_report import main

if __name__ == "__main__":
    sys.exit(main())
