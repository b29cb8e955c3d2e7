"""Collectives against NumPy: groups, several axes, permutations; types, programs, bad input. See also the programs of
tests/differential, which hold them against JAX under every transformation.
"""

import contextlib

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, use_backend
from tangrad.core import ShapedArray
from tangrad.core.tools import check_jaxpr
from tests.primitives.support import BACKENDS, assert_same, check_derivative

PAIRS = [[0, 3], [2, 1]]
UNEVEN = [[2], [0, 3, 1]]
ACROSS = [[0, 5], [4, 1], [3, 2]]  # of the joint indices of two axes, of sizes 2 and 3
GROUPED = {"i": ((4,), (None, PAIRS, UNEVEN)), "ij": ((2, 3), (None, ACROSS, [[1], [0, 5, 2, 4, 3]]))}


def draw(*shape):
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


def over(function, axes="i"):
    """The function mapped over axes, the first one outermost."""
    for name in reversed(axes):
        function = tangrad.vmap(function, axis_name=name)
    return function


def ways(function, axes="i"):
    """The ways to run it: eagerly, with jit inside the map, and outside of it."""
    yield "eager", over(function, axes)
    yield "jit inside", over(tangrad.jit(function), axes)
    yield "jit outside", tangrad.jit(over(function, axes))


def agrees(function, expected, x, axes="i"):
    """`function` of each example is what `expected` makes of all of them in one row, on both backends, in all ways."""
    count = len(axes)
    rows = x.reshape(-1, *x.shape[count:])
    wanted = np.stack(expected(rows))
    wanted = wanted.reshape(*x.shape[:count], *wanted.shape[1:])
    for name in BACKENDS:
        with use_backend(name):
            for how, run in ways(function, axes) if name == "numpy" else list(ways(function, axes))[2:]:
                assert_same(run(x), wanted, 2e-5, f"{name}, {how}")


def with_groups(of_group, groups):
    """For the rows of all examples the results of a function of the rows of one group."""

    def run(rows):
        out = [None] * len(rows)
        for group in groups if groups is not None else [range(len(rows))]:
            for place, result in zip(group, of_group(rows[list(group)]), strict=True):
                out[place] = result
        return out

    return run


def joint(axes):
    return axes if len(axes) == 1 else tuple(axes)


def grouped(equal):
    """Axes, their sizes, and groups, of one size where that is asked."""
    return [
        pytest.param(axes, sizes, groups, id=f"{axes}-{groups}")
        for axes, (sizes, choices) in GROUPED.items()
        for groups in choices
        if not equal or groups is None or len({len(group) for group in groups}) == 1
    ]


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["psum", "pmean", "pmax", "pmin"])
@pytest.mark.parametrize("axes, sizes, groups", grouped(equal=False))
def test_reductions(name, axes, sizes, groups):
    reduce = {"psum": np.sum, "pmean": np.mean, "pmax": np.max, "pmin": np.min}[name]
    expected = with_groups(lambda rows: [reduce(rows, 0)] * len(rows), groups)
    function = lambda v: getattr(lax, name)(v, joint(axes), axis_index_groups=groups)
    agrees(function, expected, draw(*sizes, 2, 3), axes)


@pytest.mark.parametrize("axes, sizes, groups", grouped(equal=True))
def test_all_gather(axes, sizes, groups):
    x = draw(*sizes, 2, 3)
    for axis in (0, 1, 2, -1):
        expected = with_groups(lambda rows, axis=axis: [np.moveaxis(rows, 0, axis)] * len(rows), groups)
        agrees(lambda v, a=axis: lax.all_gather(v, joint(axes), axis=a, axis_index_groups=groups), expected, x, axes)
    for axis in (0, 1, -2):
        expected = with_groups(lambda rows, axis=axis: [np.concatenate(list(rows), axis)] * len(rows), groups)
        function = lambda v, a=axis: lax.all_gather(v, joint(axes), axis=a, axis_index_groups=groups, tiled=True)
        agrees(function, expected, x, axes)


