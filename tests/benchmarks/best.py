"""The table of workloads beside the best of the peers: how much longer each backend takes than the fastest."""

from collections.abc import Sequence

from .driver import Result
from .sides import JAX, NUMPY, TORCH

PREFIX = "peers: "
PEERS = (JAX.name, NUMPY.name, TORCH.name)
HEAD = """| work, ms | X | N | JAX | NumPy | PyTorch | X to the best | N to the best |
|---|---:|---:|---:|---:|---:|---:|---:|"""


def best_table(results: Sequence[Result]) -> str:
    """The table as Markdown, and how many workloads are at or near the best; nothing where none was measured."""
    measured = [result for result in results if result.row.name.startswith(PREFIX) and result.judged is not None]
    names = list(dict.fromkeys([result.row.name for result in measured]))
    lines = [_line(name, [result for result in measured if result.row.name == name]) for name in names]
    counts = [
        f"{letter}: {sum([ratio <= limit for ratio in ratios])} of {len(ratios)} within {limit}"
        for letter, limit in (("X", 1.02), ("N", 1.5))
        if (ratios := [found for name in names if (found := to_the_best(measured, name, letter)) is not None])
    ]
    return "\n".join([HEAD, *lines, "", "; ".join(counts)]) if lines else ""


def to_the_best(results: Sequence[Result], name: str, letter: str) -> float | None:
    """The greatest of a workload's ratios to its peers: that to the fastest."""
    ratios = [
        result.judged
        for result in results
        if result.row.name == name and result.row.backend == letter and result.judged is not None
    ]
    return max(ratios, default=None)


def _line(name: str, results: Sequence[Result]) -> str:
    ours = {result.row.backend: result.subject for result in results}
    theirs = {result.peer_name: result.peer for result in results}
    times = [ours.get("X"), ours.get("N"), *[theirs.get(peer) for peer in PEERS]]
    ratios = [to_the_best(results, name, letter) for letter in ("X", "N")]
    cells = [_shown(None if time is None else time * 1e3) for time in times]
    return " | ".join(["| " + name.removeprefix(PREFIX), *cells, *map(_shown, ratios)]) + " |"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
