"""References made by users: what is written, where it is seen, and what is refused."""

import copy
import functools
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad import numpy as tnp
from tangrad.experimental.random import StatefulPRNG, stateful_rng
from tests.references.programs import by_references, by_values, draw_program, has_while

X = np.array([1.0, 2.0, 3.0], "float32")


@pytest.fixture
def _on_numpy():
    with tangrad.use_backend("numpy"):
        yield


def zeros(size=3):
    return tangrad.new_ref(tnp.zeros(size))


@pytest.mark.usefixtures("_on_numpy")
def test_reading_and_writing_parts():
    ref = tangrad.new_ref(tnp.arange(6.0).reshape(2, 3))
    ref[0, 1:] = 9.0
    ref.at[1][::2] = tnp.array([7.0, 8.0])
    ref.at[1].at[1:][0] += 1.0
    tangrad.ref.addupdate(ref, (np.array([0, 0]), 0), 1.0)
    assert tangrad.ref.swap(ref, (0, 2), 5.0) == 9.0
    assert tangrad.ref.get(ref).tolist() == [[2, 9, 5], [7, 5, 8]]
    assert (ref.shape, ref.ndim, ref.size, len(ref), ref.dtype) == ((2, 3), 2, 6, 2, np.dtype("float32"))
    assert tangrad.freeze(ref)[1].tolist() == [7, 5, 8]


@pytest.mark.usefixtures("_on_numpy")
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_jitted_functions_write_to_arguments_and_to_what_they_close_over(backend):
    with tangrad.use_backend(backend):
        count, history = tangrad.new_ref(0), zeros()

        @tangrad.jit
        def note(history, x):
            history[count[...]] = x
            count[...] += 1
            return history[...].sum()

        assert [float(note(history, x)) for x in (4.0, 5.0)] == [4, 9] and note.trace_count == 1
        assert int(count[...]) == 2 and history[...].tolist() == [4, 5, 0]
        assert tangrad.jit(note)(history, 6.0) == 15 and history[2] == 6


@pytest.mark.usefixtures("_on_numpy")
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_what_was_read_stays_when_a_program_overwrites_the_memory(backend):
    with tangrad.use_backend(backend):
        ref = zeros(10_000)
        step = tangrad.jit(lambda ref: ref.at[...].__setitem__(..., ref[...] + 1.0))
        step(ref)
        whole, part = ref[...], ref[:5_000]
        step(ref)
        other = tangrad.new_ref(ref[...])
        step(ref)
        step(ref)
        assert whole[0] == 1 and part[-1] == 1 and other[0] == 2 and ref[0] == 4


@pytest.mark.usefixtures("_on_numpy")
def test_outer_references_in_control_flow_that_is_differentiated():
    def loss(x):
        def body(total, i):
            ref[i] = lax.stop_gradient(total)
            return total * x[i] + ref[0], None

        return lax.scan(body, 1.0, tnp.arange(3))[0]

    ref, ways = zeros(), (lambda f: f, tangrad.jit)
    for outer in ways:
        for inner in ways:
            ref[...] = 0.0
            assert outer(tangrad.grad(inner(loss)))(X).tolist() == [6, 6, 5]
            assert ref[...].tolist() == [1, 2, 5]


@pytest.mark.usefixtures("_on_numpy")
def test_a_mapped_reference_is_written_row_by_row():
    ref = tangrad.new_ref(tnp.zeros((2, 3)))
    out = tangrad.vmap(lambda ref, i, x: tangrad.ref.swap(ref, i, x), in_axes=(1, 0, 0))(ref, np.array([0, 1, 0]), X)
    assert out.tolist() == [0, 0, 0] and ref[...].tolist() == [[1, 0, 3], [0, 2, 0]]
    assert tangrad.vmap(lambda i: ref[0, i])(np.arange(3)).tolist() == [1, 0, 3]


@pytest.mark.usefixtures("_on_numpy")
def test_backward_rules_write_to_references():
    ref = zeros()

    @tangrad.custom_vjp
    def noted(ref, x):
        return x

    def backward(ref, cotangent):
        ref[...] = cotangent
        return None, cotangent

    noted.defvjp(lambda ref, x: (x, ref), backward)
    for way in (lambda f: f, tangrad.jit):
        ref[...] = 0.0
        way(tangrad.grad(lambda x: tnp.sum(noted(ref, x) ** 2)))(X)
        assert ref[...].tolist() == [2, 4, 6]