def members(sizes, groups):
    return int(np.prod(sizes)) if groups is None else len(groups[0])


@pytest.mark.parametrize("axes, sizes, groups", grouped(equal=True))
def test_psum_scatter(axes, sizes, groups):
    count = members(sizes, groups)
    for axis in (0, 1, -1):
        shape = [2, 2]
        shape[axis] = count
        options = {"scatter_dimension": axis, "axis_index_groups": groups}
        expected = with_groups(lambda rows, axis=axis: list(np.moveaxis(rows.sum(0), axis, 0)), groups)
        agrees(lambda v, o=options: lax.psum_scatter(v, joint(axes), **o), expected, draw(*sizes, *shape), axes)
        shape[axis] = 2 * count
        expected = with_groups(lambda rows, axis=axis: np.split(rows.sum(0), len(rows), axis), groups)
        function = lambda v, o=options: lax.psum_scatter(v, joint(axes), tiled=True, **o)
        agrees(function, expected, draw(*sizes, *shape), axes)


@pytest.mark.parametrize("axes, sizes, groups", grouped(equal=True))
def test_all_to_all(axes, sizes, groups):
    count = members(sizes, groups)

    def tiles(split, concat):
        def exchange(rows):
            parts = [np.split(row, len(rows), split) for row in rows]
            return [np.concatenate([part[place] for part in parts], concat) for place in range(len(rows))]

        return exchange

    def new(split, concat):
        return lambda rows: [
            np.stack([np.take(row, place, split) for row in rows], concat) for place in range(len(rows))
        ]

    for split, concat in ((0, 0), (0, 1), (1, 0), (1, 1)):
        shape = [2, 2]
        shape[split] = count
        options = {"axis_index_groups": groups}
        function = lambda v, s=split, c=concat, o=options: lax.all_to_all(v, joint(axes), s, c, **o)
        agrees(function, with_groups(new(split, concat), groups), draw(*sizes, *shape), axes)
        shape[split] = 2 * count
        function = lambda v, s=split, c=concat, o=options: lax.all_to_all(v, joint(axes), s, c, tiled=True, **o)
        agrees(function, with_groups(tiles(split, concat), groups), draw(*sizes, *shape), axes)
    function = lambda v: lax.pswapaxes(v, joint(axes), -2, axis_index_groups=groups)
    agrees(function, with_groups(new(0, 0), groups), draw(*sizes, count, 2), axes)


@pytest.mark.parametrize(
    "axes, sizes, perm",
    [
        ("i", (4,), [(k, (k + 1) % 4) for k in range(4)]),
        ("i", (4,), [(3, 0), (1, 2)]),
        ("i", (4,), [(0, 2), (1, 0), (2, 3), (3, 1)]),
        ("i", (4,), []),
        ("i", (4,), [(k, k) for k in range(4)]),
        ("ij", (2, 3), [(0, 4), (1, 2), (5, 0)]),
        ("ij", (2, 3), [(k, (k + 1) % 6) for k in range(6)]),
    ],
)
def test_ppermute(axes, sizes, perm):
    def expected(rows):
        out = [np.zeros_like(rows[0])] * len(rows)
        for source, destination in perm:
            out[destination] = rows[source]
        return out

    agrees(lambda v: lax.ppermute(v, joint(axes), perm), expected, draw(*sizes, 2), axes)
    # What is not mapped is sent as well.
    sent = over(lambda v: lax.ppermute(v[0] * 0 + 2.0, joint(axes), perm), axes)
    unmapped = over(lambda v: lax.ppermute(tnp.float32(2.0), joint(axes), perm) + 0 * v[0], axes)
    assert_same(unmapped(draw(*sizes, 2)), sent(draw(*sizes, 2)))


