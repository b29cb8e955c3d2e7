"""Every hook fires from real programs: passes and observers, whatever compiles."""

import ast
import types

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._lax.elementwise.primitives import cos_p, sin_p
from tangrad.core import ClosedJaxpr, backend_names, hookimpl, register
from tools.workspace import distributions

BACKENDS = backend_names()
X = [0.5, 1.0, 1.5]


@pytest.fixture(params=BACKENDS, autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


class Log:
    """All hooks, with the arguments of each."""

    def __init__(self):
        self.programs, self.events = [], []

    def note(self, hook, context, **details):
        self.events.append((hook, context.function_name, context.backend, details))

    @hookimpl
    def tangrad_jaxpr_pass(self, closed_jaxpr, context):
        self.programs.append((context.function_name, closed_jaxpr))

    @hookimpl
    def tangrad_traced(self, context, closed_jaxpr, seconds):
        assert isinstance(closed_jaxpr, ClosedJaxpr) and seconds >= 0
        self.note("traced", context)

    @hookimpl
    def tangrad_lowered(self, context, lowered, seconds):
        assert lowered.as_text() and seconds >= 0
        self.note("lowered", context)

    @hookimpl
    def tangrad_compiled(self, context, executable, seconds):
        assert executable.as_text() and seconds >= 0
        self.note("compiled", context)

    @hookimpl
    def tangrad_cache_hit(self, context, cache):
        self.note("cache_hit", context, cache=cache)

    @hookimpl
    def tangrad_cache_miss(self, context, cache, reason):
        self.note("cache_miss", context, cache=cache, reason=reason)

    def of(self, *names):
        """The events of these functions, with the hook's name first."""
        return [event[0] for event in self.events if event[1] in names]

    def seen(self, hook, **values):
        return [e for e in self.events if e[0] == hook and all(e[3].get(k) == v for k, v in values.items())]


@pytest.fixture
def log():
    made = Log()
    with register(made, group="tangrad.hooks", name="log"):
        yield made


def test_jit(log, backend):
    @tangrad.jit
    def wave(x):
        return np.sin(x) * 2.0

    x = np.array(X)
    log.events.clear()
    wave(x)
    assert log.of("wave") == ["traced", "cache_miss", "lowered", "compiled"]
    assert [name for name, _ in log.programs].count("wave") == 1
    (miss,) = [event for event in log.seen("cache_miss") if event[1] == "wave"]
    assert miss[2] == backend and miss[3] == {"cache": "memory", "reason": "new function"}
    wave(x)
    assert log.of("wave")[-1] == "cache_hit"
    wave(np.array([1, 2]))
    assert log.seen("cache_miss", reason="new types of the arguments")


def test_why_a_function_is_compiled_again(log):
    power = tangrad.jit(lambda x, n: x["a"] ** n, static_argnums=1)
    power({"a": np.array(X)}, 2)
    power({"a": np.array(X)}, 3)
    power({"a": np.array(X), "b": 1.0}, 3)
    with tangrad.default_matmul_precision("highest"):
        power({"a": np.array(X)}, 2)
    reasons = [event[3]["reason"] for event in log.seen("cache_miss", cache="memory") if event[1] == "<lambda>"]
    assert reasons == [
        "new function",
        "new static values",
        "new structure of the arguments",
        "other settings, or another backend or device",
    ]


def test_eager_scan(log, backend):
    def step(carry, x):
        return carry + np.sin(x), carry * x

    x = np.array(X)
    lax.scan(step, 0.0, x)
    assert [name for name, _ in log.programs].count("scan") == 1
    assert log.of("scan") == ["cache_miss", "lowered", "compiled"]
    assert any(name == "sin" for name in _primitives(dict(log.programs)["scan"]))
    assert log.seen("traced"), "the body was traced"
    lax.scan(step, 0.0, x)
    assert log.of("scan").count("compiled") == 1 and log.of("scan")[-1] == "cache_hit"


def test_eager_while_loop(log):
    lax.while_loop(lambda i: i < 1000, lambda i: i + 1, np.array(0))
    assert log.of("while") == ["cache_miss", "lowered", "compiled"]
    assert "while" in dict(log.programs)


def test_eager_gradient(log, backend):
    x = np.array(X)
    gradient = tangrad.grad(lambda x: np.sum(np.tanh(x) * x))
    first = gradient(x)
    halves = {name for name, _ in log.programs}
    assert "tanh" in halves and "pullback_mul" in halves
    for hook in ("cache_miss", "lowered", "compiled"):
        assert hook in log.of("tanh") and hook in log.of("pullback_mul")
    assert log.seen("traced")
    count = len(log.seen("compiled"))
    assert gradient(x).tolist() == first.tolist()
    assert len(log.seen("compiled")) == count and "cache_hit" in log.of("tanh")


def test_ahead_of_time(log, backend):
    @tangrad.jit
    def ahead(x):
        return np.sin(x)

    lowered = ahead.lower(np.array(X))
    assert [event for event in log.of("ahead") if event != "traced"] == ["cache_miss", "lowered"]
    assert log.seen("cache_miss", reason="compiled ahead of time")
    compiled = lowered.compile()
    assert log.of("ahead")[-1] == "compiled" and "ahead" in dict(log.programs)
    numpy.testing.assert_allclose(compiled(np.array(X)), numpy.sin(X), rtol=1e-6)


def test_a_program_inside_another_and_a_call_of_it(log):
    inner = tangrad.jit(lambda x: np.cos(x) + 1.0)
    tangrad.vmap(inner)(np.array(X))
    assert log.seen("compiled") and any("cos" in _primitives(program) for _, program in log.programs)


@pytest.mark.skipif("xla" not in BACKENDS, reason="one operation is a program on XLA alone")
def test_programs_of_one_equation(log, backend):
    if backend != "xla":
        pytest.skip("NumPy calls functions")
    tangrad.clear_caches()
    lax.sin(np.array(X))
    assert "sin" in dict(log.programs) and "compiled" in log.of("sin")


def test_the_persistent_cache(log, backend, tmp_path):
    if backend != "xla":
        pytest.skip("only XLA keeps programs on disk")
    (tmp_path / "cache").mkdir(mode=0o700)
    config = tangrad.config
    before = config.compilation_cache_dir, config.xla_cache_min_compile_seconds
    try:
        config.update("compilation_cache_dir", str(tmp_path / "cache"))
        config.update("xla_cache_min_compile_seconds", 0.0)
        for _ in range(2):
            tangrad.clear_caches()
            tangrad.jit(lambda x: np.sin(x) * 3.25)(np.array(X))
    finally:
        config.update("compilation_cache_dir", before[0])
        config.update("xla_cache_min_compile_seconds", before[1])
    misses = log.seen("cache_miss", cache="disk")
    assert misses and misses[0][3]["reason"] == "there is no entry" and misses[0][2] == "xla"
    assert [event[1] for event in log.seen("cache_hit", cache="disk")].count("<lambda>") == 1


def _primitives(closed):
    found, pending = [], [closed]
    while pending:
        current = pending.pop()
        jaxpr = current.jaxpr if isinstance(current, ClosedJaxpr) else current
        for equation in jaxpr.eqns:
            found.append(equation.primitive.name)
            pending += tangrad._core.kernel.jaxpr.sub_jaxprs(equation.params)
    return found


def with_cosines(closed_jaxpr):
    """A pass: sines of the program itself, or of the programs in it, become cosines."""
    equations = []
    for equation in closed_jaxpr.eqns:
        params = {name: _cosines_inside(value) for name, value in equation.params.items()}
        primitive = cos_p if equation.primitive is sin_p else equation.primitive
        equations.append(equation.replace(primitive=primitive, params=params))
    return ClosedJaxpr(closed_jaxpr.jaxpr.replace(eqns=equations), closed_jaxpr.consts)


def _cosines_inside(value):
    return with_cosines(value) if isinstance(value, ClosedJaxpr) else value


def test_a_pass_changes_what_runs(backend):
    x = np.array(X)

    def results():
        # Functions of their own each time: programs that were compiled before have been forgotten, and are made anew.
        jitted = tangrad.jit(lambda x: np.sin(x))
        scanned = lax.scan(lambda c, x: (c + np.sin(x), None), 0.0, x)[0]
        ahead = tangrad.jit(lambda x: np.sin(x)).lower(x).compile()
        return numpy.concatenate([jitted(x), numpy.reshape(scanned, 1), ahead(x)])

    sines, cosines = numpy.sin(X), numpy.cos(X)
    before = results()
    with register(
        types.SimpleNamespace(tangrad_jaxpr_pass=hookimpl(with_cosines)), group="tangrad.hooks", name="cosines"
    ):
        during = results()
    numpy.testing.assert_allclose(before, [*sines, sines.sum(), *sines], rtol=1e-6)
    numpy.testing.assert_allclose(during, [*cosines, cosines.sum(), *cosines], rtol=1e-6)
    numpy.testing.assert_allclose(results(), before)


def test_a_pass_changes_an_eager_gradient(backend):
    x = np.array(X)
    function = tangrad.grad(lambda x: np.sum(np.sin(x)))
    numpy.testing.assert_allclose(function(x), numpy.cos(X), rtol=1e-6)

    def no_cosines(closed_jaxpr):
        equations = [e.replace(primitive=sin_p) if e.primitive is cos_p else e for e in closed_jaxpr.eqns]
        return ClosedJaxpr(closed_jaxpr.jaxpr.replace(eqns=equations), closed_jaxpr.consts)

    with register(types.SimpleNamespace(tangrad_jaxpr_pass=hookimpl(no_cosines)), group="tangrad.hooks", name="sines"):
        numpy.testing.assert_allclose(function(x), numpy.sin(X), rtol=1e-6)


def test_nans_are_found_by_whatever_compiles(backend):
    with tangrad.debug_nans(True):
        compiled = tangrad.jit(lambda x: np.log(x)).lower(np.array(X)).compile()
        with pytest.raises(FloatingPointError, match="log"):
            compiled(np.array([-1.0, 1.0, 1.0]))


def _from_kernel(node):
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("tangrad.core", "tangrad._core.kernel"))


