"""What moved between two runs, each a folder, an archive or an address: `python -m dpregret.compare A B`."""

import sys

from dpregret.workflows.compare import main

if __name__ == "__main__":
    sys.exit(main())
