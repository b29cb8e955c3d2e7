"""The corpus holds what it should; its programs agree with JAX, and those that must raise fail as in JAX."""

import numpy
import pytest

from tests.differential.corpus import all_failures, error_of, kind_of, text_of
from tests.differential.runner import differences, read_leaves, write_leaves

from .corpus import MODES, all_programs, stack_trees
from .corpus import program as declare_program
from .runner import Leaf, walk

# --- The corpus itself: large and varied enough, well-formed, right about what applies (JAX on both sides) ----------


PROGRAMS = all_programs()


def test_size_and_variety():
    assert len(PROGRAMS) >= 60
    for mode in MODES:
        assert sum(mode in program.modes() for program in PROGRAMS) >= 40
    assert all(program.function.__doc__ for program in PROGRAMS)


def test_arguments_are_reproducible():
    for program in PROGRAMS:
        one, other = (dict(walk(program.arguments())) for _ in range(2))
        assert one.keys() == other.keys()
        for path in one:
            numpy.testing.assert_array_equal(one[path], other[path])


def test_batches_add_one_axis():
    for program in PROGRAMS:
        if not program.vmap:
            continue
        batches = zip(program.in_axes(), program.arguments(), program.batched_arguments(), strict=True)
        for axis, single, batched in batches:
            sizes = zip(walk(single), walk(batched), strict=True)
            assert all(numpy.ndim(two) - numpy.ndim(one) == (axis is not None) for (_, one), (_, two) in sizes)


def test_names_are_unique():
    with pytest.raises(ValueError, match="two programs"):
        declare_program(lambda random: ())(PROGRAMS[0].function)


def test_stacking_keeps_structure():
    stacked = stack_trees(({"a": (numpy.zeros(2), None)}, {"a": (numpy.ones(2), None)}), 0)
    assert stacked["a"][0].shape == (2, 2) and stacked["a"][1] is None


def leaf(value, dtype="float32", weak_type=False, path=""):
    return Leaf(path, numpy.asarray(value, dtype), dtype, weak_type)


@pytest.mark.parametrize(
    "got, expected, word",
    [
        (leaf([1.0]), leaf([1.1]), "values"),
        (leaf([1.0]), leaf([1.0], weak_type=True), "weak_type"),
        (leaf([1.0]), leaf([1.0], "float16"), "dtype"),
        (leaf([1.0]), leaf([[1.0]]), "shape"),
        (leaf([1], "int32"), leaf([2], "int32"), "values"),
        (leaf([numpy.nan]), leaf([1.0]), "values"),
        (leaf([1.0], path="[0]"), leaf([1.0], path="[1]"), "leaves"),
    ],
)
def test_comparison_sees_differences(got, expected, word):
    (found,) = differences(PROGRAMS[0], [got], [expected])
    assert word in found


def test_comparison_accepts_rounding():
    assert not differences(PROGRAMS[0], [leaf([1.0, numpy.nan, numpy.inf])], [leaf([1.000001, numpy.nan, numpy.inf])])


def test_kept_results_come_back(tmp_path):
    leaves = [leaf([1.0, numpy.nan], path="[0]"), leaf([[1], [2]], "int32", weak_type=True), leaf(2.0)]
    write_leaves(tmp_path / "kept.npz", leaves)
    read = read_leaves(tmp_path / "kept.npz")
    assert [(one.path, one.dtype, one.weak_type) for one in read] == [(o.path, o.dtype, o.weak_type) for o in leaves]
    for one, other in zip(read, leaves, strict=True):
        numpy.testing.assert_array_equal(one.value, other.value, strict=True)


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04 cut"])
def test_damaged_results_are_made_again(tmp_path, content):
    (tmp_path / "kept.npz").write_bytes(content)
    assert read_leaves(tmp_path / "kept.npz") is None
    assert read_leaves(tmp_path / "absent.npz") is None


@pytest.mark.slow
@pytest.mark.sweep  # about the programs, not about Tangrad
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_jax_agrees_with_itself(program, reference):
    """Eager JAX against jitted JAX: the program is deterministic, and its tolerance is not too narrow."""
    for mode in program.modes():
        found = differences(program, reference.run(program, mode, False), reference.results(program, mode))
        assert not found, f"{mode}: " + "\n".join(found)


# --- Programs that must raise: the kind of error is JAX's, the message says what and where, and the next call works.


def test_number_of_failures():
    failures = all_failures()
    assert len(failures) >= 100
    assert sum(failure.jax == "same" for failure in failures) >= 85


@pytest.mark.parametrize("failure", all_failures(), ids=lambda failure: failure.name)
def test_fails_as_in_jax(failure, reference, api):
    theirs, ours = error_of(reference.api, failure), error_of(api, failure)
    assert ours is not None, f"no error; JAX: {theirs!r}"
    kind = None if theirs is None else kind_of(theirs)
    # An error of sizes that is a TypeError and a ValueError is caught by what catches JAX's.
    either = isinstance(ours, TypeError) and isinstance(ours, ValueError)
    same = ("TypeError", "ValueError") if either else kind_of(ours)
    expected = same if failure.jax == "same" else failure.jax
    assert kind in (expected if isinstance(expected, tuple) else (expected,)), (
        f"{kind_of(ours)}: {ours}\nJAX: {theirs!r}"
    )
    missing = [word for word in failure.words if word not in text_of(ours)]
    assert not missing, f"{missing} not in: {text_of(ours)}"
    assert float(api.jit(api.grad(lambda x: api.lax.fori_loop(0, 2, lambda i, v: v * x, x)))(2.0)) == 12.0


# --- Every program, on both backends, eagerly and jitted, in every mode that applies, against JAX ---------------------


CASES = [
    pytest.param(program, mode, jitted, id=f"{program.name}-{mode.replace(' ', '-')}-{'jit' if jitted else 'eager'}")
    for program in PROGRAMS
    for mode in program.modes()
    for jitted in ((False, True) if program.jit else (False,))
]


@pytest.mark.parametrize("program, mode, jitted", CASES)
def test_agrees_with_jax(program, mode, jitted, subject, reference):
    expected = reference.results(program, mode)
    found = differences(program, subject.run(program, mode, jitted), expected)
    assert not found, "\n".join(found)
