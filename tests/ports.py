"""Ports for tests that listen, or find that no program does."""

import random
import socket

# Below those that a system gives to connections (from 32768 on Linux, 49152 elsewhere): what connects meanwhile, in a
# test beside this one or on a busy machine, cannot be given the port between the look and its use.
CHOICE = range(10_000, 32_000)
_draws = random.SystemRandom()  # two processes of one suite must not draw the same ones


def free_port() -> int:
    """A port of this machine at which no program listens."""
    while True:
        port = _draws.choice(CHOICE)
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
