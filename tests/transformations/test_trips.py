"""How many files a call is sent through, against the table in the documentation: no trip through `sin` gets longer."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "kernel.md"

# Each call is made thrice before it is counted, by itself; only what transforms and compiles a new function is counted
# at its first call, in a process that did nothing before, in one that used `sin` by itself, and again with equal types.
# Settings that check what is computed are off: they have calls of their own.
PROGRAM = """
import gc, json, os, sys
import tangrad
import tangrad.numpy as np
from tangrad import grad, jit, lax, vmap

FIRST, AFTER, AGAIN = [f"jit(vmap(grad(lax.sin)))(v), {when}" for when in ("first", "after sin", "again")]
FOLDERS = tuple([os.path.join(path, "") for path in tangrad.__path__])


def importing(frame):
    # Whether a module of ours is being run: what its lines call is not on the way.
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(FOLDERS):
            return True
        frame = frame.f_back
    return False


def files(call):
    entered = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(FOLDERS) and not importing(frame):
            entered.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(entered)


x, v = np.asarray(0.5), np.ones(3)
if sys.argv[1:] == ["first"]:
    json.dump({FIRST: files(lambda: jit(vmap(grad(lax.sin)))(v))}, sys.stdout)
    raise SystemExit
jitted, gradient, mapped = jit(lax.sin), grad(lax.sin), vmap(lax.sin)
calls = {
    "lax.sin(x)": lambda: lax.sin(x),
    "np.sin(x)": lambda: np.sin(x),
    "jit(lax.sin)(x)": lambda: jitted(x),
    "grad(lax.sin)(x)": lambda: gradient(x),
    "vmap(lax.sin)(v)": lambda: mapped(v),
}
for call in [*calls.values()] * 3:
    call()
gc.disable()  # jaxlib's callback comes through one of our files
found = {name: files(call) for name, call in calls.items()}
for name in (AFTER, AGAIN):
    found[name] = files(lambda: jit(vmap(grad(lax.sin)))(v))
json.dump(found, sys.stdout)
"""


def stated() -> dict[str, dict[str, int]]:
    """What the page says: call -> backend -> number of files."""
    table = PAGE.read_text().split("<!-- trips -->")[1].split("<!-- /trips -->")[0]
    rows = re.findall(r"^\| `(.+?)`([^|]*?) \| (\d+) \| (\d+) \|$", table, re.MULTILINE)
    return {call + when: {"numpy": int(numpy), "xla": int(xla)} for call, when, numpy, xla in rows}


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_no_trip_is_longer_than_the_page_says(backend):
    if backend == "xla":
        pytest.importorskip("tangrad._backend_xla")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TANGRAD_")}
    environment |= {"TANGRAD_BACKEND": backend, "TANGRAD_CACHE_DIR": os.environ["TANGRAD_CACHE_DIR"]}
    found = {}
    for arguments in ([], ["first"]):
        command = [sys.executable, "-c", PROGRAM, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        found |= json.loads(done.stdout)
    limits = stated()
    assert found.keys() == limits.keys()
    # Before NumPy 2.3 a ufunc cannot be asked for an array without dimensions: a function of ours makes one.
    more = backend == "numpy" and tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 3)
    longer = {call: trip for call, trip in found.items() if len(trip) > limits[call][backend] + more}
    assert not longer, {call: len(trip) for call, trip in longer.items()}
    assert all(found.values())


def test_the_page_states_every_trip():
    assert all(limit > 0 for row in stated().values() for limit in row.values())
    assert len(stated()) == 8