@pytest.mark.usefixtures("_on_numpy")
def test_types_and_trees_distinguish_references():
    ref = zeros()
    seen = []
    jaxpr = tangrad.make_jaxpr(lambda ref: seen.append(isinstance(ref, tangrad.Ref)) or ref[0])(ref)
    assert seen == [True] and "Ref{f32[3]}" in str(jaxpr) and "ref_get" in str(jaxpr)
    assert isinstance(ref, tangrad.Ref) and not isinstance(X, tangrad.Ref)
    assert tangrad.tree.map(lambda ref: ref[0], {"a": ref}) == {"a": 0} and ref in {ref}
    assert tangrad.empty_ref(tangrad.ShapeDtypeStruct((2,), "int32"))[...].tolist() == [0, 0]


def frozen(ref):
    tangrad.freeze(ref)
    return ref[0]


def differentiated(ref):
    tangrad.grad(lambda x: ref.at[0].__setitem__(..., x) or x)(1.0)


def mapped_index(ref):
    write = lambda: ref.at[0].__setitem__(..., 1.0)
    tangrad.vmap(lambda holds: lax.cond(holds, write, lambda: None))(np.array([True, False]))


def with_rules_of_its_own(ref):
    def with_reference(x):
        inner = tangrad.new_ref(x)
        scaled = tangrad.custom_jvp(lambda x: x * inner[0])
        scaled.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
        return scaled(x)

    tangrad.jit(with_reference)(X)


def carried(ref):
    lax.scan(lambda r, i: (r + 1.0, None), ref, np.arange(3))


REFUSED = {
    "frozen": (frozen, ValueError, "was frozen"),
    "frozen from within": (
        lambda r: tangrad.jit(lambda: tangrad.freeze(r))(),
        ValueError,
        "freeze it where it was made",
    ),
    "returned": (lambda r: tangrad.jit(lambda r: r)(r), TypeError, "references cannot be returned"),
    "returned, closed over": (lambda r: tangrad.jit(lambda: r)(), TypeError, "references cannot be returned"),
    "returned, new": (
        lambda r: tangrad.jit(lambda: tangrad.new_ref(1.0))(),
        tangrad.errors.UnexpectedTracerError,
        "made within a function, and has left it",
    ),
    "twice": (lambda r: tangrad.jit(lambda a, b: a[0] + b[0])(r, r), ValueError, "operand 0 and operand 1"),
    "twice, closed over": (lambda r: tangrad.jit(lambda a: a[0] + r[0])(r), ValueError, "pass it once"),
    "differentiated": (differentiated, ValueError, "stop_gradient"),
    "derivative by it": (lambda r: tangrad.grad(lambda r: r[0])(r), TypeError, "pass its value"),
    "mapped value": (
        lambda r: tangrad.vmap(lambda x: r.at[0].__setitem__(..., x))(X),
        ValueError,
        "pass the reference as an argument",
    ),
    "mapped index": (mapped_index, NotImplementedError, "effects that must happen only"),
    "rules of its own": (with_rules_of_its_own, NotImplementedError, "derivatives of its own"),
    "carried": (carried, TypeError, "close over it"),
    "arithmetic": (lambda r: r + 1.0, TypeError, "ref"),
    "arithmetic in a program": (lambda r: tangrad.jit(lambda r: tnp.sin(r))(r), TypeError, "the array behind it"),
    "as an array": (lambda r: np.asarray(r), TypeError, "the array behind it"),
    "as a number": (lambda r: float(r), TypeError, "the array behind it"),
    "dtype": (lambda r: r.at[0].__setitem__(..., np.int32(1)), TypeError, "astype"),
    "shape": (lambda r: r.at[...].__setitem__(..., np.zeros((2, 3), "float32")), ValueError, "reference of shape"),
    "index": (lambda r: tangrad.jit(lambda: r["a"])(), TypeError, "index of a reference"),
    "of a reference": (lambda r: tangrad.new_ref(r), TypeError, "new_ref: init_val is a reference"),
    "of no array": (lambda r: tangrad.new_ref("a"), TypeError, "init_val is 'a'"),
    "no reference": (lambda r: tangrad.ref.get(X), TypeError, "expected a reference"),
    "frozen array": (lambda r: tangrad.freeze(X), TypeError, "expected a reference"),
    "memory space": (lambda r: tangrad.new_ref(1.0, memory_space="any"), NotImplementedError, "memory_space"),
    "called": (lambda r: tangrad.Ref(), TypeError, "new_ref"),
    "no dtype": (lambda r: tangrad.empty_ref(3), TypeError, "empty_ref: ty"),
}


