"""`python -m tangrad`: the command `tangrad`."""

import sys

from tangrad._console.cli import main

if __name__ == "__main__":
    sys.exit(main())
