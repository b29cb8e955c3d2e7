"""Modules from elsewhere that call LAPACK with other types than it works on: refused before anything is written."""

import re

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import export
from tests.export.elsewhere_programs import LINEAR
from tests.export.test_foreign_modules import entry, program

pytest.importorskip("tangrad._backend_xla")

from tangrad._backend_xla import mlir
from tangrad._backend_xla.kernel_types import check_kernels

REFUSED = "in a way that would not be safe"
CALL = re.compile(r"custom_call @(\w+)\(.*?\) \{(.*)\} : \((.*)\) -> (.*)$", re.MULTILINE)
LETTERS = {"side": 76, "uplo": 76, "trans_x": 78, "diag": 78, "mode": 83}


def line(target: str, config: str, operands: list[str], results: list[str]) -> tuple[str, str, list[str], list[str]]:
    letters = ", ".join(f"{name} = {value} : ui8" for name, value in LETTERS.items() if name in config.split())
    left = "left = true, transpose = false" if "left" in config else ""
    return target, f"api_version = 4 : i32, backend_config = {{{letters}{left}}}", operands, results


T34, T33, V3, V4, I = "tensor<3x4xf32>", "tensor<3x3xf32>", "tensor<3xf32>", "tensor<4xf32>", "tensor<i32>"
# What this package itself does not call, and jax does.
BY_HAND = [
    line("lapack_sgesvd_ffi", "mode", [T34], [T34, V3, T33, T34, I]),
    line("lapack_sormqr_ffi", "left", [T33, V3, T34], [T34]),
    line(
        "lapack_cunmqr_ffi", "left", *[[t.replace("f32", "complex<f32>") for t in ts] for ts in ([T33, V3, T34], [T34])]
    ),
    line("tridiagonal_solve_perturbed_ffi", "", [V3, V3, V3, T34], [T34]),
    line("Qr", "", [T34], [T34, V3]),
    line("LuDecomposition", "", [T34], [T34, "tensor<3xi32>", "tensor<3xi32>"]),
    line("ProductOfElementaryHouseholderReflectors", "", [T33, V3], [T33]),
    line("Eigh", "", [T33], [T33, V3]),
]


def calls_of(made) -> list[tuple[str, str, list[str], list[str]]]:
    """Target, attributes, types of operands and of results of each call of LAPACK in a program."""
    found = []
    for target, attributes, operands, results in CALL.findall(made.mlir_module()):
        config = re.search(r"backend_config = \{[^}]*\}", attributes)
        kept = "api_version = 4 : i32" + (f", {config[0]}" if config else "")
        found.append((target, kept, operands.split(", "), results.strip("()").split(", ")))
    return [one for one in found if "lapack" in one[0]]


def module_of(call) -> str:
    target, attributes, operands, results = call
    arguments = ", ".join([f"%a{place}: {kind}" for place, kind in enumerate(operands)])
    given = ", ".join([f"%a{place}" for place in range(len(operands))])
    several = len(results) > 1
    outs = ", ".join([f"%b#{place}" if several else "%b" for place in range(len(results))])
    left, types = (f"%b:{len(results)}" if several else "%b"), ", ".join(results)
    listed = f"({types})" if several else types
    return f"""func.func public @main({arguments}) -> ({types}) {{
      {left} = stablehlo.custom_call @{target}({given}) {{{attributes}}} : ({", ".join(operands)}) -> {listed}
      return {outs} : {types} }}"""


def refused(call, context) -> bool:
    with context:
        module = mlir.ir.Module.parse(f"module {{ {module_of(call)} }}", context)
    try:
        check_kernels(module, "f")
    except ValueError as error:
        assert REFUSED in str(error) and call[0] in str(error)
        return True
    return False


def types_near(kind: str):
    """Types beside one: every size altered, a dimension more, one fewer, other elements."""
    sizes, element = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", kind).groups()
    sizes = sizes.split("x")[:-1]
    for place, size in enumerate(sizes):
        for other in (int(size) + 1, int(size) - 1):
            yield [*sizes[:place], str(other), *sizes[place + 1 :]], element
    yield from ((more, element) for more in ([*sizes, "2"], ["2", *sizes], sizes[1:] or ["7"]))
    yield from ((sizes, other) for other in ("f16", "f64", "f32", "i32", "i64", "complex<f32>") if other != element)


def altered(call):
    """Calls with one type altered, with one operand or result more or fewer, of other letters and versions."""
    target, attributes, operands, results = call
    types = [*operands, *results]
    for place, kind in enumerate(types):
        for sizes, element in types_near(kind):
            others = [*types[:place], f"tensor<{'x'.join([*sizes, element])}>", *types[place + 1 :]]
            yield target, attributes, others[: len(operands)], others[len(operands) :]
    yield target, attributes, [*operands, operands[0]], results
    yield target, attributes, operands, [*results, results[0]]
    yield from [(target, attributes, operands[:-1], results)] * (len(operands) > 1)
    yield from [(target, attributes, operands, results[:-1])] * (len(results) > 1)
    yield target, attributes, [], results
    if target.endswith("_ffi"):
        yield target, "api_version = 1 : i32", operands, results
    if "ui8" in attributes:
        yield target, "api_version = 4 : i32", operands, results
        yield target, attributes.replace(" : ui8", " : ui32"), operands, results
        yield target, re.sub(r"= \d+ : ui8", "= 90 : ui8", attributes), operands, results