@pytest.mark.usefixtures("_on_numpy")
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    use, error, text = REFUSED[case]
    ref = zeros()
    with pytest.raises(error, match=text):
        use(ref)


RETURNED = {
    **{name: REFUSED[name][0] for name in ("returned", "returned, closed over", "returned, new", "carried")},
    "carried, new": lambda r: lax.scan(lambda c, x: (tangrad.new_ref(c), x), 0, np.arange(3)),
    "mapped": lambda r: tangrad.vmap(tangrad.new_ref)(X),
    "chosen": lambda r: tangrad.jit(lambda p: lax.cond(p, lambda: tangrad.new_ref(1.0), lambda: tangrad.new_ref(2.0)))(
        True
    ),
}


@pytest.mark.usefixtures("_on_numpy")
@pytest.mark.parametrize("kind", [TypeError, ValueError])
@pytest.mark.parametrize("case", RETURNED)
def test_results_that_are_references_are_no_values_and_of_no_type(case, kind):
    """So both errors are caught."""
    with pytest.raises(kind, match=r"return its value|made within a function|close over it"):
        RETURNED[case](zeros())


@pytest.mark.usefixtures("_on_numpy")
def test_a_refused_write_changes_nothing():
    ref = zeros()
    with pytest.raises(ValueError, match="stop_gradient"):
        differentiated(ref)
    assert ref[...].tolist() == [0, 0, 0]


# --- `experimental.random.stateful_rng` ---


def test_draws_are_those_of_jax() -> None:
    rng = stateful_rng(42)
    assert rng.integers(10, size=3).tolist() == [4, 1, 9]
    np.testing.assert_array_equal(rng.uniform(size=(2,)), np.float32([0.72766423, 0.78786755]))
    np.testing.assert_allclose(rng.normal(2, tnp.ones(3)), [2.4323065, 2.5872638, 0.8583257], rtol=1e-6)
    assert rng.random() == np.float32(0.3890121)
    np.testing.assert_allclose(rng.uniform(3, tnp.arange(4.0, 6.0)), [3.7437396, 4.137704], rtol=1e-6)
    assert tangrad.random.key_data(rng.key()).tolist() == [2765691542, 824333390]
    assert tangrad.random.key_data(rng.key(2)).tolist() == [[2494647183, 4076531018], [3204329507, 4228560771]]
    children = rng.split(3)
    assert isinstance(children, StatefulPRNG)
    with pytest.raises(ValueError, match="was split"):
        children.random()


def test_what_functions_draw_is_drawn_once() -> None:
    rng, again = stateful_rng(0), stateful_rng(0)
    draw = tangrad.jit(lambda rng: rng.random((2,)))
    found = [draw(rng).tolist(), draw(rng).tolist(), rng.random((2,)).tolist()]
    assert found == [again.random((2,)).tolist() for _ in range(3)]


def test_mapped_generators_draw_each_for_itself() -> None:
    rng, again = stateful_rng(1), stateful_rng(1)
    found = tangrad.vmap(lambda one, x: x + one.uniform())(rng.split(3), tnp.zeros(3))
    assert found.tolist() == [one.uniform().tolist() for one in again.spawn(3)]


def test_in_loops_and_gradients() -> None:
    rng, again = stateful_rng(5), stateful_rng(5)
    _, drawn = tangrad.lax.scan(lambda carry, _: (carry, rng.random()), 0.0, None, length=3)
    assert drawn.tolist() == [again.random().tolist() for _ in range(3)]
    slope = tangrad.grad(lambda x: (x * rng.normal(size=3)).sum())(2.0)
    np.testing.assert_allclose(slope, again.normal(size=3).sum(), rtol=1e-6)