def test_nothing_else_compiles():
    """Options for a backend are made by the kernel's one room alone; by the doctor, which examines backends; and by
    XLA's, to try a jaxlib that is newer than the tested ones, or options that a user gives, with a program of no
    operations, to hand a program over several devices on with the options that it was given, and to run a program that
    was compiled before and read from a file; and by what adds to given options the shardings in types."""
    users = set()
    for part in distributions().values():
        for name, path in part.modules.items():
            tree = ast.parse(path.read_text())
            taken = {alias.name for node in ast.walk(tree) if _from_kernel(node) for alias in node.names}
            calls = {getattr(node.func, "id", "") for node in ast.walk(tree) if isinstance(node, ast.Call)}
            if "CompileOptions" in taken & calls:
                users.add(name)
    assert users == {
        "tangrad._core.kernel.compilation",
        "tangrad._console.report.backends",
        "tangrad._backend_xla.backend",
        "tangrad._backend_xla.stored_programs",
    }


def test_a_pass_that_says_so_gets_no_short_programs():
    seen = []

    def note(closed_jaxpr, context):
        seen.append(len(closed_jaxpr.eqns))

    note.least_equations = 3
    with register(types.SimpleNamespace(tangrad_jaxpr_pass=hookimpl(note)), group="tangrad.hooks", name="long"):
        tangrad.jit(lambda x: np.sin(np.cos(x)))(1.0)
        assert seen == []
        tangrad.jit(lambda x: np.sin(np.cos(np.sin(x))))(1.0)
        tangrad.jit(lambda x: tangrad.jit(lambda x: np.sin(np.cos(np.sin(x))))(x))(1.0)  # those within count
        assert seen == [3, 1]