@pytest.mark.parametrize("order", ["ij", "ji"])
def test_several_axes_vary_in_the_order_in_which_they_are_named(order):
    x = np.arange(6).reshape(2, 3)
    names = tuple(order)
    flat = x.ravel() if order == "ij" else x.T.ravel()
    index = over(lambda v: lax.axis_index(names), "ij")(x)
    assert_same(index, x.astype(np.int32) if order == "ij" else np.array([[0, 2, 4], [1, 3, 5]], np.int32))
    assert_same(over(lambda v: lax.all_gather(v, names), "ij")(x)[1, 2], flat.astype(np.int32))
    at_four = over(lambda v: lax.pbroadcast(v, names, 4), "ij")(x)
    assert_same(at_four, np.full((2, 3), flat[4], np.int32))
    shuffled = over(lambda v: lax.pshuffle(v, names, [5, 4, 3, 2, 1, 0]), "ij")(x)
    assert_same(shuffled, x[::-1, ::-1].astype(np.int32))


def test_pbroadcast():
    agrees(lambda v: lax.pbroadcast(v, "i", 2), lambda rows: [rows[2]] * 4, draw(4, 3))
    assert_same(over(lambda v: lax.pbroadcast({"a": v, "b": 3}, "i", 0), "i")(draw(2))["b"], np.int32([3, 3]))


def test_positions_outside_of_any_map():
    x = draw(2, 3)
    for name in BACKENDS:
        with use_backend(name):
            assert_same(lax.psum(x, 1), x.sum(1))
            assert_same(
                tangrad.jit(lambda v: (lax.psum(v, (0, 1)), lax.pmax(v, -1), lax.pmean(v, 0)))(x),
                (x.sum(), x.max(1), x.mean(0)),
            )
    mixed = over(lambda v: (lax.pmean(v, ("i", 0)), lax.pmean(v, ("i", -1))), "i")(draw(4, 3, 2))
    rows = draw(4, 3, 2)
    assert_same(mixed, (np.stack([rows.mean((0, 1))] * 4), np.stack([rows.mean((0, 2))] * 4)))


def test_of_constants_sums_are_python_numbers():
    seen = []

    def function(v):
        seen.extend([lax.psum(1, "i"), lax.psum(2.5, "i"), lax.psum(1j, "i"), lax.pmean(3, "i"), lax.axis_size("i")])
        seen.extend([lax.psum(1, "i", axis_index_groups=PAIRS), lax.psum(np.int8([100, 1]), "i")])
        return v

    over(function)(draw(4))
    assert [type(value) for value in seen[:6]] == [int, float, complex, float, int, int]
    assert seen[:6] == [4, 10.0, 4j, 3.0, 4, 2]
    assert_same(seen[6], np.int8([-112, 4]))
    uneven = over(lambda v: (lax.psum(1, "i", axis_index_groups=UNEVEN), lax.psum(0.5, "i", axis_index_groups=UNEVEN)))
    assert_same(uneven(draw(4)), (np.int32([3, 3, 1, 3]), np.float32([1.5, 1.5, 0.5, 1.5])))


def test_an_axis_of_one_example_and_of_none():
    one = over(
        lambda v: (lax.psum(v, "i"), lax.all_gather(v, "i"), lax.axis_index("i"), lax.ppermute(v, "i", [(0, 0)]))
    )
    assert_same(one(np.float32([2.0])), (np.float32([2.0]), np.float32([[2.0]]), np.int32([0]), np.float32([2.0])))
    none = over(lambda v: (lax.psum(v, "i"), lax.all_gather(v, "i"), lax.ppermute(v, "i", [])))
    assert [out.shape for out in none(np.zeros((0, 2), np.float32))] == [(0, 2), (0, 0, 2), (0, 2)]