def test_shapes_and_dtypes() -> None:
    rng = stateful_rng(np.int32(3), impl="rbg")
    assert rng.integers(3, 7, dtype="int8").dtype == np.int8
    assert rng.integers(3, np.array([5, 6])).shape == (2,)
    assert rng.normal(size=(), dtype="float16").dtype == np.float16
    assert rng.key((2, 3)).shape == (2, 3)
    assert stateful_rng().random() != stateful_rng().random()


@pytest.mark.parametrize("seed", ["x", 1.5, np.arange(2)])
def test_seeds_that_are_none(seed: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        stateful_rng(seed)  # type: ignore[arg-type]


def test_a_program_needs_a_seed() -> None:
    with pytest.raises(TypeError, match="seed must be given"):
        tangrad.jit(lambda: stateful_rng().random())()
    assert tangrad.jit(lambda: stateful_rng(3).random())() == np.float32(0.008695364)


def test_parts_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="_base_key must be a typed key"):
        StatefulPRNG(tnp.zeros(2), tangrad.new_ref(0))
    with pytest.raises(ValueError, match="_counter must be a reference"):
        StatefulPRNG(tangrad.random.key(0), tnp.zeros((), int))  # type: ignore[arg-type]


# --- Random programs with references: the results of the same programs without, and of JAX's references ---


OURS = SimpleNamespace(new_ref=tangrad.new_ref, ref=tangrad.ref, lax=tangrad.lax, numpy=tnp, jit=tangrad.jit)
PROGRAM_X = np.array([0.3, -0.8, 1.1, 0.6], "float32")
ROWS = np.stack([PROGRAM_X, PROGRAM_X[::-1], PROGRAM_X * 0.5])

FORWARD = {
    "eager": lambda f: f(PROGRAM_X),
    "jit": lambda f: tangrad.jit(f)(PROGRAM_X),
    "vmap": lambda f: tangrad.vmap(f)(ROWS),
    "jacfwd": lambda f: tangrad.jacfwd(f)(PROGRAM_X),
    "jit of vmap": lambda f: tangrad.jit(tangrad.vmap(f))(ROWS),
    "scan": lambda f: tangrad.lax.scan(lambda c, x: (c + f(x), c), 0.0, ROWS),
    "cond": lambda f: tangrad.lax.cond(PROGRAM_X[0] > 0, f, lambda x: 0.0, PROGRAM_X),
}
REVERSE = {
    "grad": lambda f: tangrad.grad(f)(PROGRAM_X),
    "jit of grad": lambda f: tangrad.jit(tangrad.grad(f))(PROGRAM_X),
    "grad of jit": lambda f: tangrad.grad(tangrad.jit(f))(PROGRAM_X),
    "vmap of grad": lambda f: tangrad.vmap(tangrad.grad(f))(ROWS),
    "grad of vmap": lambda f: tangrad.grad(lambda xs: tnp.sum(tangrad.vmap(f)(xs)))(ROWS),
    "grad of checkpoint": lambda f: tangrad.grad(tangrad.checkpoint(f))(PROGRAM_X),
    "hessian": lambda f: tangrad.hessian(f)(PROGRAM_X),
}


def check_equal(one, other):
    for mine, right in zip(tangrad.tree.leaves(one), tangrad.tree.leaves(other), strict=True):
        np.testing.assert_allclose(mine, right, rtol=2e-4, atol=2e-5)


def check_program(seed):
    program = draw_program(seed)
    mine, right = by_references(OURS, program), by_values(OURS, program)
    ways = FORWARD if has_while(program) else FORWARD | REVERSE
    for run in ways.values():
        check_equal(run(mine), run(right))


@pytest.mark.parametrize("seed", range(6))
def test_programs_have_the_results_of_those_without_references(seed):
    with tangrad.use_backend("numpy"):
        check_program(seed)


def test_a_program_on_xla():
    with tangrad.use_backend("xla"):
        check_program(3)


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("seed", range(6, 18))
def test_many_programs_have_the_results_of_those_without_references(seed, backend):
    with tangrad.use_backend(backend):
        check_program(seed)


@pytest.mark.parametrize("seed", range(4))
def test_programs_have_the_results_of_jax(seed):
    jax = pytest.importorskip("jax")
    if not hasattr(jax, "new_ref"):
        pytest.skip("this release of jax has no references")
    theirs = SimpleNamespace(new_ref=jax.new_ref, ref=jax.ref, lax=jax.lax, numpy=jax.numpy, jit=jax.jit)
    program = draw_program(seed)
    right = jax.jit(by_references(theirs, program))(jax.numpy.asarray(PROGRAM_X))
    check_equal(tangrad.jit(by_references(OURS, program))(PROGRAM_X), right)


