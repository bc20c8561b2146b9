"""Re-check results or an archive of them, offline: `python -m dpregret.verify results build/dpregret-full.tar.gz`."""

import sys

from dpregret.workflows.verify import main

if __name__ == "__main__":
    sys.exit(main())