def test_dtypes_and_named_values():
    x = np.arange(4)
    for kind in ("int8", "uint16", "float16", "bfloat16", "complex64"):
        v = tnp.asarray(x).astype(kind)
        for function in (lax.psum, lax.all_gather):
            assert over(lambda w, f=function: f(w, "i"))(v).dtype == v.dtype
    assert over(lambda w: lax.pmean(w, "i"))(tnp.asarray(x)).dtype == np.float32
    with enable_x64(True):
        assert over(lambda w: lax.pmean(w, "i"))(tnp.asarray(x)).dtype == np.float64
        assert over(lambda w: lax.axis_index("i"))(x).dtype == np.int32
    marked = over(lambda v: (lax.pvary(v, "i"), lax.pcast({"a": v}, ("i",), to="varying")))(draw(2))
    assert_same(marked, (draw(2), {"a": draw(2)}))
    token = object()
    assert_same(tangrad.vmap(lambda v: lax.psum(v, token), axis_name=token)(draw(3)), np.full(3, draw(3).sum()))


# --- derivatives -----------------------------------------------------------------------------------------------------


def test_extremes_have_derivatives_within_the_map():
    """As those of a maximum outside: ties share."""
    x = np.array([1.0, 3.0, 3.0, 2.0], np.float32)
    assert_same(over(tangrad.grad(lambda v: lax.pmax(v, "i")))(x), np.float32([0, 2, 2, 0]))
    check_derivative(over(lambda v: lax.pmin(v * v, ("i", 0))), draw(3, 2))
    both = lambda v: lax.pmax(v, "i", axis_index_groups=PAIRS) * lax.pmin(v, ("i",)) + lax.pmax(tnp.sin(v), "i")
    point, direction = draw(4), draw(4)[::-1]
    found = over(lambda v, t: tangrad.jvp(both, (v,), (t,))[1])(point, direction)
    assert_same(found, tangrad.jvp(over(both), (point,), (direction,))[1])


def test_permutations_send_cotangents_back():
    weights = draw(4)
    function = lambda v, w: lax.ppermute(v, "i", [(0, 2), (1, 3), (3, 0)]) * w
    found = over(tangrad.grad(function))(draw(4), weights)
    assert_same(found, np.float32([weights[2], weights[3], 0, weights[0]]))
    source = over(tangrad.grad(lambda v, w: lax.pbroadcast(v, "i", 1) * w))(draw(4), weights)
    assert_same(source, np.float32([0, weights.sum(), 0, 0]))


# --- programs --------------------------------------------------------------------------------------------------------


def test_programs_say_which_axes_they_use():
    environment = [("i", 3), ("j", 2)]

    def function(x):
        return lax.psum(x, ("i", 0)), lax.all_gather(x, "j", axis=1), lax.axis_index("i"), lax.psum(1, ("i", "j"))

    jaxpr = tangrad.make_jaxpr(function, axis_env=environment)(np.ones(3, np.float32))
    check_jaxpr(jaxpr)
    assert {effect.name for effect in jaxpr.effects} == {"i", "j"}
    text = str(jaxpr)
    assert "psum[axes=('i', 0) axis_index_groups=None]" in text and "axis_index[axis_name=i]" in text
    assert "all_gather_dimension=1" in text and "in (b, c, d, 6:i32[])" in text
    outer = tangrad.make_jaxpr(tangrad.jit(lambda x: lax.psum(x, "j")), axis_env=environment)(np.float32(1))
    assert {effect.name for effect in outer.effects} == {"j"}
    assert not tangrad.make_jaxpr(over(lambda x: lax.psum(x, "i")))(draw(3)).effects


