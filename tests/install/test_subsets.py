"""Selective installs: every subset that its declared requirements allow installs and works, and says what it lacks.

None of them has jaxlib; each runs a small program suited to it, in an environment of its own.
"""

import textwrap
from dataclasses import dataclass, field

import pytest

from tests.install.environments import CommandError
from tools.workspace import distributions, umbrella

MEGABYTE = 1_000_000
BACKEND = "tangrad-backend-numpy"


@dataclass(frozen=True)
class Subset:
    """A set of distributions to ask for, what must work with them, and names that must tell what to install."""

    name: str
    requirements: tuple[str, ...]
    program: str
    missing: dict[str, str] = field(default_factory=dict)  # public name or module -> the distribution it is in

    def __str__(self) -> str:
        return self.name


SUBSETS = (
    Subset(
        "core",
        ("tangrad-core",),
        """
        import tangrad
        from tangrad.core import PrimitiveSet, ShapedArray, check_jaxpr, trace_to_jaxpr
        doubling = PrimitiveSet("doubling", api=1)

        @doubling.primitive
        def double(x):
            return ShapedArray(x.shape, x.dtype)

        with tangrad.core.register(doubling):
            jaxpr, constants = trace_to_jaxpr(lambda x: [double.bind(x)], [ShapedArray((3,), "float32")])
            check_jaxpr(jaxpr)
        assert str(jaxpr) == "{ lambda ; a:f32[3]. let b:f32[3] = double a in (b,) }", jaxpr
        assert constants == []
        assert tangrad.tree.map(lambda x: x + 1, {"a": (1, 2)}) == {"a": (2, 3)}
        """,
        {
            "grad": "tangrad-autodiff",
            "jit": "tangrad-jit",
            "vmap": "tangrad-batching",
            "hessian": "tangrad-jacobians",
            "numpy": "tangrad-numpy",
            "lax": "tangrad-lax",
            "nn": "tangrad-nn",
            "random": "tangrad-random",
            "console": "tangrad-console",
        },
    ),
    Subset(
        "core+backend",
        ("tangrad-core", BACKEND),
        """
        import numpy as np
        import tangrad
        from tangrad.core.backend import get_backend
        assert tangrad.default_backend() == "numpy" and tangrad.devices()[0].platform == "cpu"
        array = get_backend().put(np.arange(3, dtype="float32"), tangrad.typeof(np.zeros(3, "float32")))
        assert isinstance(array, tangrad.Array) and array.shape == (3,) and "shape" in dir(array)
        assert np.asarray(array).tolist() == [0.0, 1.0, 2.0]
        assert tangrad.device_get({"a": array})["a"].dtype == np.float32
        """,
        {"lax": "tangrad-lax", "device_put": "tangrad-lax"},
    ),
    Subset(
        "lax without a backend",
        ("tangrad-lax",),
        """
        from tangrad import lax
        from tangrad.core import ShapedArray, trace_to_jaxpr
        gram = lambda x: [lax.dot_general(x, x, (((1,), (1,)), ((), ())))]
        jaxpr, _ = trace_to_jaxpr(gram, [ShapedArray((2, 3), "float32")])
        assert jaxpr.outvars[0].aval.shape == (2, 2), jaxpr
        try:
            lax.sin(1.0)
        except Exception as error:
            assert "tangrad-backend-numpy" in str(error), error
        else:
            raise AssertionError("lax.sin ran without a backend")
        """,
        {"lax.no_such_name": ""},
    ),
    Subset(
        "lax",
        ("tangrad-lax", BACKEND),
        """
        import numpy as np
        from tangrad import lax
        x = np.linspace(0, 1, 6, dtype="float32").reshape(2, 3)
        assert np.allclose(lax.sin(x), np.sin(x), atol=1e-6)
        assert np.allclose(lax.dot_general(x, x, (((1,), (1,)), ((), ()))), x @ x.T, atol=1e-6)
        assert lax.concatenate([x, x], 0).shape == (4, 3)
        """,
        {"jit": "tangrad-jit", "numpy": "tangrad-numpy"},
    ),
    Subset(
        "runtime",
        ("tangrad-runtime",),
        """
        import os, tempfile
        import numpy as np
        from tangrad import lax, runtime
        x = np.linspace(0, 1, 6, dtype="float32").reshape(2, 3)
        path = os.path.join(tempfile.mkdtemp(), "it.tgr")
        first = lambda x: lax.full((3,), 0.0, "float32")
        runtime.save(lambda x: lax.scan(lambda c, row: (lax.add(c, row), c), first(x), lax.sin(x))[0], path, x)
        assert np.allclose(runtime.load(path)(x), np.sin(x).sum(0), atol=1e-6)
        """,
        {"jit": "tangrad-jit", "grad": "tangrad-autodiff", "vmap": "tangrad-batching", "numpy": "tangrad-numpy"},
    ),
    Subset(
        "masking",
        ("tangrad-masking", BACKEND),
        """
        import numpy as np
        import tangrad
        from tangrad import lax
        total = tangrad.mask(lambda x: lax.reduce_sum(lax.mul(x, 2.0), (0,)), ["n"], "")
        assert float(total([np.array([1, 2, np.nan], "float32")], dict(n=2))) == 6
        """,
        {"grad": "tangrad-autodiff", "numpy": "tangrad-numpy"},
    ),
    Subset(
        "lax+jit",
        ("tangrad-lax", "tangrad-jit", BACKEND),
        """
        import numpy as np
        import tangrad
        from tangrad import lax
        traces = []

        @tangrad.jit
        def f(x):
            traces.append(x)
            return lax.mul(lax.sin(x), lax.cos(x))

        x = np.linspace(0, 1, 5, dtype="float32")
        assert np.allclose(f(x), np.sin(x) * np.cos(x), atol=1e-6) and np.allclose(f(x), f(x))
        assert len(traces) == 1
        """,
        {"grad": "tangrad-autodiff"},
    ),
    Subset(
        "lax+autodiff",
        ("tangrad-lax", "tangrad-autodiff", BACKEND),
        """
        import numpy as np
        import tangrad
        from tangrad import lax
        value, slope = tangrad.value_and_grad(lambda x: lax.sin(lax.mul(x, x)))(np.float32(0.5))
        assert np.allclose(value, np.sin(0.25)) and np.allclose(slope, np.cos(0.25))
        primal, tangent = tangrad.jvp(lax.exp, (np.float32(1),), (np.float32(2),))
        assert np.allclose(tangent, 2 * np.exp(1))
        """,
        {"jit": "tangrad-jit", "jacfwd": "tangrad-jacobians"},
    ),
    Subset(
        "lax+batching",
        ("tangrad-lax", "tangrad-batching", BACKEND),
        """
        import numpy as np
        import tangrad
        from tangrad import lax
        x = np.arange(6, dtype="float32").reshape(2, 3)
        dot = lambda a, b: lax.dot_general(a, b, (((0,), (0,)), ((), ())))
        assert np.allclose(tangrad.vmap(dot)(x, x), (x * x).sum(1))
        assert np.allclose(tangrad.vmap(dot, in_axes=(1, None))(x, x[:, 0]), x.T @ x[:, 0])
        """,
        {"grad": "tangrad-autodiff"},
    ),
    Subset(
        "lax+jit+autodiff",
        ("tangrad-lax", "tangrad-jit", "tangrad-autodiff", BACKEND),
        """
        import numpy as np
        import tangrad
        from tangrad import lax
        slope = tangrad.jit(tangrad.grad(tangrad.jit(lambda x: lax.mul(x, lax.tanh(x)))))
        x = np.float32(0.3)
        assert np.allclose(slope(x), np.tanh(x) + x * (1 - np.tanh(x) ** 2))
        """,
        {"vmap": "tangrad-batching"},
    ),
    Subset(
        "autodiff+batching without jit",
        ("tangrad-lax", "tangrad-autodiff", "tangrad-batching", BACKEND),
        """
        import numpy as np
        import tangrad
        from tangrad import lax
        x = np.linspace(-1, 1, 4, dtype="float32")
        assert np.allclose(tangrad.vmap(tangrad.grad(lax.sin))(x), np.cos(x), atol=1e-6)
        """,
        {"jit": "tangrad-jit"},
    ),
    Subset(
        "jacobians",
        ("tangrad-jacobians", "tangrad-lax", BACKEND),
        """
        import numpy as np
        import tangrad
        from tangrad import lax
        x = np.linspace(0.1, 1, 3, dtype="float32")
        for transformation in (tangrad.jacfwd, tangrad.jacrev):
            assert np.allclose(transformation(lax.sin)(x), np.diag(np.cos(x)), atol=1e-6)
        cubic = lambda x: lax.mul(x, lax.mul(x, x))
        assert np.allclose(tangrad.hessian(cubic)(np.float32(2)), 12)
        """,
        {"jit": "tangrad-jit"},
    ),
    Subset(
        "numpy",
        ("tangrad-numpy", BACKEND),
        """
        import tangrad.numpy as tnp
        x = tnp.arange(6.0).reshape(2, 3)
        assert (x + 1).dtype == tnp.float32 and (x @ x.T).shape == (2, 2)
        assert float(tnp.einsum("ij,ij->", x, x)) == 55.0
        assert x[1, ::-1].tolist() == [5.0, 4.0, 3.0] and x.at[0, 0].set(7)[0, 0] == 7
        """,
        {"grad": "tangrad-autodiff", "nn": "tangrad-nn"},
    ),
    Subset(
        "numpy+jit+autodiff+batching",
        ("tangrad-numpy", "tangrad-jit", "tangrad-autodiff", "tangrad-batching", BACKEND),
        """
        import numpy as np
        import tangrad
        import tangrad.numpy as tnp
        loss = lambda w, x: tnp.mean(tnp.tanh(x @ w) ** 2)
        w, x = tnp.ones((3, 2)), tnp.arange(12.0).reshape(4, 3) / 10
        whole = tangrad.jit(tangrad.grad(loss))(w, x)
        each = tangrad.jit(tangrad.vmap(tangrad.grad(loss), in_axes=(None, 0)))(w, x[:, None])
        assert each.shape == (4, 3, 2) and np.allclose(tnp.mean(each, 0), whole, atol=1e-6)
        """,
        {"random": "tangrad-random"},
    ),
    Subset(
        "nn",
        ("tangrad-nn", BACKEND),
        """
        import numpy as np
        from tangrad import nn
        probabilities = nn.softmax(np.asarray([[1.0, 2.0, 3.0]], dtype="float32"))
        assert np.allclose(np.sum(probabilities), 1) and nn.relu(-1.0) == 0
        assert nn.one_hot(np.array([0, 2]), 3).tolist() == [[1, 0, 0], [0, 0, 1]]
        """,
        {"grad": "tangrad-autodiff"},
    ),
    Subset(
        "random",
        ("tangrad-random", BACKEND),
        """
        import numpy as np
        from tangrad import random
        key = random.key(0)
        first, second = random.split(key)
        draw = np.asarray(random.uniform(first, (1000,)))
        assert draw.dtype == np.float32 and 0 <= draw.min() and draw.max() < 1 and abs(draw.mean() - 0.5) < 0.05
        assert not np.array_equal(draw, random.uniform(second, (1000,)))
        """,
        {"nn": "tangrad-nn"},
    ),
    Subset(
        "conformance",
        ("tangrad-conformance", "tangrad-lax", BACKEND),
        """
        from tangrad.conformance import Sample, check, draw
        from tangrad.core import find_primitive
        sin = find_primitive("elementwise.sin")
        report = check(sin, [Sample(sin, (draw(3),))])
        assert len(report.cells) > 5 and not report.failures, report.text()
        """,
    ),
    Subset(
        "tangrad",
        ("tangrad",),
        """
        import tangrad
        import tangrad.numpy as tnp
        from tangrad import nn, random
        key = random.key(1)
        w = random.normal(key, (4, 3))

        @tangrad.jit
        @tangrad.value_and_grad
        def step(w):
            return -tnp.mean(nn.log_softmax(tnp.ones((2, 4)) @ w)[:, 0])

        before, slope = step(w)
        after, _ = step(w - 0.1 * slope)
        assert float(after) < float(before)
        assert tangrad.default_backend() == "numpy" or tangrad.devices()[0].platform == "cpu"
        """,
    ),
)


