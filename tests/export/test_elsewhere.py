"""What is exported here runs in a process that has only read it: nothing there was traced, lowered or registered."""

import json
import subprocess
import sys

import numpy
import pytest

import tangrad
from tangrad import export, use_backend
from tangrad.core import backend_names
from tests.export import elsewhere
from tests.export.elsewhere_programs import LINEAR, PROGRAMS
from tools.workspace import ROOT

needs_xla = pytest.mark.skipif("xla" not in backend_names(), reason="needs the XLA backend")


def put(folder, name, platforms, dtype=None):
    """Export one of the programs for its arguments in a dtype, with its derivative where there is one."""
    function, args, has_derivative = PROGRAMS[name]
    args = [numpy.asarray(one) for one in args]
    args = [one if one.dtype.kind in "iu" else one.astype(of_kind(one, dtype or numpy.float32)) for one in args]
    jitted = tangrad.jit(lambda *args: tangrad.tree.leaves(function(*args)))  # named tuples have no form in files
    made = export.export(jitted, platforms=platforms)(*args)
    expected = jitted(*args)
    if not has_derivative:
        return elsewhere.write(folder, name, made, args, expected)
    outs, pullback = tangrad.vjp(jitted, *args)
    cotangents = [cotangent(out) for out in outs]
    return elsewhere.write(folder, name, made, args, expected, cotangents, pullback(cotangents))


def of_kind(array, dtype):
    return numpy.result_type(dtype, numpy.complex64) if array.dtype.kind == "c" else dtype


def cotangent(out):
    is_float = numpy.dtype(out.dtype).kind in "fc"
    return numpy.ones(out.shape, out.dtype if is_float else tangrad.dtypes.float0)


def called_elsewhere(folder, backend):
    """How many programs of a folder another process has called; asserts that each returned what it should."""
    command = [sys.executable, "-W", "error", "-m", "tests.export.elsewhere", str(folder), backend]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["problems"] == {}, found["problems"]
    return found["count"]


@needs_xla
@pytest.mark.parametrize("name", ["solve", "eigh"])
def test_linear_algebra_on_xla(name, tmp_path):
    with use_backend("xla"):
        put(tmp_path, name, ["cpu"])
    assert called_elsewhere(tmp_path, "xla") == 1


QUICK = ["lu", "svd", "eig", "multivariate", "scan", "sorts", "fft", "window", "special", "tridiagonal"]


@pytest.mark.parametrize("backend", backend_names())
def test_a_few_of_all_kinds(backend, tmp_path):
    with use_backend(backend):
        for name in QUICK:
            put(tmp_path, name, ["cpu", "cuda"] if backend == "xla" else ["numpy"])
    assert called_elsewhere(tmp_path, backend) == len(QUICK)


@pytest.mark.sweep
@pytest.mark.parametrize("backend", backend_names())
def test_all(backend, tmp_path):
    with use_backend(backend):
        for name in PROGRAMS:
            put(tmp_path, name, ["cpu"] if backend == "xla" else ["numpy"])
    assert called_elsewhere(tmp_path, backend) == len(PROGRAMS)


@pytest.mark.sweep
@pytest.mark.parametrize("backend", backend_names())
def test_linear_algebra_in_double_precision(backend, tmp_path):
    with use_backend(backend), tangrad.enable_x64(True):
        for name in LINEAR:
            put(tmp_path, name, ["cpu"] if backend == "xla" else ["numpy"], numpy.float64)
    assert called_elsewhere(tmp_path, backend) == len(LINEAR)