def doubled(part):
    part[...] = 2.0 * part[...]
    return part[...].sum()


@pytest.mark.usefixtures("_on_numpy")
@pytest.mark.parametrize("index", [slice(1, 3), 1, np.array([0, 0, 2]), (Ellipsis, slice(None, None, 2))])
@pytest.mark.parametrize("way", ["jit", "cond", "checkpoint", "inside"])
def test_parts_of_references_are_arguments(index, way):
    ref, expected = tangrad.new_ref(tnp.asarray(X)), X.copy()
    expected[index] = 2 * expected[index]
    ways = {
        "jit": lambda part: tangrad.jit(doubled)(part),
        "cond": lambda part: lax.cond(True, doubled, lambda part: part[...].sum(), part),
        "checkpoint": lambda part: tangrad.checkpoint(doubled)(part),
        "inside": lambda part: tangrad.jit(lambda ref: doubled(ref.at[index]))(part.reference),
    }
    assert ways[way](ref.at[index]) == expected[index].sum()
    np.testing.assert_array_equal(ref[...], expected)


@pytest.mark.usefixtures("_on_numpy")
def test_parts_are_pytrees_of_the_reference_and_arrays():
    ref = tangrad.new_ref(tnp.zeros((2, 3)))
    part = ref.at[np.array([1])].at[..., 1]
    leaves, structure = tangrad.tree.flatten(part)
    assert leaves[0] is ref and len(leaves) == 2
    again = structure.unflatten(leaves)
    again[...] = 4.0
    assert ref[...].tolist() == [[0, 0, 0], [0, 4, 0]]
    specs = tangrad.tree.map(lambda _: None, {"part": part})
    assert tangrad.tree.leaves(specs) == []
    with pytest.raises(ValueError, match=r"a part of a reference of shape \(2, 3\) becomes one of .* shape \(3,\)"):
        tangrad.vmap(lambda part: part[...])(ref.at[0])
    assert tangrad.vmap(lambda part, x: part[...] + x, in_axes=(None, 0))(ref.at[1, 1], tnp.arange(2.0)).tolist() == [
        4,
        5,
    ]


def test_types_of_references_are_sharded_as_their_arrays():
    ref = tangrad.new_ref(tnp.zeros((2, 3)))
    assert ref.aval.sharding == tangrad.typeof(ref[...]).sharding


@pytest.mark.usefixtures("_on_numpy")
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_rows_of_references_along_any_axis_are_written_by_what_carries_programs(axis, backend):
    def double(row):
        row[...] = row[...] * 2

    programs = [
        double,
        tangrad.jit(double),
        tangrad.checkpoint(double),
        lambda row: lax.cond(True, lambda: double(row), lambda: None),
        lambda row: lax.fori_loop(0, 1, lambda i, carry: (double(row), carry)[1], 0) * 0,
        lambda row: lax.while_loop(lambda i: i < 1, lambda i: (double(row), i + 1)[1], 0),
    ]
    rows = np.arange(6.0, dtype="float32").reshape(3, 2)
    with tangrad.use_backend(backend):
        for program in programs:
            mapped = tangrad.vmap(program, axis)

            def loss(x, mapped=mapped):
                ref = tangrad.new_ref(x)
                mapped(ref)
                return (ref[...] ** 2).sum()

            for transform in (lambda f: f, tangrad.jit):
                ref = tangrad.new_ref(rows)
                transform(mapped)(ref)
                assert np.array_equal(ref[...], 2 * rows)
                if program is not programs[-1]:  # which has no reverse mode
                    assert np.array_equal(transform(tangrad.grad(loss))(rows), 8 * rows)


@pytest.mark.usefixtures("_on_numpy")
def test_one_reference_mapped_twice_is_refused_whatever_its_axes():
    write = tangrad.jit(lambda one, other: (one.__setitem__(0, 1.0), other.__setitem__(0, 2.0)))
    ref = tangrad.new_ref(tnp.zeros((3, 3)))
    for axes in (0, 1, (0, 1), (1, 0)):
        with pytest.raises(ValueError, match="one reference"):
            tangrad.vmap(write, axes)(ref, ref)
    assert not np.any(ref[...])