def closure(requirements: tuple[str, ...]) -> set[str]:
    """Return the first-party distributions that the requirements bring, themselves included."""
    known = {**distributions(), "tangrad": umbrella()}
    found: set[str] = set()
    stack = list(requirements)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += known[name].first_party_requirements
    return found


@pytest.mark.slow
@pytest.mark.parametrize("subset", SUBSETS, ids=str)
def test_subset(make_environment, subset):
    environment = make_environment(*subset.requirements)
    installed = environment.installed()
    assert {name for name in installed if name.startswith("tangrad")} == closure(subset.requirements)
    assert not installed & {"jax", "jaxlib", "scipy"}
    environment.run(textwrap.dedent(subset.program))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subset", "name"),
    [(s, name) for s in SUBSETS for name in s.missing],
    ids=lambda value: str(value).replace(" ", "_"),
)
def test_a_missing_name_says_what_to_install(make_environment, subset, name):
    environment = make_environment(*subset.requirements)
    distribution = subset.missing[name]
    advice = f"pip install {distribution}" if distribution else "has no attribute 'no_such_name'"
    assert distribution in distributions() or not distribution
    package, _, leaf = f"tangrad.{name}".rpartition(".")
    environment.run(f"""
import tangrad
import {package} as package
try:
    package.{leaf}
except AttributeError as error:
    assert {advice!r} in str(error), error
else:
    raise AssertionError("{name} is there")
try:
    import tangrad.{name}
except ModuleNotFoundError as error:
    assert {advice!r} in str(error) or not {distribution!r}, error
else:
    raise AssertionError("module {name} is there")
""")


