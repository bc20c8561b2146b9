"""`python -m dpregret`: the command `dpregret`."""

from dpregret.cli import main

if __name__ == "__main__":
    main()