def turn(total, row_and_index):
    index, row = row_and_index
    row.addupdate(row[...] + index)
    return total + row[...].sum(), row[0]


def turn_of_values(total, row_and_index):
    index, row = row_and_index
    row = row * 2 + index
    return total + row.sum(), (row[0], row)


@pytest.mark.usefixtures("_on_numpy")
@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("reverse", [False, True])
def test_loops_go_through_the_rows_of_references(backend, reverse):
    indices, rows = np.arange(3, dtype="float32"), np.arange(6.0, dtype="float32").reshape(3, 2)

    def by_reference(x):
        ref = tangrad.new_ref(x)
        out = lax.scan(turn, 0.0, (indices, ref), reverse=reverse)
        return (*out, ref[...])

    def by_value(x):
        total, (firsts, x) = lax.scan(turn_of_values, 0.0, (indices, x), reverse=reverse)
        return total, firsts, x

    def loss(f):
        return lambda x: f(x)[0] ** 2 + (f(x)[1] * f(x)[2][:, 1]).sum()

    with tangrad.use_backend(backend):
        outer = tangrad.new_ref(rows)
        total, firsts = tangrad.jit(lambda ref: lax.scan(turn, 0.0, (indices, ref), reverse=reverse))(outer)
        for found, expected in zip((total, firsts, outer[...]), by_value(rows), strict=True):
            assert np.array_equal(found, expected)
        assert lax.map(lambda row: row[0] + row.shape[0], outer).tolist() == (outer[...][:, 0] + 2).tolist()
        for transform in (tangrad.grad, tangrad.hessian, tangrad.jacfwd, lambda f: tangrad.vmap(f, 2)):
            x = (
                np.stack([rows, 2 * rows], 2)
                if transform not in (tangrad.grad, tangrad.hessian, tangrad.jacfwd)
                else rows
            )
            assert np.allclose(transform(loss(by_reference))(x), transform(loss(by_value))(x))
        mapped = tangrad.new_ref(np.stack([rows, 2 * rows], 1))
        tangrad.vmap(lambda ref: lax.scan(turn, 0.0, (indices, ref), reverse=reverse)[0], 1)(mapped)
        assert np.array_equal(mapped[...][:, 0], by_value(rows)[2])


@pytest.mark.usefixtures("_on_numpy")
def test_what_loops_cannot_carry_is_named():
    ref, other = zeros(), zeros()
    write = lambda r: r.addupdate(1.0)
    with pytest.raises(TypeError, match=r"scan: among what the loop carries is .* Ref\{f32\[3\]\}"):
        lax.scan(lambda c, i: ((c[0], c[2], c[1]), write(c[1])), (0.0, ref, other), np.arange(3))
    with pytest.raises(TypeError, match=r"while_loop: among what the loop carries.*close over it"):
        lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[2], c[1]), (0, ref, other))
    with pytest.raises(ValueError, match="scan: one reference"):
        lax.scan(lambda c, r: (ref[0], write(r)), 0.0, ref)
    with pytest.raises(AttributeError, match="an array has no attribute 'addupdate'"):
        tnp.zeros(3).addupdate(1.0)
    assert not np.any(ref[...]) and not np.any(other[...])
    lax.scan(lambda c, i: (c, write(c[1])), (0.0, ref), np.arange(3))  # which stays the same one
    assert ref[...].tolist() == [3, 3, 3]


