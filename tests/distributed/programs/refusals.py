"""Calls of `initialize` that must fail, in one process: what they say, and that nothing is left of them.

Argument: a port at which no program listens. Prints, as JSON, each call's name and its error.
"""

import json
import os
import socket
import sys
import threading

import tangrad
from tangrad.distributed import initialize, is_initialized, shutdown


def main(free: str) -> dict[str, str]:
    listener = socket.create_server(("127.0.0.1", 0))
    taken = listener.getsockname()[1]
    threads = threading.active_count()
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    errors = {
        "port in use": error_of(f"127.0.0.1:{taken}", 2, 0),
        "no answer": error_of(f"localhost:{free}", 2, 1, initialization_timeout=0.3),
        "unknown host": error_of("no-such-host.invalid:1234", 2, 1, initialization_timeout=0.3),
        "not of this machine": error_of("192.0.2.1:1234", 2, 0, coordinator_bind_address="192.0.2.1:1234"),
        "another program": error_of(f"127.0.0.1:{taken}", 2, 1, initialization_timeout=0.3),
        "some missing": error_of(f"localhost:{free}", 3, 0, initialization_timeout=0.3),
        "no port": error_of("localhost", 2, 0),
        "bad port": error_of("localhost:99999", 2, 0),
        "no text": error_of(("localhost", 1234), 2, 0),
        "too high": error_of("localhost:1234", 2, 2),
        "none": error_of("localhost:1234", 0, 0),
        "half": error_of("localhost:1234", 2.5, 0),
        "no count": error_of("localhost:1234", process_id=0),
        "no address": error_of(None, 2, 0),
        "unknown cluster": error_of(cluster_detection_method="abacus"),
        "other cluster": error_of(cluster_detection_method="slurm"),
        "no time": error_of("localhost:1234", 2, 0, initialization_timeout=0),
        "bad devices": error_of("localhost:1234", 2, 0, "first"),
    }
    listener.close()
    if files:
        assert len(os.listdir("/proc/self/fd")) == files - 1, "something is left open"
    assert threading.active_count() == threads
    shutdown()  # nothing to leave
    initialize(num_processes=1, process_id=0)
    assert is_initialized() and tangrad.process_count() == 1
    errors["twice"] = error_of("localhost:1234", 2, 0, expected=True)
    shutdown()
    shutdown()
    errors["after the first computation"] = error_of("localhost:1234", 2, 0)
    assert float(tangrad.numpy.ones(3).sum()) == 3
    return errors


def error_of(*args, expected: bool = False, **kwargs) -> str:
    try:
        initialize(*args, **kwargs)
    except (RuntimeError, ValueError, TypeError) as error:
        assert is_initialized() is expected
        return f"{type(error).__name__}: {error}"
    return "nothing"


if __name__ == "__main__":
    print("result:", json.dumps(main(sys.argv[1])))
