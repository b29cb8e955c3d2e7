"""`python tests/benchmarks/run.py` starts the benchmarks (the same as `python -m tests.benchmarks`)."""

import runpy
from pathlib import Path

if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).resolve().parent), run_name="__main__")