@pytest.mark.usefixtures("_on_numpy")
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_programs_of_references_are_compiled_ahead_of_their_calls(backend):
    with tangrad.use_backend(backend):
        ref, total, unused = zeros(), tangrad.new_ref(0.0), zeros()

        def add(r, x, read):
            r[1:] += x
            total[...] += r[...].sum()
            return {"first": r[1], "read": read[0]}

        structs = tangrad.ShapeDtypeStruct.like(ref), tangrad.ShapeDtypeStruct((3,), "float32", is_ref=True)
        assert structs[0] == structs[1] != tangrad.ShapeDtypeStruct((3,), "float32")
        for like in (ref, *structs):
            jitted = tangrad.jit(add)
            compiled = jitted.lower(like, 1.0, like if like is not ref else unused).compile()
            found = compiled(ref, 1.0, unused)
        assert float(found["first"]) == 3 and float(found["read"]) == 0 and jitted.trace_count == 1
        assert ref[...].tolist() == [0, 3, 3] and float(total[...]) == 2 + 4 + 6
        assert compiled.out_info["first"].shape == () and not np.any(unused[...])
        assert ref.sharding == ref[...].sharding
        for wrong, text in (
            (tnp.zeros(3), r"for Ref\{f32\[3\]\} as args\[0\], got f32"),
            (zeros(2), r"got Ref\{f32\[2\]\}"),
        ):
            with pytest.raises(TypeError, match=text):
                compiled(wrong, 1.0, unused)
        with pytest.raises(TypeError, match=r"for f32\[3\] as args\[0\], got Ref"):
            tangrad.jit(lambda x: x + 1).lower(tnp.zeros(3)).compile()(ref)
        with pytest.raises(ValueError, match="one reference is two operands"):
            compiled(ref, 1.0, ref)
        with pytest.raises(TypeError, match="nor called while another function is traced"):
            tangrad.jit(lambda: compiled(ref, 1.0, unused))()
        for use in (lambda: compiled.serialize(), lambda: tangrad.export.export(jitted)(ref, 1.0, unused)):
            with pytest.raises(TypeError, match=r"add takes a reference, of type Ref\{.*other processes"):
                use()
        assert ref[...].tolist() == [0, 3, 3] and float(total[...]) == 12


@pytest.mark.usefixtures("_on_numpy")
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_references_pass_barriers_and_are_the_same_ones(backend):
    with tangrad.use_backend(backend):
        ref = zeros()
        two, same = lax.optimization_barrier((2.0, ref))
        assert same is ref and float(two) == 2

        def add(r, x):
            x, again = lax.optimization_barrier((x, r))
            again[...] += x
            return r[...] * x

        assert tangrad.jit(add)(ref, 3.0).tolist() == [9, 9, 9] and ref[...].tolist() == [3, 3, 3]
        mapped = tangrad.new_ref(tnp.zeros((2, 3)))
        tangrad.vmap(add, (1, 0))(mapped, tnp.arange(3.0))
        assert mapped[...].tolist() == [[0, 1, 2], [0, 1, 2]]
        gradient = tangrad.grad(lambda x: add(tangrad.new_ref(x * x), x).sum())
        assert float(gradient(2.0)) == 3 * 4 + 2 * 2  # of x^3 + x^2


@pytest.mark.usefixtures("_on_numpy")
def test_copies_of_references_are_cells_of_their_own():
    ref = tangrad.new_ref(tnp.arange(3.0))
    pair = copy.deepcopy({"one": ref, "same": ref, "part": ref.at[1:]})
    assert pair["one"] is pair["same"] is pair["part"].reference and pair["one"] is not ref
    for other in (copy.copy(ref), copy.deepcopy(ref), pickle.loads(pickle.dumps(ref)), pair["one"]):
        other[0] = 5.0
        assert other[...].tolist() == [5, 1, 2] and ref[...].tolist() == [0, 1, 2]
    assert pair["part"][...].tolist() == [1, 2]

    @tangrad.jit
    def within(x):
        made = tangrad.new_ref(x)
        other, outer = copy.deepcopy(made), copy.copy(ref)
        other[0] = outer[0] = 7.0
        return made[...], other[...], outer[...]

    for _ in range(2):
        assert [out.tolist() for out in within(tnp.ones(2))] == [[1, 1], [7, 1], [7, 1, 2]]
    assert ref[...].tolist() == [0, 1, 2]
    tangrad.freeze(ref)
    with pytest.raises(ValueError, match="was frozen"):
        copy.deepcopy(ref)


# --- references within checkpointed functions -------------------------------------------------------------------------

POLICIES = {
    "none": None,
    "nothing": tangrad.checkpoint_policies.nothing_saveable,
    "dots": tangrad.checkpoint_policies.dots_saveable,
    "everything": tangrad.checkpoint_policies.everything_saveable,
}


def scaled_by(ref):
    """Functions of a number that read the reference: their derivative is that value times a cosine."""
    plain = lambda y: tnp.sin(y * ref[...])
    looped = lambda y: tangrad.lax.scan(lambda c, k: (c + tnp.sin(y * ref[...]) * k, None), 0.0, WEIGHTS)[0]
    return {
        "plain": plain,
        "jit": tangrad.jit(plain),
        "scan": looped,
        "cond": lambda y: tangrad.lax.cond(y > 0, plain, lambda v: v, y),
        "checkpoint": tangrad.checkpoint(plain),
        "jit-of-scan": tangrad.jit(looped),
    }