@pytest.mark.slow
def test_without_the_console_the_command_names_it(make_environment):
    environment = make_environment("tangrad-core")
    with pytest.raises(CommandError, match="pip install tangrad-console"):
        environment.command("python", "-m", "tangrad", "doctor")


@pytest.mark.slow
def test_the_subset_of_numpy_is_small(make_environment):
    environment = make_environment("tangrad")
    size = environment.size_beside("numpy")
    assert size < 5 * MEGABYTE, f"{size / MEGABYTE:.2f} MB beside NumPy (files of wheels, without bytecode)"


@pytest.mark.slow
def test_every_distribution_can_be_asked_for_alone(make_environment):
    missing = distributions().keys() - {name for subset in SUBSETS for name in closure(subset.requirements)}
    brought_by_extras = {
        *("tangrad-backend-xla", "tangrad-distributed", "tangrad-export", "tangrad-ffi", "tangrad-xla-computation"),
        *("tangrad-compat", "tangrad-image", "tangrad-scaffold", "tangrad-scipy"),
    }
    assert missing == brought_by_extras, "each distribution belongs to some subset above"


@pytest.mark.slow
def test_the_order_of_installation_changes_nothing(environment, make_environment):
    parts = ["tangrad-console", "tangrad-numpy", "tangrad-autodiff", "tangrad-jit", "tangrad-batching", BACKEND]
    for name in parts:
        environment.install(name)
    program = "from tangrad.console.cli import main\nmain(['plugins', '--json'])"
    assert environment.run(program) == make_environment(*reversed(parts)).run(program)


