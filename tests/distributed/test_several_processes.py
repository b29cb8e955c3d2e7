"""Processes that compute together: the numbers of one process, and what becomes of them when one is lost."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("jaxlib")

from tests.ports import free_port

PROGRAMS = Path(__file__).parent / "programs"
TIME_LIMIT = 400.0  # seconds, for all processes together: what ends takes a tenth, on a busy machine too


class Ended(NamedTuple):
    """How a process ended: its exit status (negative: the signal), or None for one that had to be stopped."""

    status: int | None
    output: str
    errors: str


def run_together(
    program: str, commands: Sequence[Sequence[object]], *, stopped: Sequence[int] = (), apart: float = 0
) -> list[Ended]:
    """Run a program once for each command line, at the same time.

    Args:
        program: the name of its file in `programs/`.
        commands: its arguments.
        stopped: the numbers of processes that do not end by themselves: they are killed when the others have ended.
        apart: seconds from the start of one to that of the next.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "TANGRAD_"))}
    environment |= {"TANGRAD_BACKEND": "xla", "TANGRAD_CACHE_DIR": os.environ["TANGRAD_CACHE_DIR"]}
    started = []
    try:
        for arguments in commands:
            if started:
                time.sleep(apart)
            command = [sys.executable, str(PROGRAMS / program), *map(str, arguments)]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            started.append(subprocess.Popen(command, env=environment, text=True, **pipes))
        deadline = time.monotonic() + TIME_LIMIT
        ended = {number: _ended(process, deadline) for number, process in enumerate(started) if number not in stopped}
        return [ended.get(number) or _ended(process, 0) for number, process in enumerate(started)]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.communicate()