def is_right_again(other) -> bool:
    """There may be fewer reflections than columns."""
    if not re.search("un[gm]qr|or[gm]qr|^Product", other[0]) or "f32" not in other[2][1]:
        return False
    first, second = [[int(n) for n in re.findall(r"(\d+)x", kind)] for kind in other[2][:2]]
    return other[2][0] == other[3][0] and len(second) == 1 and second[0] < first[1]


@pytest.fixture(scope="module")
def calls():
    found = {}
    with tangrad.use_backend("xla"):
        for dtype in ("float32", "complex64"):
            for function, arguments, _ in LINEAR.values():
                if dtype == "float32" and any(numpy.iscomplexobj(one) for one in arguments):
                    continue
                values = [numpy.asarray(one).astype(dtype) for one in arguments]
                found |= {call[:2]: call for call in calls_of(export.export(tangrad.jit(function))(*values))}
    return [*found.values(), *BY_HAND]


def test_calls_that_are_exported_are_right_and_those_near_them_are_not(calls):
    assert len({call[0] for call in calls}) == 34, sorted({call[0] for call in calls})
    context = mlir.new_context()
    taken = []
    for call in calls:
        assert not refused(call, context), call
        taken += [one for one in altered(call) if one != call and not refused(one, context)]
    assert [one for one in taken if not is_right_again(one)] == []


def test_doubles_have_names_of_their_own():
    context = mlir.new_context()
    for dtype, name in (("float64", "lapack_dgetrf_ffi"), ("complex128", "lapack_zgetrf_ffi")):
        with tangrad.use_backend("xla"), tangrad.enable_x64(True):
            made = export.export(tangrad.jit(np.linalg.det))(numpy.eye(3, dtype=dtype))
        (call,) = calls_of(made)
        assert call[0] == name and not refused(call, context)
        assert refused((name.replace("_d", "_s").replace("_z", "_c"), *call[1:]), context)


def foreign(call):
    """A program of a vector whose module calls a function of LAPACK with constants, too."""
    target, attributes, operands, results = call
    number = {True: "(1.0, 1.0)", False: "1.0"}
    values = [
        f"%a{place} = stablehlo.constant dense<{1 if 'i32' in kind else number['complex' in kind]}> : {kind}"
        for place, kind in enumerate(operands)
    ]
    given = ", ".join([f"%a{place}" for place in range(len(operands))])
    left, listed = f"%b:{len(results)}", f"({', '.join(operands)}) -> ({', '.join(results)})"
    call = f"{left} = stablehlo.custom_call @{target}({given}) {{{attributes}, has_side_effect = true}} : {listed}"
    return program(entry("\n".join([*values, call]), "%a"))


def test_a_foreign_file_is_refused_when_it_is_called():
    calls = [
        line("lapack_sgetrf_ffi", "", [square], [T33, "tensor<3xi32>", I]) for square in (T33, "tensor<300x300xf32>")
    ]
    with tangrad.use_backend("xla"):
        right, wrong = [export.deserialize(foreign(call).serialize()).call for call in calls]
        x = np.ones(3)
        for transformed in (lambda f: f, lambda f: tangrad.jit(lambda x: f(x) * 1)):
            assert transformed(right)(x).tolist() == x.tolist()
            with pytest.raises(ValueError, match=f"f calls lapack_sgetrf_ffi {REFUSED}: .*300x300xf32"):
                transformed(wrong)(x)


@pytest.mark.parametrize(
    "target", ["Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"]
)
@pytest.mark.parametrize(("operands", "results"), [([], [T33]), ([T33, I], [T33]), ([T33], [T33, I])])
def test_marks_of_shardings_have_one_operand(target, operands, results):
    made = foreign((target, 'api_version = 1 : i32, backend_config = ""', operands, results))
    with tangrad.use_backend("xla"), pytest.raises(ValueError, match=f"f calls {target} {REFUSED}: it has one operand"):
        export.deserialize(made.serialize()).call(np.ones(3))


def of_open_sizes(rows: int):
    """A module of which no size is known until XLA has put them in: then there are more pivots than rows, or not."""
    shape = "%shape = stablehlo.constant dense<3> : tensor<2xi32>"
    pivots = f"%pivots = stablehlo.constant dense<{rows}> : tensor<1xi32>"
    numbers = "%none = stablehlo.constant dense<> : tensor<0xi32>"
    matrix = "%m = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi32>) -> tensor<?x?xf32>"
    types = "tensor<?x?xf32>, tensor<2xi32>, tensor<1xi32>, tensor<0xi32>"
    more = "api_version = 4 : i32, has_side_effect = true, indices_of_shape_operands = dense<[1, 2, 3]> : tensor<3xi64>"
    call = (
        f"%b:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%m, %shape, %pivots, %none) {{{more}}} : ({types}) -> "
        "(tensor<?x?xf32>, tensor<?xi32>, tensor<i32>)"
    )
    return program(entry("\n".join([shape, pivots, numbers, matrix, call]), "%a"))


def test_sizes_that_are_known_later_are_looked_at_later():
    with tangrad.use_backend("xla"):
        assert export.deserialize(of_open_sizes(3).serialize()).call(np.ones(3)).tolist() == [1, 1, 1]
        with pytest.raises(ValueError, match=f"f calls lapack_sgetrf_ffi {REFUSED}.*tensor<2xi32>"):
            export.deserialize(of_open_sizes(2).serialize()).call(np.ones(3))