WEIGHTS = np.array([0.25, 0.75], "float32")


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["plain", "jit", "scan", "cond", "checkpoint", "jit-of-scan"])
def test_what_a_checkpointed_function_read_is_not_read_again(name, policy, backend):
    with tangrad.use_backend(backend):
        ref = tangrad.new_ref(1.0)
        f = tangrad.checkpoint(scaled_by(ref)[name], policy=POLICIES[policy])

        def overwritten(y):
            out = f(y)
            ref[...] = 100.0
            return out

        for gradient in (tangrad.grad(overwritten), tangrad.jit(tangrad.grad(overwritten))):
            ref[...] = 1.0
            np.testing.assert_allclose(gradient(2.0), np.cos(2.0), rtol=1e-5)
        for function in (f, tangrad.jit(f)):
            ref[...] = 1.0
            _, pullback = tangrad.vjp(function, 2.0)
            _, tangents = tangrad.linearize(function, 2.0)
            ref[...] = 100.0
            np.testing.assert_allclose(pullback(1.0)[0], np.cos(2.0), rtol=1e-5)
            np.testing.assert_allclose(tangents(1.0), np.cos(2.0), rtol=1e-5)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_statistics_are_written_once_and_have_no_derivative(dtype, policy, jitted, backend):
    with tangrad.use_backend(backend):
        count = tangrad.new_ref(np.zeros((), "int32"), kind="no_grad_no_remat")
        mean = tangrad.new_ref(tnp.ones(2, dtype), kind="no_grad_no_remat")
        assert tangrad.typeof(mean).kind == "no_grad_no_remat"

        @functools.partial(tangrad.checkpoint, policy=POLICIES[policy])
        def f(y, mean):
            out = y * y * mean[...]
            mean[...] += out
            count[...] += 1
            return (out * mean[...]).sum().real

        f = tangrad.jit(f) if jitted else f
        y = tnp.full(2, 2.0, dtype)
        value, gradient = tangrad.value_and_grad(f)(y, mean)
        # The second factor, 1 + 4, is a constant of the derivative: (y**2 * 1 * 5)' = 10 y.
        assert float(value) == 40.0 and int(count[...]) == 1
        np.testing.assert_allclose(np.asarray(gradient).astype("complex64"), [20.0, 20.0])
        np.testing.assert_allclose(np.asarray(mean[...]).astype("complex64"), [5.0, 5.0])


def test_a_kind_is_part_of_a_type_and_stays():
    ref = tangrad.new_ref(1.0, kind="no_grad_no_remat")
    for other in (copy.copy(ref), copy.deepcopy(ref), pickle.loads(pickle.dumps(ref))):
        assert other.aval is ref.aval
    assert ref.aval is not tangrad.new_ref(1.0).aval
    assert pickle.loads(pickle.dumps(ref.aval)) is ref.aval
    rows = tangrad.new_ref(tnp.zeros(3), kind="no_grad_no_remat")

    def add(row, x):
        assert row.aval.kind == "no_grad_no_remat"
        row[...] += 2.0 * x
        return x * row[...]

    np.testing.assert_allclose(tangrad.grad(lambda xs: tangrad.vmap(add)(rows, xs).sum())(tnp.ones(3)), [2.0] * 3)
    np.testing.assert_allclose(rows[...], [2.0] * 3)

    # One that is made within the function that is differentiated has no derivative either.
    def within(x):
        made = tangrad.new_ref(0.0, kind="no_grad_no_remat")
        made[...] = 3.0 * x
        return x * made[...]

    assert float(tangrad.grad(within)(1.0)) == float(tangrad.jit(tangrad.grad(within))(1.0)) == 3.0
    with pytest.raises(NotImplementedError, match="kind None or 'no_grad_no_remat'"):
        tangrad.new_ref(1.0, kind="pinned")
    with pytest.raises(ValueError, match="its derivative would be lost"):
        tangrad.grad(lambda x: (tangrad.ref.set(outside, ..., x), x)[1])(1.0)


outside = tangrad.new_ref(0.0)