def _ended(process: subprocess.Popen, deadline: float) -> Ended:
    try:
        output, errors = process.communicate(timeout=max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        return Ended(None, *process.communicate())
    return Ended(process.returncode, output, errors)


def results(ended: list[Ended]) -> list[dict]:
    assert [process.status for process in ended] == [0] * len(ended), [process.errors[-3000:] for process in ended]
    return [json.loads(process.output.partition("result:")[2]) for process in ended]


def together(program: str, count: int, *more: object, **options) -> list[Ended]:
    address = f"localhost:{free_port()}"
    return run_together(program, [(address, count, number, *more) for number in range(count)], **options)


@pytest.fixture(scope="module")
def of_one_process() -> dict:
    return results(together("training.py", 1))[0]


# What each call that must fail says, in every process.
ERRORS = {
    "read": "RuntimeError: the array f32[8@x] is on devices of other processes too",
    "differ": "the same contents in each: those of the processes [1",
    "remote": "which can put arrays on its own devices only",
    "alone": "argument 0, f32[8], is an array of this process alone",
    "too long": "pmap: the mapped axis has size 9, and this process has ",
    "stacked": "process_allgather: f32[8@x] is on devices of several processes",
    "shapes": "process_allgather: the processes [1",
    "sources": "broadcast_one_to_all: is_source must be true in one process, and is in [0, 1",
    "not equal": "AssertionError: after loading: the values of in_tree['b'] of the processes [1",
    "places": "AssertionError: sync_global_devices('place",
}


@pytest.mark.parametrize(
    ("count", "apart"), [(2, 1.0), pytest.param(4, 0.0, marks=pytest.mark.slow)], ids=["2, one of them late", "4"]
)
def test_the_same_training_as_in_one_process(count: int, apart: float, of_one_process: dict) -> None:
    for found in results(together("training.py", count, apart=apart)):
        for way, losses in of_one_process["losses"].items():
            assert found["losses"][way] == pytest.approx(losses, rel=1e-5)
        assert losses == pytest.approx(of_one_process["losses"]["by_the_compiler"], rel=1e-5)
        assert found["sum"] == of_one_process["sum"] == 140 and found["last"] is of_one_process["last"] is True
        assert found["slope"] == of_one_process["slope"] == [3.0 * n * n for n in range(8)]
        assert found["errors"].keys() == ERRORS.keys()
        for name, words in ERRORS.items():
            assert words in found["errors"][name], name


def test_the_program_of_the_page() -> None:
    """Its steps are not waited for: with several of them under way, programs of two devices a process would hang."""
    ended = together("of_the_page.py", 2)
    assert [process.status for process in ended] == [0, 0], [process.errors[-3000:] for process in ended]
    for number, process in enumerate(ended):
        first, *_, last = [line for line in process.output.splitlines() if "[Gloo]" not in line]
        assert first.startswith(f"process {number} of 2, devices [CpuDevice(id=")
        loss, weights = re.fullmatch(r"loss (\S+), weights \[(.*)\]", last).groups()
        assert float(loss) < 1e-5 and [float(w) for w in weights.split()] == pytest.approx([1, -2, 0.5], abs=1e-2)


@pytest.mark.parametrize(
    ("lost", "how", "words"),
    [
        (1, "killed", "process 1 of 3 is lost: its connection ended without notice"),
        (1, "failed", "process 1 of 3 is lost: it ended with ArithmeticError: the loss is not a number"),
        # The others may hear of its end from XLA first, which leaves no time for words of ours.
        pytest.param(0, "killed", None, marks=pytest.mark.slow),
        pytest.param(0, "failed", "process 0 of 3 is lost: it ended with Arith", marks=pytest.mark.slow),
        pytest.param(1, "frozen", None, marks=pytest.mark.slow),
    ],
)
def test_without_one_the_others_end(lost: int, how: str, words: str | None) -> None:
    ended = together("losing.py", 3, lost, how, stopped=[lost] if how == "frozen" else [])
    for number, process in enumerate(ended):
        if number == lost:
            assert "total 3.0" in process.output
            assert process.status == {"killed": -9, "failed": 1, "frozen": None}[how]
        elif words is not None:
            assert process.status == 1 and words in process.errors, process.errors
        else:
            assert process.status not in (0, None)
            assert "is lost" in process.errors or "another task died" in process.errors, process.errors


REFUSED = {
    "port in use": "RuntimeError: tangrad.distributed.initialize: process 0 cannot listen at '127.0.0.1:",
    "no answer": "process 1 found no process 0 at 'localhost:",
    "unknown host": "process 1 found no process 0 at 'no-such-host.invalid:1234' within 0.3 s (initialization_timeout)",
    "not of this machine": "process 0 cannot listen at '192.0.2.1:1234'",
    "another program": "process 1 reached '127.0.0.1:",
    "some missing": "and of 3 processes (num_processes) these did not come: 1, 2",
    "no port": "coordinator_address must be of the form 'host:port', with a port from 1 to 65535, got 'localhost'",
    "bad port": "got 'localhost:99999'",
    "no text": "TypeError: tangrad.distributed.initialize: coordinator_address must be a text such as 'host:1234', got",
    "too high": "process_id must be from 0 to num_processes - 1, got 2 of 2",
    "none": "process_id must be from 0 to num_processes - 1, got 0 of 0",
    "half": "TypeError: tangrad.distributed.initialize: num_processes must be an integer, got 2.5",
    "no count": "num_processes is not stated, TANGRAD_NUM_PROCESSES is not set",
    "no address": "coordinator_address is not stated, TANGRAD_COORDINATOR_ADDRESS is not set",
    "unknown cluster": "'open_mpi', 'slurm', 'deactivate' or None, got 'abacus'",
    "other cluster": "cluster_detection_method='slurm': nothing in the environment",
    "no time": "initialization_timeout must be a positive number of seconds, got 0",
    "bad devices": "local_device_ids must be an integer, or several, got 'first'",
    "twice": "was called before: this is process 0 of 1; call tangrad.distributed.shutdown() to leave",
    "after the first computation": "call tangrad.distributed.initialize before the first computation",
}


def test_what_cannot_be_joined_is_refused_and_leaves_nothing() -> None:
    (errors,) = results(run_together("refusals.py", [(free_port(),)]))
    assert errors.keys() == REFUSED.keys()
    for name, words in REFUSED.items():
        assert words in errors[name], name
