"""Runs rows: subject and peers in turn, A B A B, over several rounds; the ratio is the median of the rounds' ratios."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from statistics import median

from .hlo import first_difference, same_graph
from .pool import WorkerError, WorkerPool
from .processes import ProcessBench
from .rows import Peer, Row
from .sides import SIDES

Progress = Callable[[str], None]
PROCESS_ROUNDS = 2  # a process is sampled once a round, a loop many times


@dataclass(slots=True)
class Result:
    """One row against one peer: medians of both in the row's unit; `judged` is held against `limit`."""

    row: Row
    peer_name: str
    limit: float
    subject: float | None = None
    peer: float | None = None
    judged: float | None = None
    notes: list[str] = field(default_factory=list)
    error: str = ""
    compilations: tuple[int, ...] = ()

    @property
    def verdict(self) -> str:
        """'OK', 'OVER', or 'ERROR' where nothing could be measured."""
        if self.judged is None:
            return "ERROR"
        return "OK" if self.judged <= self.limit else "OVER"


class Driver:
    """Measures rows one after another."""

    def __init__(
        self,
        rounds: int,
        seconds: float,
        peer_python: str,
        clock: str = "wall",
        hlo_folder: Path | None = None,
        xmap_python: str | None = None,
        torch_python: str | None = None,
    ) -> None:
        self.rounds, self.seconds, self.clock, self.hlo_folder = rounds, seconds, clock, hlo_folder
        self.processes = ProcessBench(peer_python)
        self.pool = WorkerPool(Path(self.processes.folder.name), peer_python, xmap_python, torch_python)

    def close(self) -> None:
        """End the workers and remove what was written."""
        self.pool.close()
        self.processes.close()

    def run(self, rows: Iterable[Row], progress: Progress) -> list[Result]:
        """Measure all rows, in order."""
        results: list[Result] = []
        rows = list(rows)
        for number, row in enumerate(rows, 1):
            progress(f"[{number}/{len(rows)}] {row.title}")
            results += geometric_mean(row, results) if row.kind == "geometric mean" else self.measure(row)
        return results

    def measure(self, row: Row) -> list[Result]:
        """One result per peer. A peer that fails spoils only its own line."""
        results = [Result(row, peer.side, peer.limit) for peer in row.peers]
        try:
            if row.kind != "once":
                self._sample(row, row.subject, row.program)
        except WorkerError as error:
            for result in results:
                result.error = str(error)
            return results
        self._measure_rounds(row, results)
        for result in results:
            if row.compare_hlo and not result.error:
                self._compare_hlo(row, result)
            if row.count_compilations and not result.error:
                self._count_compilations(row, result)
        return results

    def _measure_rounds(self, row: Row, results: list[Result]) -> None:
        subject: list[float] = []
        by_peer: list[list[float]] = [[] for _ in row.peers]
        for peer, result in zip(row.peers, results, strict=True) if row.kind != "once" else ():
            self._try_sample(row, peer, result)
        rounds = {"process": self.rounds * PROCESS_ROUNDS, "once": 1}.get(row.kind, self.rounds)
        for _ in range(rounds):
            subject.append(self._sample(row, row.subject, row.program))
            for peer, result, samples in zip(row.peers, results, by_peer, strict=True):
                value = None if result.error else self._try_sample(row, peer, result)
                samples.append(float("nan") if value is None else value)
        for result, samples in zip(results, by_peer, strict=True):
            if not result.error:
                self._judge(row, result, subject, samples)

    def _try_sample(self, row: Row, peer: Peer, result: Result) -> float | None:
        try:
            return self._sample(row, peer.side, peer.program or row.program)
        except WorkerError as error:
            result.error = f"{SIDES[peer.side].title}: {error}"
            return None

    def _sample(self, row: Row, side: str, program: str) -> float:
        if row.kind == "process":
            unit = "cpu_seconds" if row.unit == "seconds" and self.clock == "cpu" else row.unit
            try:
                return self.processes.sample(SIDES[side], program)[unit]
            except (RuntimeError, OSError, ValueError) as error:
                raise WorkerError(str(error)) from error
        asked = {"program": program, "seconds": self.seconds, "clock": "cpu" if row.kind == "once" else self.clock}
        return float(self.pool.ask(side, do="sample", **asked)["seconds"])

    def _judge(self, row: Row, result: Result, subject: list[float], peer: list[float]) -> None:
        result.subject, result.peer = median(subject), median(peer)
        ratio = median(one / other for one, other in zip(subject, peer, strict=True))
        if row.judge == "ratio":
            result.judged = ratio
        elif row.judge == "difference":
            result.judged = min(subject) - min(peer)  # noise only adds, and here it is larger than what is looked for
        else:
            result.judged = result.subject
        if row.per_equation:
            self._divide_by_equations(row, result, ratio)

    def _divide_by_equations(self, row: Row, result: Result, ratio: float) -> None:
        assert result.subject is not None and result.peer is not None
        ours, theirs = (
            int(self.pool.ask(side, do="equations", program=row.program)["equations"])
            for side in (row.subject, result.peer_name)
        )
        result.subject, result.peer = result.subject / ours, result.peer / theirs
        # The stricter of the two readings: more equations than the peer for the same work must not look like speed.
        result.judged = max(ratio * theirs / ours, ratio)
        if ours != theirs:
            result.notes.append(f"{ours} and {theirs} equations; the whole program {ratio:.3f}")

    def _count_compilations(self, row: Row, result: Result) -> None:
        try:
            result.compilations = tuple(
                [
                    int(self.pool.ask(side, do="compilations", program=row.program)["compilations"])
                    for side in (row.subject, result.peer_name)
                ]
            )
        except WorkerError as error:
            result.notes.append(f"compilations not counted: {error}")
            return
        ours, theirs = result.compilations
        result.notes.append(f"compiles {ours}, {SIDES[result.peer_name].title} {theirs}")

    def _compare_hlo(self, row: Row, result: Result) -> None:
        try:
            ours, theirs = (
                self.pool.ask(side, do="hlo", program=row.program)["hlo"] for side in (row.subject, result.peer_name)
            )
        except WorkerError as error:
            result.notes.append(f"no HLO text: {error}")
            return
        if self.hlo_folder is not None:
            write_hlo(self.hlo_folder, row, {row.subject: ours, result.peer_name: theirs})
        if ours and ours == theirs:
            result.notes.append(f"identical HLO (timed {result.judged:.3f})")
            result.judged = 1.0
        elif same_graph(ours, theirs):
            result.notes.append(f"identical HLO, listed in another order (timed {result.judged:.3f})")
            result.judged = 1.0
        else:
            result.notes.append(f"HLO differs, {first_difference(ours, theirs)}")


def write_hlo(folder: Path, row: Row, texts: dict[str, str]) -> None:
    """Both sides' normalised HLO, for a look at where they differ."""
    folder.mkdir(parents=True, exist_ok=True)
    for side, text in texts.items():
        name = f"{row.name.replace(': ', '-').replace(' ', '-')}-{side}.txt"
        (folder / name).write_text(text + "\n", encoding="utf-8")


def geometric_mean(row: Row, results: Iterable[Result]) -> list[Result]:
    """The geometric mean of the steady-state ratios; an error where one of them could not be measured."""
    cases = [result for result in results if result.row.compare_hlo]
    result = Result(row, row.peers[0].side, row.peers[0].limit)
    ratios = [case.judged for case in cases if case.judged is not None]
    if not cases or len(ratios) < len(cases):
        result.error = f"{len(cases) - len(ratios)} of {len(cases)} cases without a ratio"
    else:
        result.judged = exp(sum(map(log, ratios)) / len(ratios))
        result.notes.append(f"{len(cases)} cases")
    return [result]
