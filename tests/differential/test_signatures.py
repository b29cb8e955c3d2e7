"""Every public name that both have: the calls that JAX accepts, and the types of results."""

import importlib
import inspect
import re
import types
import zlib

import pytest

from tests.differential.result_types.calls import CALLS, DISTRIBUTIONS, EAGER, WITHOUT
from tests.differential.result_types.running import BELOW, DIFFERING, MODULES, cases, library, outcome, reason_for
from tests.differential.signatures import differences, refused
from tools.docs.tables import stated

jax = pytest.importorskip("jax", reason="the reference is not installed")
tangrad = pytest.importorskip("tangrad")

# --- Every call that JAX accepts is accepted ---

pytestmark = [
    pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the tables are of JAX 0.10"),
    # JAX warns of names that it is about to drop, and of numbers that lose something: here only types count.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.mark.slow
def test_what_differs_is_stated_with_its_reason():
    found = differences(jax, tangrad)
    assert found == stated().keys(), (
        f"calls of jax that are not accepted, and not stated: {sorted(found - stated().keys())}; stated, and not so: "
        f"{sorted(stated().keys() - found)}: see tools/docs/differences.toml"
    )


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        (lambda x, y=1: 0, lambda x, y=1: 0, []),
        (lambda x, y=1: 0, lambda a, y=1: 0, ["x"]),
        (lambda x, /: 0, lambda a: 0, []),
        (lambda x: 0, lambda x, /: 0, ["x"]),
        (lambda x, y=1: 0, lambda x, *, y=1: 0, ["y by position"]),
        (lambda x, y=1, z=2: 0, lambda x, z=2, y=1: 0, ["y by position", "z by position"]),
        (lambda x, y=1: 0, lambda x, y: 0, ["y missing"]),
        (lambda x, y=1: 0, lambda x, y=2: 0, ["y="]),
        (lambda x, y=1: 0, lambda x, y=1.0: 0, []),
        (lambda x, y=True: 0, lambda x, y=1: 0, ["y="]),
        (lambda x: 0, lambda x, *, k: 0, ["k missing"]),
        (lambda x: 0, lambda x, y: 0, ["y missing"]),
        (lambda *xs: 0, lambda x: 0, ["*xs", "x missing"]),
        (lambda *xs, **names: 0, lambda *xs: 0, ["**names"]),
        (lambda x, *, k=1: 0, lambda *xs, **names: 0, []),
    ],
)
def test_what_counts_as_a_difference(theirs, ours, expected):
    found = list(refused(inspect.signature(theirs), inspect.signature(ours)))
    assert sorted(found) == sorted(expected)


# --- Shape, dtype and weak type of what every public function gives, against JAX's, over operands of every kind ---
# Traced, which is quick; and called, on both backends, which must give what is traced.


TRACED = list(dict.fromkeys([call for call in CALLS if isinstance(call, str)]))
CALLED = [call for kind, call in [call for call in CALLS if not isinstance(call, str)] if kind == EAGER]
BACKENDS = ["numpy", "xla"]
PARTS = 16


@pytest.fixture(scope="module")
def theirs():
    return library(jax)


@pytest.fixture(scope="module")
def ours():
    return library(tangrad)


def differences_of_results(call, kinds, expected, found):
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
        found = [line for call in calls for line in differences_of_results(call, one_case(call, x64), *traced)]
    assert not found, "\n".join(found)


@pytest.mark.sweep
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("part", range(PARTS))
def test_results_of_all_kinds_of_operands(theirs, ours, part, x64):
    traced = [lambda call, case, side=side: side.traced(call, case, x64) for side in (theirs, ours)]
    with jax.enable_x64(x64), tangrad.enable_x64(x64):
        found = [
            line for call in TRACED[part::PARTS] for line in differences_of_results(call, cases(call, x64), *traced)
        ]
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
    found = list(differences_of_results(call, cases(call, False), *eager))
    assert not found, "\n".join(found)


# --- the table is of all names -------------------------------------------------------------------------------------


def modules():
    """The modules whose functions are compared: short name and path."""
    found = dict(MODULES) | {"np.linalg": "numpy.linalg", "np.fft": "numpy.fft", "lax.linalg": "lax.linalg"}
    found |= {"nn.initializers": "nn.initializers"} | {f"sp.{name}": f"scipy.{name}" for name in BELOW.split()}
    found |= {f"sp.stats.{name}": f"scipy.stats.{name}" for name in DISTRIBUTIONS}
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
    without = {name for table in WITHOUT for names in table.get(short, {}) for name in names.split()}
    texts = "\n".join([call if isinstance(call, str) else call[1] for call in CALLS])
    called = set(re.findall(rf"(?<![\w.]){re.escape(short)}\.(\w+)", texts))
    names = set(public_functions(modules()[short]))
    assert not names - called - without, "these have no call in tests/differential/result_types"
    assert not without - names, "these are no names, or need no reason"


def test_differences_have_reasons():
    assert all(why and re.compile(pattern) and re.compile(got) for pattern, got, why in DIFFERING)
    assert reason_for("np.sin(x)", "float32[]") is None
