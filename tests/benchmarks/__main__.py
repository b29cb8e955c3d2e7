"""`python -m tests.benchmarks` and `python tests/benchmarks` both start the benchmarks."""

import sys

if __package__:
    from .cli import main
else:  # started by its path: this folder is first on the path of imports, which is not wanted
    from loading import load_package

    del sys.path[0]
    load_package()
    from benchmarks.cli import main

if __name__ == "__main__":
    sys.exit(main())