def test_named_axes_of_types():
    """Reductions over an axis take it out of a type; the others leave it."""
    from tangrad._collectives.primitives import collectives

    x = ShapedArray((3, 2), "float32", named_shape={"i": 3, "j": 2})
    p = collectives.primitives
    some = {"axis_name": ("i",), "axis_size": 3, "axis_index_groups": None}
    named = {
        "psum": p["psum"].infer((x,), {"axes": ("i", 0), "axis_index_groups": None}),
        "grouped": p["psum"].infer((x,), {"axes": ("i",), "axis_index_groups": ((0, 1), (2,))}),
        "all_gather": p["all_gather"].infer((x,), {**some, "all_gather_dimension": 0, "tiled": False}),
        "reduce_scatter": p["reduce_scatter"].infer((x,), {**some, "scatter_dimension": 0, "tiled": False}),
        "ppermute": p["ppermute"].infer((x,), {"axis_name": ("i",), "perm": ()}),
        "pbroadcast": p["pbroadcast"].infer((x,), {"axis_name": ("i", "j"), "source": 0}),
    }
    assert {name: aval.str_short() for name, aval in named.items()} == {
        "psum": "f32[2;j:2]",
        "grouped": "f32[3,2;i:3,j:2]",
        "all_gather": "f32[3,3,2;i:3,j:2]",
        "reduce_scatter": "f32[2;i:3,j:2]",
        "ppermute": "f32[3,2;i:3,j:2]",
        "pbroadcast": "f32[3,2]",
    }


def test_a_jitted_function_is_traced_for_each_size_of_its_axis():
    traced = []

    @tangrad.jit
    def function(v):
        traced.append(lax.axis_size("i"))
        return lax.psum(v, "i")

    for size in (2, 3, 2):
        assert_same(over(function)(np.ones(size, np.float32)), np.full(size, size, np.float32))
    assert traced == [2, 3]
    with pytest.raises(NameError):
        function(1.0)


def test_a_program_mapped_along_an_axis_of_another_size_is_refused():
    gathered = tangrad.make_jaxpr(lambda v: lax.all_gather(v, "i"), axis_env=[("i", 3)])(1.0)
    run = tangrad.vmap(lambda v: tangrad.core.eval_jaxpr(gathered.jaxpr, gathered.consts, v)[0], axis_name="i")
    assert run(draw(3)).shape == (3, 3)
    with pytest.raises(ValueError, match="'i' of size 3, but is mapped along one of size 4"):
        run(draw(4))
    with pytest.raises(NameError, match="no mapped axis is named 'i'"):
        tangrad.core.eval_jaxpr(gathered.jaxpr, gathered.consts, 1.0)


# --- bad input -------------------------------------------------------------------------------------------------------

