"""`python -m tests.benchmarks.shapes`: memory of a long eager session in which no shape comes twice.

Prints a line for every so many lengths of `(x * 2 + 1).sum()`: resident memory and the most so far in MiB, programs
compiled, CPU seconds and microseconds of CPU for one length since the line before. `--side jax` runs the same on JAX.
"""

import argparse
import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from importlib import import_module
from pathlib import Path
from time import process_time

from .measure import counter

PAGES_IN_A_MIB = 2**20 // resource.getpagesize()
KIB_IN_A_MIB = 2**10
HEADINGS = ("lengths", "MiB", "most", "programs", "CPU s", "µs a length")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was seen after so many lengths; a field for each of `HEADINGS`."""

    lengths: int
    resident: int
    most: int
    programs: int
    seconds: float
    microseconds: float


def resident() -> int:
    """Resident memory in MiB (Linux only)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) // PAGES_IN_A_MIB


def readings(side: str, lengths: int, every: int) -> Iterator[Reading]:
    """Run the session on `"tangrad"` (XLA) or `"jax"`, with a reading before it and after every so many lengths."""
    numpy = import_module(f"{side}.numpy")
    if side == "tangrad":
        import_module(side).config.update("backend", "xla")
    compiled = counter(side)
    start = last = process_time()
    for length in range(lengths + 1):
        if length % every == 0:
            now = process_time()
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // KIB_IN_A_MIB
            yield Reading(length, resident(), most, compiled(), now - start, (now - last) / every * 1e6)
            last = now
        float((numpy.ones(length + 1) * 2 + 1).sum())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a session and print its readings; the exit status."""
    options = argparse.ArgumentParser(prog="python -m tests.benchmarks.shapes", description=main.__doc__)
    options.add_argument("--side", choices=("tangrad", "jax"), default="tangrad")
    options.add_argument("--lengths", type=int, default=10_000)
    options.add_argument("--every", type=int, default=1_000)
    chosen = options.parse_args(arguments)
    print("|", " | ".join(HEADINGS), "|")
    print("|" + "---:|" * len(HEADINGS))
    for reading in readings(chosen.side, chosen.lengths, chosen.every):
        cells = [f"{value:,.0f}" for value in astuple(reading)]
        print("|", " | ".join(cells), "|", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
