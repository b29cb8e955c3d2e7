"""The kernels, compiled once by the compiler that is found; where there is none, tests are skipped."""

import importlib
import os
import sys
from contextlib import ExitStack, contextmanager

import numpy
import pytest

import tangrad
from tangrad.core import register
from tangrad.extend.nn import softmax_p
from tools.stubs import alone
from tools.workspace import ROOT

FOLDER = ROOT / "backends" / "kernels"


@pytest.fixture(scope="session")
def build():
    """The module that compiles the library."""
    sys.path.insert(0, str(FOLDER))
    try:
        import build_library
    finally:
        sys.path.remove(str(FOLDER))
    return build_library


@pytest.fixture(scope="session")
def library_path(build, tmp_path_factory):
    """The compiled library: compiled by the first worker that needs it, for all workers of this run."""
    if build.compiler() is None:
        pytest.skip("there is no compiler of C++ here: CXX, c++, g++, clang++ or ziglang")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    library = folder / "kernels" / build.FILE
    with alone(folder / "kernels.lock"):
        return library if library.exists() else build.compile_library(library.parent)


@pytest.fixture(scope="session")
def rule_sets(library_path):
    """The rules of the compiled kernels, and their pass. Those of the entry points are loaded first: they stay so."""
    from tangrad._kernels import on_numpy, places_on_numpy, random_on_numpy, rows_on_numpy
    from tangrad._kernels.jobs import JOBS, softmax
    from tangrad._kernels.library import VARIABLE, library
    from tangrad._kernels.passes import RowsPass

    for name in ("rules_on_numpy", "activations_on_numpy", "fft_on_numpy"):
        importlib.import_module(f"tangrad._kernels.{name}")
    makers = [on_numpy.rule_set]
    others = [random_on_numpy.rule_set, places_on_numpy.rule_set, rows_on_numpy.rule_set]
    if "xla" in tangrad.core.backend_names():
        from tangrad._kernels import on_xla_cpu

        for name in ("rules_on_xla_cpu", "activations_on_xla_cpu", "fft_on_xla_cpu", "rows_on_xla_cpu"):
            importlib.import_module(f"tangrad._kernels.{name}")
        makers.append(on_xla_cpu.rule_set)
        others += [on_xla_cpu.function_rules, on_xla_cpu.indexing_rules, on_xla_cpu.position_rules]
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(library_path)
    library.cache_clear()
    try:
        assert library() is not None
    finally:
        os.environ.pop(VARIABLE) if before is None else os.environ.update({VARIABLE: before})
    made = [make(jobs) for make in makers for jobs in (*JOBS.values(), {softmax_p: softmax})]
    made.append(on_numpy.rule_set({}, {**on_numpy.FUNCTIONS, **on_numpy.TRANSPOSES, **on_numpy.JOINTS}))
    return [*made, *[make() for make in others]], RowsPass(has_kernels=True)


@pytest.fixture
def kernels(rule_sets):
    """A context in which the kernels are lowerings."""

    @contextmanager
    def use():
        rules, rows_pass = rule_sets
        with ExitStack() as stack:
            for one in rules:
                stack.enter_context(register(one))
            stack.enter_context(register(rows_pass, group="tangrad.hooks", name="rows"))
            yield

    return use


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    """Each backend in turn, with 64 bits."""
    if request.param not in tangrad.core.backend_names():
        pytest.skip(f"the backend {request.param} is not installed")
    with tangrad.use_backend(request.param), tangrad.enable_x64(True):
        yield request.param


@pytest.fixture
def each_with_and_without(kernels):
    """`each_with_and_without(function, *calls)`: for each tuple of arguments what it gives, compiled with and without.

    It is compiled once with kernels and once without them for all calls whose arguments are of the same types.
    """

    def run(function, *calls):
        def results():
            compiled = tangrad.jit(lambda *arguments: function(*arguments))
            given = [compiled(*map(tangrad.numpy.asarray, arguments)) for arguments in calls]
            return tangrad.tree.map(numpy.asarray, given)

        with kernels():
            ours = results()
        return list(zip(ours, results(), strict=True))

    return run


@pytest.fixture
def with_and_without(each_with_and_without):
    """`with_and_without(function, *arguments)`: what it gives, compiled with kernels, and without them."""

    def run(function, *arguments):
        (both,) = each_with_and_without(function, arguments)
        return both

    return run