X = draw(4, 3)
BAD = {
    "unknown axis": (NameError, ["'k'", "'i' (size 4)"], lambda v: lax.psum(v, "k")),
    "unknown among several": (NameError, ["pmean", "'k'"], lambda v: lax.pmean(v, ("i", "k"))),
    "unknown in gather": (NameError, ["all_gather", "'k'"], lambda v: lax.all_gather(v, "k")),
    "unknown in scatter": (NameError, ["psum_scatter", "'k'"], lambda v: lax.psum_scatter(v, "k")),
    "unknown in exchange": (NameError, ["pswapaxes", "'k'"], lambda v: lax.pswapaxes(v, "k", 0)),
    "unknown in permutation": (NameError, ["ppermute", "'k'"], lambda v: lax.ppermute(v, "k", [(0, 1)])),
    "unknown in shuffle": (NameError, ["pshuffle", "'k'"], lambda v: lax.pshuffle(v, "k", [0])),
    "unknown in broadcast": (NameError, ["pbroadcast", "'k'"], lambda v: lax.pbroadcast(v, "k", 0)),
    "unknown index": (NameError, ["axis_index", "'k'"], lambda v: lax.axis_index("k")),
    "unknown size": (NameError, ["axis_size", "'k'"], lambda v: lax.axis_size(("i", "k"))),
    "unknown in jit": (NameError, ["'k'"], lambda v: tangrad.jit(lambda w: lax.psum(w, "k"))(v)),
    "unknown in scan": (NameError, ["'k'"], lambda v: lax.scan(lambda c, x: (lax.psum(c, "k"), x), v[0], v)),
    "None": (NameError, ["None"], lambda v: lax.psum(v, None)),
    "axis twice": (ValueError, ["'i' twice"], lambda v: lax.psum(v, ("i", "i"))),
    "unhashable": (TypeError, ["hashable", "{}"], lambda v: lax.psum(v, ({},))),
    "a set of names": (TypeError, ["a tuple or a str", "'i'"], lambda v: lax.psum(v, frozenset({"i"}))),
    "no array": (TypeError, ["psum", "['a']", "'text'", "str"], lambda v: lax.psum({"a": "text"}, "i")),
    "no array in gather": (TypeError, ["all_gather", "[1]"], lambda v: lax.all_gather([v, print], "i")),
    "no dimension": (ValueError, ["psum", "3"], lambda v: lax.psum(v, ("i", 3))),
    "dimension twice": (ValueError, ["psum"], lambda v: lax.psum(v, ("i", 0, -1))),
    "groups and dimensions": (
        ValueError,
        ["axis_index_groups", "named"],
        lambda v: lax.psum(v, ("i", 0), axis_index_groups=PAIRS),
    ),
    "groups not covering": (
        ValueError,
        ["0 to 3", "exactly once"],
        lambda v: lax.psum(v, "i", axis_index_groups=[[0, 1], [2]]),
    ),
    "groups overlapping": (
        ValueError,
        ["exactly once"],
        lambda v: lax.pmax(v, "i", axis_index_groups=[[0, 1], [1, 2, 3]]),
    ),
    "groups empty": (ValueError, ["exactly once"], lambda v: lax.psum(v, "i", axis_index_groups=[[], [0, 1, 2, 3]])),
    "groups of several sizes": (
        ValueError,
        ["same size"],
        lambda v: lax.all_gather(v, "i", axis_index_groups=UNEVEN),
    ),
    "groups of text": (
        TypeError,
        ["axis_index_groups", "list of lists"],
        lambda v: lax.psum(v, "i", axis_index_groups="ab"),
    ),
    "integer axis in gather": (ValueError, ["all_gather", "integer 0"], lambda v: lax.all_gather(v, 0)),
    "gather beyond": (ValueError, ["all_gather", "5"], lambda v: lax.all_gather(v, "i", axis=5)),
    "gather of a scalar tiled": (ValueError, ["all_gather"], lambda v: lax.all_gather(v[0], "i", tiled=True)),
    "gather to": (ValueError, ["'unreduced'"], lambda v: lax.all_gather(v, "i", to="unreduced")),
    "gather groups alike": (
        NotImplementedError,
        ["all_gather", "to='varying'"],
        lambda v: lax.all_gather(v, "i", axis_index_groups=PAIRS, to="invarying"),
    ),
    "scatter size": (ValueError, ["psum_scatter", "4", "f32[3]"], lambda v: lax.psum_scatter(v, "i")),
    "scatter tiled": (ValueError, ["psum_scatter", "divisible"], lambda v: lax.psum_scatter(v, "i", tiled=True)),
    "scatter beyond": (ValueError, ["scatter_dimension"], lambda v: lax.psum_scatter(v, "i", scatter_dimension=2)),
    "exchange size": (ValueError, ["all_to_all", "4", "f32[3]"], lambda v: lax.all_to_all(v, "i", 0, 0)),
    "exchange tiled": (ValueError, ["divisible"], lambda v: lax.all_to_all(v, "i", 0, 0, tiled=True)),
    "exchange beyond": (ValueError, ["split_axis"], lambda v: lax.all_to_all(v, "i", 4, 0)),
    "swap size": (ValueError, ["pswapaxes"], lambda v: lax.pswapaxes(v, "i", 0)),
    "sources twice": (ValueError, ["sources", "0 does"], lambda v: lax.ppermute(v, "i", [(0, 1), (0, 2)])),
    "destinations twice": (ValueError, ["destinations", "1 does"], lambda v: lax.ppermute(v, "i", [(0, 1), (2, 1)])),
    "source beyond": (ValueError, ["sources", "0 to 3", "7"], lambda v: lax.ppermute(v, "i", [(7, 1)])),
    "destination negative": (ValueError, ["destinations", "-1"], lambda v: lax.ppermute(v, "i", [(0, -1)])),
    "no pairs": (TypeError, ["pairs of integers"], lambda v: lax.ppermute(v, "i", [0, 1])),
    "no permutation": (ValueError, ["pshuffle", "0 to 3"], lambda v: lax.pshuffle(v, "i", [0, 1, 1, 2])),
    "permutation too short": (ValueError, ["pshuffle"], lambda v: lax.pshuffle(v, "i", [1, 0])),
    "broadcast beyond": (ValueError, ["pbroadcast", "0 to 3", "4"], lambda v: lax.pbroadcast(v, "i", 4)),
    "broadcast from a float": (TypeError, ["pbroadcast", "integer"], lambda v: lax.pbroadcast(v, "i", 1.5)),
    "cast": (ValueError, ["'invarying'"], lambda v: lax.pcast(v, "i", to="invarying")),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input(case):
    error, words, function = BAD[case]
    for run in (over(function), tangrad.jit(over(function)), over(tangrad.jit(function))):
        with pytest.raises(error) as caught:
            run(X)
        for word in words:
            assert word in str(caught.value), f"{word!r} is not in: {caught.value}"
        assert_same(over(lambda v: lax.psum(v, "i"))(X), np.stack([X.sum(0)] * 4))  # and the next call works


def test_without_a_map_no_axis_is_in_scope():
    for function in (
        lambda v: lax.psum(v, "i"),
        tangrad.jit(lambda v: lax.axis_index("i")),
        lambda v: lax.pmax(v, "i"),
    ):
        with pytest.raises(NameError, match=r"no named axis is in scope.*vmap\(fun, axis_name='i'\)"):
            function(X)


SHARED = {  # the kinds of error are those of JAX
    "unknown axis": lambda api, v: api.lax.psum(v, "k"),
    "unknown axis of a constant": lambda api, v: api.lax.psum(1, "k"),
    "unknown axis in jit": lambda api, v: api.jit(lambda w: api.lax.ppermute(w, "k", [(0, 1)]))(v),
    "unknown index": lambda api, v: api.lax.axis_index("k"),
    "unknown size": lambda api, v: api.lax.axis_size("k"),
    "axis twice": lambda api, v: api.lax.psum(v, ("i", "i")),
    "no dimension": lambda api, v: api.lax.psum(v, ("i", 3)),
    "unhashable": lambda api, v: api.lax.psum(v, ({},)),
    "no array": lambda api, v: api.lax.psum("text", "i"),
    "groups not covering": lambda api, v: api.lax.psum(v, "i", axis_index_groups=[[0, 1], [1, 2]]),
    "groups and dimensions": lambda api, v: api.lax.psum(v, ("i", 0), axis_index_groups=PAIRS),
    "gather beyond": lambda api, v: api.lax.all_gather(v, "i", axis=5),
    "gather of a scalar tiled": lambda api, v: api.lax.all_gather(v[0], "i", tiled=True),
    "gather to": lambda api, v: api.lax.all_gather(v, "i", to="elsewhere"),
    "exchange size": lambda api, v: api.lax.all_to_all(v, "i", 0, 0),
    "exchange tiled": lambda api, v: api.lax.all_to_all(v, "i", 0, 0, tiled=True),
    "no permutation": lambda api, v: api.lax.pshuffle(v, "i", [0, 1, 1, 2]),
    "mapped result": lambda api, v: api.vmap(lambda w: api.lax.axis_index("j"), axis_name="j", out_axes=None)(v),
}


@pytest.mark.parametrize("case", list(SHARED))
def test_errors_are_of_the_kinds_of_jax(case):
    jax = pytest.importorskip("jax")
    for api in (jax, tangrad):
        caught = None
        with contextlib.suppress(Exception):
            try:
                api.vmap(lambda v, api=api: SHARED[case](api, v), axis_name="i")(X)
            except Exception as error:
                caught = error
        if api is jax:
            expected = next(kind for kind in (NameError, TypeError, ValueError) if isinstance(caught, kind))
        else:
            assert isinstance(caught, expected), caught
