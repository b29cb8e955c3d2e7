"""Processes of which one is lost while the others compute, or wait: what they say, and that they end.

Arguments: the address of process 0, the number of processes, the number of this one, of the one that is lost, and how.
"""

import os
import signal
import sys
import time

import numpy as np

import tangrad
from tangrad.sharding import NamedSharding
from tangrad.sharding import PartitionSpec as P

# Seconds after which XLA takes a silent process for lost. Only one that is frozen is lost so; any other, on a busy
# machine, may be silent for a while.
HEARTBEAT = {"frozen": 6}


def main(address: str, count: int, number: int, lost: int, how: str) -> None:
    tangrad.distributed.initialize(
        address, count, number, initialization_timeout=200, heartbeat_timeout_seconds=HEARTBEAT.get(how, 100)
    )
    rows = NamedSharding(tangrad.make_mesh((count,), ("x",)), P("x"))
    x = tangrad.make_array_from_callback((count,), rows, lambda index: np.ones(count)[index])
    total = tangrad.jit(lambda x: x.sum())
    print("total", float(total(x)), flush=True)
    if number == lost:
        {"killed": killed, "frozen": frozen, "failed": failed}[how]()
    if number == (lost + 1) % count:
        time.sleep(600)  # not in a computation, nor in anything of ours
    while True:
        total(x).block_until_ready()


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def frozen() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def failed() -> None:
    raise ArithmeticError("the loss is not a number")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
