"""Which backend and device serve: the default, the setting, and the arrays of an operation, which must not differ."""

import os
import subprocess
import sys

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._console.explanations.missing import explanations
from tangrad._console.report.backends import _does_not_start
from tangrad.core import Array, Backend, backend_names, composition, get_backend, register
from tangrad.core.settings import SETTINGS
from tangrad.core.tools import configure_plugins
from tangrad.errors import BackendError

# --- Which backend is used by default: that of the highest priority which can be loaded -----------------------------


class Imaginary(Backend):
    """A backend that computes nothing."""

    array_type = Array
    api = 1

    def __init__(self, name, priority=0):
        self.name = name
        self.priority = priority

    def plugin_entries(self):
        return [("tangrad.backends", self.name)]


@pytest.fixture(autouse=True)
def no_backend_is_chosen():
    with tangrad.use_backend(None):
        yield


def test_the_highest_priority_is_the_default():
    best = max(get_backend(name).priority for name in backend_names())
    with register(Imaginary("better", best + 1)), register(Imaginary("best", best + 2)):
        assert get_backend().name == tangrad.default_backend() == "best"
    assert get_backend().name != "best"


def test_without_a_priority_a_backend_is_used_only_where_it_is_chosen():
    usual = get_backend().name
    with register(Imaginary("a_humble_one")):
        assert get_backend().name == usual and get_backend("a_humble_one").name == "a_humble_one"
        with tangrad.use_backend("a_humble_one"):
            assert get_backend().name == "a_humble_one"


def test_of_equals_the_first_by_name_is_used():
    best = max(get_backend(name).priority for name in backend_names()) + 1
    with register(Imaginary("zebra", best)), register(Imaginary("aardvark", best)):
        assert get_backend().name == "aardvark"


def test_what_cannot_be_used_is_passed_over():
    usual = get_backend().name
    others = [get_backend(name) for name in backend_names() if name != usual]
    try:
        configure_plugins(deny=[f"*:backends:{usual}"])
        if others:
            assert get_backend().name == max(others, key=lambda backend: backend.priority).name
        else:
            with pytest.raises(BackendError, match="no backend is usable"):
                get_backend()
    finally:
        configure_plugins()
    assert get_backend().name == usual


def test_what_is_not_installed_is_named():
    with pytest.raises(BackendError, match=r"there is no backend 'abacus'; installed: .*\.") as raised:
        get_backend("abacus")
    assert not any(f"tangrad-backend-{name}" in str(raised.value) for name in backend_names())


@pytest.mark.parametrize("name", ["cuda", "gpu"])
def test_a_missing_platform_is_cured_by_the_extra_that_brings_it(name):
    if devices_of_platform(name):
        pytest.skip("there is such a device here")
    words = rf'there is no backend {name!r}; .* pip install "tangrad\[cuda\]"'
    for ask in (tangrad.devices, tangrad.use_backend, get_backend):
        with pytest.raises(BackendError, match=words) as raised:
            ask(name)
        assert "tangrad-backend" not in str(raised.value)


def test_the_doctor_installs_a_plugin_that_is_missing():
    why = "'cuda' did not start: no plugin for cuda is installed: pip install 'tangrad[cuda]', or 'tangrad[cuda12]'"
    assert _does_not_start("xla", why).paste == 'pip install "tangrad[cuda]"'
    assert "TANGRAD_DENY" in _does_not_start("xla", "the driver is too old").paste


def devices_of_platform(name):
    try:
        return tangrad.devices(name)
    except BackendError:
        return []


@pytest.mark.parametrize(
    ("missing", "cure"), [("tangrad-backend-numpy", "tangrad-backend-numpy"), ("tangrad-backend-xla", '"tangrad[xla]"')]
)
def test_a_missing_backend_is_cured_by_what_brings_it(monkeypatch, missing, cure):
    monkeypatch.setattr(type(composition().index), "has_distribution", lambda _, name: name != missing)
    assert (
        explanations.backends_to_install()
        == explanations.backends_to_install("abacus")
        == f" Install one: pip install {cure}"
    )
    assert explanations.backends_to_install("xla") == ' Install one: pip install "tangrad[xla]"'