@pytest.mark.slow
def test_xla_joins_the_others(make_environment):
    environment = make_environment("tangrad[xla]")
    assert {"jaxlib", "tangrad-backend-xla"} <= environment.installed()
    assert "jax" not in environment.installed()
    program = """
import numpy as np
import tangrad
import tangrad.numpy as tnp
f = tangrad.jit(tangrad.grad(lambda x: tnp.sum(tnp.sin(x) ** 2)))
x = np.linspace(0, 1, 5, dtype="float32")
print(type(f(x)).__name__)
assert np.allclose(f(x), np.sin(2 * x), atol=1e-6)
"""
    assert environment.run(program) == environment.run(program, variables={"TANGRAD_BACKEND": "xla"}) == "XlaArray\n"
    assert environment.run(program, variables={"TANGRAD_BACKEND": "numpy"}) == "NumpyArray\n"


@pytest.mark.slow
def test_an_editable_install_beside_wheels_is_found(environment):
    environment.install("tangrad-numpy", BACKEND)
    parts = distributions()
    environment.install(parts["tangrad-jit"].folder, editable=True)
    environment.run(
        "import tangrad, tangrad.numpy, tangrad.jitting\n"
        f"assert {str(parts['tangrad-jit'].folder)!r} in tangrad.jitting.__file__\n"
        "assert tangrad.jit(lambda x: x + 1)(1) == 2"
    )
