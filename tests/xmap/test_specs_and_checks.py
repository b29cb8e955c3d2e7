"""xmap's specs in every form, and what it refuses: each check an error of its own, naming what was passed."""

import gc
import weakref
from typing import Any

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.experimental.maps import ResourceClashError, SerialLoop, serial_loop, xmap

X = onp.arange(60, dtype=onp.float32).reshape(4, 3, 5)


def same(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("in_axes", "out_axes", "order"),
    [
        ({0: "i"}, {0: "i"}, (0, 1, 2)),
        ({0: "i"}, {2: "i"}, (1, 2, 0)),
        ({-1: "i"}, {0: "i"}, (2, 0, 1)),
        ({0: "i"}, {-1: "i"}, (1, 2, 0)),
        (["i", None, None], ["i", ...], (0, 1, 2)),
        ([None, "i", ...], ["i", None, None], (1, 0, 2)),
        ({0: "i", -1: "j"}, {0: "j", -1: "i"}, (2, 1, 0)),
        (["i", "j", "k"], {2: "i", 0: "k", 1: "j"}, (2, 1, 0)),
        ({}, [...], (0, 1, 2)),
        ([...], [None, None, None], (0, 1, 2)),
    ],
)
def test_forms_of_specs(in_axes: Any, out_axes: Any, order: Any) -> None:
    found = xmap(same, in_axes=in_axes, out_axes=out_axes)(X)
    onp.testing.assert_array_equal(found, X.transpose(order))


def test_specs_are_prefixes_of_arguments() -> None:
    tree = {"w": X, "b": [X[:, 0], X[:, 1]]}
    out = xmap(lambda t, y: (t["w"] + t["b"][0] + y, y), in_axes=[{0: "i"}, {}], out_axes=({0: "i"}, {}))(tree, 2.0)
    onp.testing.assert_allclose(out[0], X + X[:, :1] + 2)
    by_key = xmap(lambda t: t["a"] * t["b"], in_axes=({"a": ["i", ...], "b": {1: "i"}},), out_axes={0: "i"})
    onp.testing.assert_allclose(by_key({"a": X[:, :, 0], "b": X[0, :, :4]}), X[:, :, 0] * X[0, :, :4].T)
    both = xmap(lambda a, b: a - b, in_axes={0: "i"}, out_axes={0: "i"})
    onp.testing.assert_allclose(both(X, X), 0 * X)


def test_results_are_repeated_along_axes_that_they_do_not_vary_along() -> None:
    out = xmap(same, in_axes=["i", ...], out_axes=["i", "j", ...], axis_sizes={"j": 7})(X)
    onp.testing.assert_array_equal(out, onp.repeat(X[:, None], 7, axis=1))
    assert xmap(lambda: lax.axis_index("i"), in_axes=(), out_axes={0: "i"}, axis_sizes={"i": 3})().tolist() == [0, 1, 2]


BY_I = {"in_axes": {0: "i"}, "out_axes": {0: "i"}}
MESH = tangrad.make_mesh((1,), ("x",))


def nested(names: Any) -> Any:
    inner = xmap(same, in_axes={0: names}, out_axes={0: names})
    return xmap(inner, **BY_I)(X)


def other_mesh(x: Any) -> Any:
    with tangrad.make_mesh((1, 1), ("x", "y")):
        return xmap(same, in_axes={0: "k"}, out_axes={0: "k"})(x)


def along(collective: Any) -> Any:
    return xmap(lambda x: collective(x, "i"), **BY_I, axis_resources={"i": SerialLoop(2)})(X)


def spread(resources: Any, function: Any = same, spec: Any = BY_I, *args: Any) -> Any:
    with MESH:
        return xmap(function, **spec, axis_resources=resources)(*(args or (X,)))


def looped(resources: Any) -> Any:
    axes = {0: "i", 1: "j"}
    with serial_loop("turns", 1):
        return xmap(same, in_axes=axes, out_axes=axes, axis_resources=resources)(X)


IJ = {"in_axes": ({0: "i"}, {0: "j"}), "out_axes": {0: "i", 1: "j"}}
CLASH = {"i": "x", "j": "x"}
V = X[0, 0]

