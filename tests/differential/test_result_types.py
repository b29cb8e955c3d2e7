"""Shape, dtype and weak type of what every public function gives, against JAX's, over operands of every kind.

Traced, which is quick; and called, on both backends, which must give what is traced.
"""

import importlib
import inspect
import re
import types
import zlib

import pytest

from .result_types import calls_lax, calls_libraries, calls_numpy
from .result_types.differing import DIFFERING, reason_for
from .result_types.operands import cases
from .result_types.running import BELOW, MODULES, library, outcome

jax = pytest.importorskip("jax")
tangrad = pytest.importorskip("tangrad")
pytestmark = [
    pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the table is of JAX 0.10"),
    pytest.mark.filterwarnings("ignore"),  # of numbers that lose something: here only types count
]

TABLES = (calls_numpy, calls_lax, calls_libraries)
CALLS = [call for table in TABLES for call in table.CALLS]
TRACED = list(dict.fromkeys([call for call in CALLS if isinstance(call, str)]))
CALLED = [call for kind, call in [call for call in CALLS if not isinstance(call, str)] if kind == calls_numpy.EAGER]
BACKENDS = ["numpy", "xla"]
PARTS = 16


@pytest.fixture(scope="module")
def theirs():
    return library(jax)


@pytest.fixture(scope="module")
def ours():
    return library(tangrad)


def differences(call, kinds, expected, found):
    """What is of another type, and is not stated."""
    for case in kinds:
        wanted = outcome(expected, call, case)
        if wanted.startswith("raises"):
            continue
        got = outcome(found, call, case)
        if got != wanted and reason_for(call, got) is None:
            yield f"{call} of {case}: {got}, in JAX {wanted}"


def one_case(call, x64):
    """Another case for each call; a part of the names has each kind."""
    found = list(cases(call, x64))
    return [found[zlib.crc32(call.encode()) % len(found)]]


@pytest.mark.parametrize(("x64", "calls"), [(False, TRACED[::4]), (True, TRACED[1::8])])
def test_results_of_one_kind_of_operands_each(theirs, ours, x64, calls):
    traced = [lambda call, case, side=side: side.traced(call, case, x64) for side in (theirs, ours)]
    with jax.enable_x64(x64), tangrad.enable_x64(x64):
        found = [line for call in calls for line in differences(call, one_case(call, x64), *traced)]
    assert not found, "\n".join(found)


@pytest.mark.sweep
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("part", range(PARTS))
def test_results_of_all_kinds_of_operands(theirs, ours, part, x64):
    traced = [lambda call, case, side=side: side.traced(call, case, x64) for side in (theirs, ours)]
    with jax.enable_x64(x64), tangrad.enable_x64(x64):
        found = [line for call in TRACED[part::PARTS] for line in differences(call, cases(call, x64), *traced)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("backend", [pytest.param(name, marks=pytest.mark.sweep) for name in BACKENDS])
@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_called_gives_what_is_traced(ours, backend, part):
    """Of one kind of operands each: a call may compile. What is refused when it runs is tested elsewhere."""
    if backend == "xla":
        pytest.importorskip("jaxlib")
    found = []
    with tangrad.use_backend(backend):
        for call in TRACED[part::PARTS]:
            (case,) = one_case(call, False)
            wanted, got = [outcome(way, call, case, False) for way in (ours.traced, ours.eager)]
            if got != wanted and not wanted.startswith("raises") and not got.startswith("raises"):
                found.append(f"{call} of {case}: {got}, traced {wanted}")
    assert not found, "\n".join(found)


@pytest.mark.sweep
@pytest.mark.parametrize("call", CALLED)
def test_results_whose_size_hangs_on_values(theirs, ours, call):
    eager = [lambda call, case, side=side: side.eager(call, case, False) for side in (theirs, ours)]
    found = list(differences(call, cases(call, False), *eager))
    assert not found, "\n".join(found)


# --- the table is of all names -------------------------------------------------------------------------------------


def modules():
    """The modules whose functions are compared: short name and path."""
    found = dict(MODULES) | {"np.linalg": "numpy.linalg", "np.fft": "numpy.fft", "lax.linalg": "lax.linalg"}
    found |= {"nn.initializers": "nn.initializers"} | {f"sp.{name}": f"scipy.{name}" for name in BELOW.split()}
    found |= {f"sp.stats.{name}": f"scipy.stats.{name}" for name in calls_libraries.DISTRIBUTIONS}
    return found


def public_functions(path):
    one, other = importlib.import_module(f"tangrad.{path}"), importlib.import_module(f"jax.{path}")
    for name in dir(one):
        value = getattr(one, name)
        if name.startswith("_") or not callable(value) or isinstance(value, types.ModuleType):
            continue
        if hasattr(other, name) and not (inspect.isclass(value) and issubclass(value, BaseException)):
            yield name


@pytest.mark.parametrize("short", modules())
def test_every_function_has_a_call_or_a_reason(short):
    without = {name for table in TABLES for names in table.WITHOUT.get(short, {}) for name in names.split()}
    texts = "\n".join([call if isinstance(call, str) else call[1] for call in CALLS])
    called = set(re.findall(rf"(?<![\w.]){re.escape(short)}\.(\w+)", texts))
    names = set(public_functions(modules()[short]))
    assert not names - called - without, "these have no call in tests/differential/result_types"
    assert not without - names, "these are no names, or need no reason"


def test_differences_have_reasons():
    assert all(why and re.compile(pattern) and re.compile(got) for pattern, got, why in DIFFERING)
    assert reason_for("np.sin(x)", "float32[]") is None
