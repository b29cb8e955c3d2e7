"""The command line of the benchmarks; `--help` lists the options."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .driver import Driver, Result
from .measure import CLOCKS
from .pool import WorkerError, WorkerPool
from .processes import ProcessBench
from .report import as_json, best_table, machine, markdown_table, summary, text_table
from .rows import Row, all_rows, with_peer_as_subject, without_torch
from .sides import JAX, SIDES

ROUNDS = 5
SECONDS = 0.08


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure the speed budgets.")
    options.add_argument("--only", action="append", metavar="SUBSTRING", help="rows whose title has it (repeatable)")
    options.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of A B A B (default {ROUNDS})")
    options.add_argument("--seconds", type=float, default=SECONDS, help=f"seconds of one sample (default {SECONDS})")
    options.add_argument(
        "--clock", choices=sorted(CLOCKS), default="wall", help="cpu: for a machine that others keep busy"
    )
    options.add_argument("--json", type=Path, metavar="FILE", help="write everything measured")
    options.add_argument("--markdown", type=Path, metavar="FILE", help="write the table for the README")
    options.add_argument("--hlo", type=Path, metavar="FOLDER", help="write the optimised HLO of the compiled rows")
    options.add_argument("--strict", action="store_true", help="exit status 1 when a row is OVER or could not run")
    options.add_argument("--profile", metavar="ROW", help="print the profile of the first row whose title has ROW")
    options.add_argument("--peer-only", action="store_true", help="JAX in Tangrad's place: a self-test, ratios near 1")
    options.add_argument("--peer-python", default=sys.executable, help="interpreter that has jax and autograd")
    options.add_argument("--xmap-python", metavar="PYTHON", help="interpreter that has jax 0.4.23: adds rows of xmap")
    options.add_argument("--torch-python", metavar="PYTHON", help="interpreter that has PyTorch: adds that peer")
    options.add_argument("--list", action="store_true", help="print the rows and stop")
    return options


def chosen_rows(only: Sequence[str] | None, peer_only: bool, xmap: bool = False, torch: bool = False) -> list[Row]:
    """The rows that `--only` asks for (all without it), those of `xmap` if there is a JAX that has it; with PyTorch or
    without."""
    rows = [row for row in all_rows() if not only or any(part in row.title for part in only)]
    rows = [row for row in rows if xmap or all(SIDES[peer.side].interpreter != "xmap" for peer in row.peers)]
    rows = rows if torch else [without_torch(row) for row in rows]
    return [with_peer_as_subject(row) for row in rows] if peer_only else rows


def print_profile(rows: Sequence[Row], peer_python: str) -> int:
    """Profile the subject's hot path in the first row."""
    row = next((row for row in rows if row.kind == "loop"), None)
    if row is None:
        print("no such row, or it runs in a process of its own (use python -X importtime)", file=sys.stderr)
        return 2
    bench = ProcessBench()
    pool = WorkerPool(Path(bench.folder.name), peer_python)
    try:
        print(row.title, pool.ask(row.subject, do="profile", program=row.program)["profile"])
    except WorkerError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        pool.close()
        bench.close()
    return 0


def report(message: str) -> None:
    """Progress, on standard error: one line that is overwritten on a terminal."""
    ending = "\r" if sys.stderr.isatty() else "\n"
    print(f"{message:<78}", end=ending, file=sys.stderr, flush=True)


def measure(rows: Sequence[Row], options: argparse.Namespace) -> list[Result]:
    """Run the rows with progress shown."""
    driver = Driver(
        options.rounds,
        options.seconds,
        options.peer_python,
        options.clock,
        options.hlo,
        options.xmap_python,
        options.torch_python,
    )
    try:
        return driver.run(rows, report)
    finally:
        driver.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; the exit status."""
    options = parser().parse_args(arguments)
    if options.rounds < 1:
        parser().error(f"--rounds must be at least 1, got {options.rounds}")
    wanted = [options.profile] if options.profile else options.only
    rows = chosen_rows(
        wanted, options.peer_only, bool(options.xmap_python or options.profile), bool(options.torch_python)
    )
    if options.list:
        print("\n".join(row.title for row in rows))
        return 0
    if options.profile:
        return print_profile(rows, options.peer_python)
    if not rows:
        print(f"no row matches {wanted}", file=sys.stderr)
        return 2
    results = measure(rows, options)
    write(results, options)
    failed = any(result.verdict != "OK" for result in results)
    return 1 if options.strict and failed else 0


def write(results: list[Result], options: argparse.Namespace) -> None:
    """Print the table and write the files that were asked for."""
    where = machine()
    stand_in = f", {JAX.title} in Tangrad's place" if options.peer_only else ""
    taken = f"{options.rounds} rounds, {options.clock} clock{stand_in}"
    print(f"Python {where['python']}, {where['processors']} processors, {taken}\n")
    print(text_table(results))
    print(f"\n{summary(results)}")
    if beside := best_table(results):
        print(f"\n{beside}")
    if options.json:
        options.json.write_text(as_json(results), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(markdown_table(results) + "\n", encoding="utf-8")