@pytest.mark.parametrize("choose", [tangrad.use_backend, lambda name: tangrad.config.update("backend", name)])
def test_a_backend_that_is_not_there_is_refused_where_it_is_chosen(choose):
    before = tangrad.config.backend
    with pytest.raises(BackendError, match="there is no backend 'abacus'"):
        choose("abacus")
    with pytest.raises(TypeError, match="setting 'backend' does not take 3"):
        choose(3)
    assert tangrad.config.backend == before
    with tangrad.use_backend(None), tangrad.use_backend(backend_names()[0]):
        assert get_backend().name == backend_names()[0]


def test_a_chosen_backend_loads_no_other():
    code = """
import sys, tangrad, tangrad.numpy as np
np.sin(np.arange(3.0))
assert not [name for name in sys.modules if name.startswith(("tangrad._backend_xla", "jaxlib"))]
"""
    environment = {"TANGRAD_BACKEND": "numpy", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_backend_that_is_not_used_does_not_load_its_compiler():
    code = """
import sys, tangrad
tangrad.default_backend()
assert "tangrad._backend_numpy.lowering" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- What a backend has that says nothing else ----------------------------------------------------------------------


class Recording(Backend):
    """A backend whose arrays are what it was asked to put."""

    name = "recording"

    def put(self, value, aval, device=None):
        return value, aval.str_short(), device


def test_arrays_of_other_libraries_are_put():
    external = numpy.arange(3, dtype="int16")
    contents, kind, device = Recording().from_dlpack(external, "somewhere")
    numpy.testing.assert_array_equal(contents, external)
    assert (kind, device) == ("i16[3]", "somewhere")
    assert Recording().from_dlpack(external, copy=True)[2] is None


def test_memory_that_cannot_be_shared_is_not_copied_against_the_callers_will():
    with pytest.raises(BufferError, match="'recording' shares no memory with other libraries"):
        Recording().from_dlpack(numpy.arange(3), copy=False)


USE = """
import tangrad, tangrad.numpy as np
x = np.ones(2) + 1
gradient = tangrad.jit(tangrad.grad(lambda x: np.sin(x).sum()))(x)
print(tangrad.default_backend(), *[device.id for array in (x, gradient) for device in array.devices()])
"""


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "TANGRAD_NUM_CPU_DEVICES": "2", **environment}
    return subprocess.run([sys.executable, "-c", USE], env=settings, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "printed"),
    [("cpu", "numpy 0 0"), (" cpu:1 ", "numpy 1 1"), ("numpy:1", "numpy 1 1"), ("", "numpy 0 0"), ("xla:1", "xla 1 1")],
)
def test_texts_of_the_environment(text: str, printed: str) -> None:
    if printed.startswith("xla"):
        pytest.importorskip("jaxlib")
    done = run(TANGRAD_BACKEND="numpy", TANGRAD_DEFAULT_DEVICE=text)
    assert done.stdout.strip() == printed, done.stderr


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_what_has_no_array_among_its_operands_is_on_the_default_device(backend: str) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    code = """
import sys
import tangrad, tangrad.numpy as np
from tangrad import lax
made = tangrad.jit(lambda: (np.sin(np.ones(3)), 5, np.arange(2)))
eager = lambda: (lax.iota("int32", 3), np.sin(2.0), lax.add(1.0, 2.0), np.where(True, 1.0, 2.0), np.eye(2))
name = sys.argv[1]
with tangrad.use_backend(name):
    devices = tangrad.devices(name)
    for chosen in (f"{name}:1", devices[1], None, devices[0], f"{name}:1"):
        expected = devices[1 if chosen in (f"{name}:1", devices[1]) else 0]
        with tangrad.default_device(chosen):
            for function in (made, eager):
                for _ in range(2):  # the second time by the shortest way
                    found = [array.device for array in function()]
                    assert all([device is expected for device in found]), (chosen, found)
print("there")
"""
    settings = {**os.environ, "TANGRAD_NUM_CPU_DEVICES": "2"}
    command = [sys.executable, "-c", code, backend]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "there", done.stderr


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_what_an_eager_gradient_keeps_is_kept_for_each_default_device(backend: str) -> None:
    """Literals among cotangents and residuals become arrays once; then they are where new arrays were that time."""
    if backend == "xla":
        pytest.importorskip("jaxlib")
    code = """
import sys
import tangrad, tangrad.numpy as np
from tangrad import lax
name = sys.argv[1]
functions = [
    lambda x: x,
    lambda x: 3.0,
    lambda x: x * x,
    lambda x: np.reshape(x, (1,)).sum(),
    lambda x: lax.cond(True, lambda y: y * 2, lambda y: y, x),
    lambda x: lax.erf(x),
]
for chosen in (f"{name}:1", f"{name}:0", None, f"{name}:1"):
    with tangrad.use_backend(name), tangrad.default_device(chosen):
        for position, function in enumerate(functions):
            found = tangrad.grad(function)(3.0).device.id
            assert found == (1 if chosen == f"{name}:1" else 0), (position, chosen, found)
print("there")
"""
    settings = {**os.environ, "TANGRAD_NUM_CPU_DEVICES": "2"}
    done = subprocess.run([sys.executable, "-c", code, backend], env=settings, capture_output=True, text=True)
    assert done.stdout == "there\n", done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "there is no backend 'nonsense'; installed: "),
        ("numpy:7", "there is no device 'numpy:7'; there are "),
    ],
)
def test_texts_that_name_no_device(text: str, words: str) -> None:
    done = run(TANGRAD_BACKEND="numpy", TANGRAD_DEFAULT_DEVICE=text)
    assert done.returncode == 1 and words in done.stderr.splitlines()[-1] + done.stderr


def test_a_text_of_another_form_is_left_out() -> None:
    done = run(TANGRAD_BACKEND="numpy", TANGRAD_DEFAULT_DEVICE="0")
    assert done.stdout.strip() == "numpy 0 0"
    assert "TANGRAD_DEFAULT_DEVICE='0': expected the name of a backend or platform" in done.stderr


@pytest.mark.parametrize("value", ["numpy", "numpy:0", tangrad.devices("numpy")[0], None])
def test_values_of_the_setting(value: object) -> None:
    with tangrad.use_backend("numpy"), tangrad.default_device(value):
        assert tangrad.default_backend() == "numpy"
        assert (np.ones(2) + 1).device is tangrad.devices("numpy")[0]


def test_values_that_are_refused() -> None:
    for value, kind in ((3, TypeError), ("a b", ValueError), ("cpu:x", ValueError), ("", ValueError)):
        with pytest.raises(kind, match="setting 'default_device' does not take"):
            SETTINGS["default_device"].set(value)
    with tangrad.default_device("nonsense"), pytest.raises(BackendError, match="there is no backend 'nonsense'"):
        np.ones(2)


pytest.importorskip("jaxlib")


def array_on(backend: str):
    with tangrad.use_backend(backend):
        return np.arange(1.0, 4.0)


def product(a, b):
    return np.sin(a) * b


WAYS = {
    "operator": lambda a, b: a * b,
    "lax": lax.mul,
    "concatenate": lambda a, b: np.concatenate([a, b]),
    "jit": tangrad.jit(product),
    "jit that computes nothing": tangrad.jit(lambda a, b: (a, b)),
    "jit with keywords": lambda a, b: tangrad.jit(product)(a, b=b),
    "jit of a gradient": tangrad.jit(tangrad.grad(lambda a, b: product(a, b).sum())),
    "grad": tangrad.grad(lambda a, b: product(a, b).sum()),
    "vmap": tangrad.vmap(product),
    "cond": lambda a, b: lax.cond(True, product, lambda a, b: a, a, b),
    "scan": lambda a, b: lax.scan(lambda carry, x: (carry + x, carry), a[0], b),
    "compiled": lambda a, b: tangrad.jit(product).lower(a, a).compile()(a, b),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("first", "second"), [("numpy", "xla"), ("xla", "numpy")])
def test_they_are_refused_jitted_or_not(way: str, first: str, second: str) -> None:
    a, b = array_on(first), array_on(second)
    with pytest.raises(ValueError, match=f"arguments are on different backends, '{first}' and '{second}'; move one"):
        WAYS[way](a, b)
    moved = tangrad.device_put(b, tangrad.devices(first)[0])
    for result in tangrad.tree.leaves(WAYS[way](a, moved)):
        assert type(result) is type(a)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_an_explicit_backend_moves_them(backend: str) -> None:
    a, b = array_on("numpy"), array_on("xla")
    jitted = tangrad.jit(product, backend=backend)
    expected = numpy.sin([1.0, 2.0, 3.0]) * [1.0, 2.0, 3.0]
    for result in (jitted(a, b), jitted(a, b), jitted(b, a), jitted.lower(a, b).compile()(b, a)):
        assert type(result) is type(array_on(backend))
        numpy.testing.assert_allclose(numpy.asarray(result), expected, rtol=1e-6)
    on_device = tangrad.jit(product, device=tangrad.devices(backend)[0])(a, b)
    assert type(on_device) is type(array_on(backend))


@pytest.mark.parametrize("default", ["numpy", "xla"])
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_numbers_go_where_the_arrays_are(default: str, backend: str) -> None:
    x = array_on(backend)
    with tangrad.use_backend(default):
        multiply = tangrad.jit(lambda a, b: a * b)
        results = [
            2.0 * x,
            multiply(2.0, x),
            multiply(2.0, x),
            multiply(numpy.ones(3, "float32"), x),
            multiply(b=x, a=2),
            tangrad.jit(lambda a, b: a * b, static_argnums=0)(2.0, x),
            tangrad.grad(tangrad.jit(lambda a, b: (a * b).sum()))(x, 2.0),
        ]
    assert {type(result) for result in results} == {type(x)}


def test_what_a_program_closes_over_is_part_of_it() -> None:
    a, b = array_on("numpy"), array_on("xla")
    assert type(tangrad.jit(lambda x: x + b)(a)) is type(a)


# Constants that are made for an array are where it is, whatever the backend in use.
LIKES = {
    "full_like": lambda x: np.full_like(x, 2),
    "full_like of another shape": lambda x: np.full_like(x, x[0], shape=(2, 3)),
    "full_like of another dtype": lambda x: np.full_like(x, 2, "int8"),
    "ones_like": np.ones_like,
    "zeros_like": lambda x: np.zeros_like(x, "int8"),
    "empty_like": np.empty_like,
    "lax.full_like": lambda x: lax.full_like(x, 2),
    "lax.full_like of another shape": lambda x: lax.full_like(x, 2, shape=(3, 2)),
    "lax.zeros_like_array": lax.zeros_like_array,
    "beside it": lambda x: x + np.full_like(x, 2),
    "concatenated": lambda x: np.concatenate([x, np.zeros_like(x)]),
    "mapped": tangrad.vmap(lambda x: x + lax.full_like(x, 2)),
    "mapped twice": lambda x: tangrad.vmap(tangrad.vmap(lambda x: x + np.ones_like(x)))(x[None]),
    "mapped, not used": tangrad.vmap(np.ones_like),
    "differentiated": tangrad.grad(lambda x: (x * np.ones_like(x)).sum()),
    "forward": lambda x: tangrad.jvp(lambda x: x * np.ones_like(x), (x,), (np.ones_like(x),)),
    "mapped and differentiated": tangrad.vmap(tangrad.grad(lambda x: x * np.ones_like(x))),
    "scan": lambda x: lax.scan(lambda c, a: (c + a, c), np.zeros_like(x[0]), x),
    "jit": tangrad.jit(np.ones_like),
    "squareplus": tangrad.nn.squareplus,
    "jacfwd": tangrad.jacfwd(np.sin),
    "jacrev": tangrad.jacrev(np.sin),
    "hessian": tangrad.hessian(lambda x: (x**3).sum()),
}


@pytest.mark.parametrize("name", LIKES)
@pytest.mark.parametrize(("backend", "other"), [("numpy", "xla"), ("xla", "numpy")])
def test_constants_are_where_the_array_is_that_they_are_made_for(name: str, backend: str, other: str) -> None:
    x = array_on(backend)
    with tangrad.use_backend(other):
        found = tangrad.tree.leaves(LIKES[name](x))
    assert [type(part) for part in found] == [type(x)] * len(found)