REFUSED = {
    "no function": (lambda: xmap(3, **BY_I), TypeError, "expects a function"),
    "no spec": (lambda: xmap(same, in_axes=0, out_axes={}), TypeError, "in_axes names the axes .* got 0"),
    "None as spec": (lambda: xmap(same, in_axes=None, out_axes={}), TypeError, "got None"),
    "an integer as name": (lambda: xmap(same, in_axes={0: 1}, out_axes={}), TypeError, "no integer"),
    "no position": (lambda: xmap(same, in_axes={"i": "i"}, out_axes={}), TypeError, "keys .* positions"),
    "an early ellipsis": (lambda: xmap(same, in_axes=[..., "i"], out_axes={}), ValueError, "last entry"),
    "a name twice": (lambda: xmap(same, in_axes=["i", "i"], out_axes={}), ValueError, "got 'i' twice"),
    "a name twice in out_axes": (
        lambda: xmap(same, in_axes=["i"], out_axes=["i", "i"]),
        ValueError,
        "out_axes .* twice",
    ),
    "a position twice": (
        lambda: xmap(same, in_axes={0: "i", -3: "j"}, out_axes={})(X),
        ValueError,
        "dimension 0 twice",
    ),
    "no such position": (
        lambda: xmap(same, in_axes={3: "i"}, out_axes={0: "i"})(X),
        ValueError,
        "cannot name dimension 3",
    ),
    "another rank": (
        lambda: xmap(same, in_axes=["i", None], out_axes={0: "i"})(X),
        ValueError,
        "args.0. .* 3 dim.* is for 2",
    ),
    "another rank of a result": (
        lambda: xmap(same, in_axes={0: "i"}, out_axes=["i"])(X),
        ValueError,
        "result 0 .* has 3",
    ),
    "unknown in out_axes": (
        lambda: xmap(same, in_axes={0: "i"}, out_axes={0: "j"}),
        ValueError,
        "out_axes names .* 'j'",
    ),
    "undeclared": (lambda: xmap(same, in_axes={0: "i"}, out_axes={})(X), ValueError, "varies along axis 'i'"),
    "unknown resources": (
        lambda: xmap(same, **BY_I, axis_resources={"j": "x"}),
        ValueError,
        "neither .* 'j'; the axes are 'i'",
    ),
    "missing resources": (
        lambda: xmap(same, **BY_I, axis_resources={"i": "x"})(X),
        ValueError,
        "'x', and no such resource",
    ),
    "a resource twice": (lambda: xmap(same, **BY_I, axis_resources={"i": ("x", "x")}), ValueError, "got 'x' twice"),
    "two loops": (lambda: spread({"i": (SerialLoop(2), SerialLoop(1))}), ValueError, "one serial loop, got two"),
    "a loop before the mesh": (lambda: spread({"i": (SerialLoop(2), "x")}), ValueError, "must come after"),
    "no division": (lambda: spread({"i": SerialLoop(3)}), ValueError, "size 4 does not divide into 3"),
    "sizes that differ": (
        lambda: xmap(lambda x, y: x, in_axes=({0: "i"}, {1: "i"}), out_axes={0: "i"})(X, X),
        ValueError,
        "dimension 0 of args.0., of shape .* is 4, and dimension 1 of args.1., of shape .* is 3",
    ),
    "another size than stated": (lambda: xmap(same, **BY_I, axis_sizes={"i": 5})(X), ValueError, "axis_sizes it is 5"),
    "no integer as size": (lambda: xmap(same, **BY_I, axis_sizes={"i": 1.5}), TypeError, "must be an integer"),
    "a hidden axis": (lambda: nested("i"), ValueError, "axis 'i' .* would hide"),
    "an axis hidden under vmap": (lambda: tangrad.vmap(xmap(same, **BY_I), axis_name="i")(X), ValueError, "would hide"),
    "another mesh inside": (lambda: spread({"i": "x"}, other_mesh), RuntimeError, "must stay the same"),
    "a looped sum": (lambda: along(lax.psum), NotImplementedError, "'i' runs in a serial loop, .* psum uses"),
    "a looped gathering": (lambda: along(lax.all_gather), NotImplementedError, "all_gather uses"),
    "a looped sum in a loop": (
        lambda: along(lambda x, i: lax.fori_loop(0, 2, lambda k, c: lax.pmean(c, i), x)),
        NotImplementedError,
        "has a program that uses",
    ),
    "a clash in an argument": (
        lambda: spread(CLASH, same, {"in_axes": {0: "i", 1: "j"}, "out_axes": {0: "i", 1: "j"}}),
        ResourceClashError,
        "'i' and 'j' .* 'x', .* argument 0",
    ),
    "a clash in a value": (
        lambda: spread(CLASH, lambda a, b: a + b, IJ, V, V),
        ResourceClashError,
        "result f32.* of add",
    ),
    "a clash in a loop": (
        lambda: spread(
            CLASH, lambda a, b: lax.fori_loop(0, 2, lambda k, c: (a * b, c)[1], a), {**IJ, "out_axes": {0: "i"}}, V, V
        ),
        ResourceClashError,
        "result f32",
    ),
    "a clash in a repeated result": (
        lambda: spread(CLASH, lambda a, b: a, IJ, V, V),
        ResourceClashError,
        "repeated along 'j'",
    ),
    "a clash with a nested map": (
        lambda: spread(
            {"i": "x"}, lambda a: xmap(same, in_axes={0: "k"}, out_axes={0: "k"}, axis_resources={"k": "x"})(a)
        ),
        ResourceClashError,
        "'i' and 'k'",
    ),
    "a clash with the result of a nested map": (
        lambda: spread(
            {"i": "x"},
            xmap(same, in_axes={}, out_axes=["j", ...], axis_sizes={"j": 2}, axis_resources={"j": "x"}),
            BY_I,
            V,
        ),
        ResourceClashError,
        "'i' and 'j' both need the mesh axis 'x', .* result .* of xmap",
    ),
    "two axes in one named loop": (
        lambda: looped({"i": "turns", "j": "turns"}),
        ResourceClashError,
        "'i' and 'j' both need the serial loop 'turns', .* argument 0",
    ),
    "no donation": (lambda: xmap(same, **BY_I, donate_argnums=3)(X), ValueError, "donate_argnums has 3"),
    "no position to donate": (lambda: xmap(same, **BY_I, donate_argnums="x"), TypeError, "must be integers"),
    "no loop": (lambda: SerialLoop(0), ValueError, "at least one iteration"),
    "no number of iterations": (lambda: SerialLoop(1.5), TypeError, "number of its iterations"),
    "no array": (lambda: xmap(same, **BY_I)("x"), TypeError, "not an array"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, error, message = REFUSED[case]
    before = xmap(same, **BY_I)(X)
    with pytest.raises(error, match=message):
        call()
    onp.testing.assert_array_equal(xmap(same, **BY_I)(X), before)  # nothing is left changed


def test_axes_on_one_mesh_axis_that_do_not_meet() -> None:
    out = spread(CLASH, lambda a, b: (a * 2, b * 3), {**IJ, "out_axes": ({0: "i"}, {0: "j"})}, V, V)
    onp.testing.assert_allclose(out[0], V * 2)
    onp.testing.assert_allclose(out[1], V * 3)


def test_named_loops() -> None:
    f = xmap(lambda x: x * 2 + lax.axis_index("i"), **BY_I, axis_resources={"i": "turns"})
    with serial_loop("turns", 2):
        onp.testing.assert_allclose(f(V[:4]), V[:4] * 2 + onp.arange(4))
        with pytest.raises(ValueError, match="already"), serial_loop("turns", 4):
            pass
    with pytest.raises(ValueError, match="'turns'"):
        f(V[:4])


def test_axes_of_one_value_in_loops_of_their_own() -> None:
    axes = {0: "i", 2: "j"}
    f = xmap(same, in_axes=axes, out_axes=axes, axis_resources={"i": SerialLoop(2), "j": SerialLoop(5)})
    onp.testing.assert_array_equal(f(X), X)
    assert issubclass(ResourceClashError, TypeError)


def test_pictures() -> None:
    with MESH:
        f = xmap(
            lambda x, y: x * y,
            in_axes=({0: "i"}, {0: "j"}),
            out_axes=["i", "j"],
            axis_resources={"i": "x", "j": SerialLoop(5)},
        )
        lines = f.picture(V, V).splitlines()
    assert [line.split() for line in lines] == [
        ["value", "of", "one", "example", "i", "(5)", "j", "(5)"],
        ["argument", "0", "f32[]", "mesh", "x", "-"],
        ["argument", "1", "f32[]", "-", "loop", "of", "5"],
        ["mul", "f32[]", "mesh", "x", "loop", "of", "5"],
        ["result", "0", "f32[]", "mesh", "x", "loop", "of", "5"],
    ]


def test_settings_that_contradict() -> None:
    spmd, manual = (
        tangrad._sharding.xmap.axes.spmd_lowering,
        tangrad._sharding.xmap.axes.manual_lowering,
    )
    with spmd(False), pytest.raises(ValueError, match="needs experimental_xmap_spmd_lowering"), manual(True):
        pass
    with manual(True), spmd(False):
        assert tangrad._sharding.xmap.axes.chosen_lowering() == "replicated"  # as if the second were off

    def changing(x: Any) -> Any:
        with manual(True):
            return x

    with pytest.raises(RuntimeError, match="while a mapped function is traced"):
        xmap(changing, **BY_I)(X)
    assert spmd.value is True
    assert manual.value is False


def check_reduction(mapped: Any, x: Any, mask: Any, ours: Any, numpys: Any, takes_where: bool) -> None:
    onp.testing.assert_allclose(mapped(lambda a: ours(a, axis="i")), numpys(x, axis=0), rtol=1e-4, atol=1e-5)
    both = mapped(lambda a: ours(a, axis=(0, "i"), keepdims=True))
    onp.testing.assert_allclose(both, numpys(x, axis=(0, 1))[None], rtol=1e-4, atol=1e-5)
    if takes_where:
        some = numpys(x, axis=(0, 2), where=onp.broadcast_to(mask, x.shape))
        found = mapped(lambda a: ours(a, axis=("i", 1), where=mask))
        onp.testing.assert_allclose(found, some, rtol=1e-4, atol=1e-5)


def test_reductions_over_named_axes() -> None:
    def mapped(function: Any, out_axes: Any = {}) -> Any:  # noqa: B006 - it is a spec
        return xmap(function, in_axes={0: "i"}, out_axes=out_axes)(X / 10 - 2)

    x = X / 10 - 2
    mask = onp.arange(15).reshape(3, 5) % 3 > 0
    for name in ("sum", "mean", "max", "min", "prod", "var", "std"):
        check_reduction(mapped, x, mask, getattr(np, name), getattr(onp, name), name not in ("max", "min"))
    onp.testing.assert_array_equal(mapped(lambda a: np.any(a > 2, axis="i")), (x > 2).any(0))
    onp.testing.assert_array_equal(mapped(lambda a: np.all(a > -1, axis=("i", 0))), (x > -1).all((0, 1)))
    for reduce, numpys in ((lax.reduce_sum, onp.sum), (lax.reduce_max, onp.max), (lax.reduce_min, onp.min)):
        onp.testing.assert_allclose(mapped(lambda a, r=reduce: r(a, ("i", 1))), numpys(x, axis=(0, 2)), rtol=1e-5)
    for function in (tangrad.nn.softmax, tangrad.nn.log_softmax):
        onp.testing.assert_allclose(
            mapped(lambda a, f=function: f(a, axis=("i", 1)), {0: "i"}), function(x, axis=(0, 2)), rtol=1e-4
        )
    total = mapped(lambda a: tangrad.nn.logsumexp(a, axis=("i", 0)))
    onp.testing.assert_allclose(total, tangrad.nn.logsumexp(x, axis=(0, 1)), rtol=1e-5)
    with pytest.raises(TypeError, match="'k'"):
        mapped(lambda a: np.sum(a, axis="k"))


@pytest.mark.parametrize(
    ("subscripts", "in_axes", "out_axes", "positional"),
    [
        ("{b,in},{in,o}->{b,o}", ({0: "b", 1: "in"}, {0: "in", 1: "o"}), {0: "b", 1: "o"}, "bi,io->bo"),
        ("{b}i,i{o}->{b,o}", ({0: "b"}, {1: "o"}), {0: "b", 1: "o"}, "bi,io->bo"),
        ("{in},{in}->{}", ({1: "in", 0: "b"}, {0: "in", 1: "o"}), {0: "b", 1: "o"}, "bi,io->bo"),
        ("i{in},{in}j->ij", ({1: "in"}, {0: "in"}), {}, "bi,io->bo"),
    ],
)
def test_einsum_over_named_axes(subscripts: str, in_axes: Any, out_axes: Any, positional: str) -> None:
    a, b = X[0, :, :].copy(), X[1].T.copy()
    found = xmap(lambda u, v: np.einsum(subscripts, u, v), in_axes=in_axes, out_axes=out_axes)(a, b)
    onp.testing.assert_allclose(found, onp.einsum(positional, a, b), rtol=1e-5)


@pytest.mark.parametrize(
    ("subscripts", "error", "message"),
    [
        ("{i},{k}->{}", NameError, "'k'; the named axes in scope are 'i'"),
        ("{i},{i}", ValueError, "must say what the result is"),
        ("{i},{i}->{j}", NameError, "'j'"),
        ("{i,{i}->{}", ValueError, "do not match"),
        ("{i,i},{i}->{}", ValueError, "names 'i' twice"),
        ("{i}->{}", ValueError, "1 terms, but there are 2 operands"),
    ],
)
def test_einsum_refuses(subscripts: str, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        xmap(lambda u: np.einsum(subscripts, u, u), in_axes={0: "i"}, out_axes={})(V)


# --- What calls of one function have in common ----------------------------------------------------------------------


def test_a_function_that_is_mapped_anew_is_not_traced_anew():
    traced = []

    def doubled(x):
        traced.append(x.shape)
        return x * 2

    x = np.arange(6.0).reshape(2, 3)
    for _ in range(3):
        assert xmap(doubled, in_axes=["i", ...], out_axes=["i", ...])(x).shape == (2, 3)
    assert traced == [(3,)]
    xmap(doubled, in_axes={1: "i"}, out_axes={1: "i"})(x)
    assert traced == [(3,), (2,)]  # in another way
    xmap(doubled, in_axes=["i", ...], out_axes=["i", ...]).clear_cache()
    xmap(doubled, in_axes=["i", ...], out_axes=["i", ...])(x)
    assert traced == [(3,), (2,), (3,)]


def test_what_is_kept_goes_with_the_function():
    def made():
        offset = np.ones(3)
        function = lambda x: x + offset.sum()
        xmap(function, in_axes=["i"], out_axes=["i"])(np.arange(2.0))
        return weakref.ref(function)

    function = made()
    gc.collect()
    assert function() is None


def test_methods_and_objects_are_mapped_too():
    class Scale:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x * self.by

        def method(self, x):
            return x + self.by

    x = np.arange(3.0)
    for by in (2.0, 5.0):
        scale = Scale(by)
        assert xmap(scale, in_axes=["i"], out_axes=["i"])(x).tolist() == [0, by, 2 * by]
        assert xmap(scale.method, in_axes=["i"], out_axes=["i"])(x).tolist() == [by, 1 + by, 2 + by]


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_specs_is_one_of_a_list_or_of_a_tuple(kind):
    x = np.arange(2.0)
    both = xmap(lambda x: kind([x, x + 1]), in_axes=["i"], out_axes=[["i"], ["i"]])(x)
    assert type(both) is kind and both[1].tolist() == [1, 2]


def test_classes_of_errors():
    """Those that JAX has for them, beside ours."""
    x = np.ones((2, 3))
    with pytest.raises(tangrad.errors.TracerTypeError, match="both need the serial loop"), serial_loop("l", 2):
        resources = {"i": "l", "j": "l"}
        xmap(lambda x: x, in_axes=["i", "j"], out_axes=["i", "j"], axis_resources=resources)(np.ones((2, 2)))
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match="varies along axis 'j'"):
            xmap(lambda x: x, in_axes=["i", "j"], out_axes=["i"])(x)
