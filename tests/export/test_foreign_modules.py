"""Modules that no exporter could have written: refused when they are read, or at the latest when they are called."""

import random
import re
from hashlib import sha256

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import export, lax
from tangrad._export.bytecode import DamagedModule, read_contents
from tangrad._export.writing import HEADER, MAGIC
from tangrad.core import ShapedArray
from tests.export.elsewhere import LINEAR

pytest.importorskip("tangrad._backend_xla")

from tangrad._backend_xla import mlir
from tangrad._backend_xla.module_contents import DEEPEST_CALLS, DEEPEST_REGIONS, contents

F3 = "tensor<3xf32>"


@pytest.fixture
def on_xla():
    with tangrad.use_backend("xla"):
        yield


def entry(body: str, result: str = "%b") -> str:
    return f"func.func public @main(%a: {F3}) -> {F3} {{ {body}\n return {result} : {F3} }}"


def called(target: str, more: str = "api_version = 4 : i32, backend_config = {index = 0 : ui64}") -> str:
    return f"%b = stablehlo.custom_call @{target}(%a) {{{more}}} : ({F3}) -> {F3}"


def waiting(operation: str) -> str:
    return f"%t = stablehlo.create_token : !stablehlo.token\n{operation}"


CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 5, type = {}>, is_host_transfer = true"
IN_A_BRANCH = f"""%i = stablehlo.constant dense<0> : tensor<i32>
%b = "stablehlo.case"(%i) ({{ {called("xla_ffi_python_cpu_callback")}
  stablehlo.return %b : {F3} }}) : (tensor<i32>) -> {F3}"""
PARTITIONED = called("xla_ffi_partitioned_python_cpu_callback")
IN_A_FUNCTION = f"func.func private @f(%a: {F3}) -> {F3} {{ {PARTITIONED}\n return %b : {F3} }}" + entry(
    f"%b = call @f(%a) : ({F3}) -> {F3}"
)
INFEED = waiting(f'%b, %u = "stablehlo.infeed"(%t) : (!stablehlo.token) -> ({F3}, !stablehlo.token)')
OUTFEED = waiting(f'%u = "stablehlo.outfeed"(%a, %t) : ({F3}, !stablehlo.token) -> !stablehlo.token')
SEND = waiting(f'%u = "stablehlo.send"(%a, %t) {{{CHANNEL.format(2)}}} : ({F3}, !stablehlo.token) -> !stablehlo.token')
RECV = waiting(
    f'%b, %u = "stablehlo.recv"(%t) {{{CHANNEL.format(3)}}} : (!stablehlo.token) -> ({F3}, !stablehlo.token)'
)
REFUSED = {
    "a callback": (entry(called("xla_ffi_python_cpu_callback")), "functions of Python"),
    "a partitioned callback": (entry(called("xla_ffi_partitioned_python_cpu_callback")), "functions of Python"),
    "a callback of buffers": (entry(called("xla_buffer_python_cpu_callback")), "functions of Python"),
    "a callback of GPUs": (entry(called("xla_ffi_python_gpu_callback")), "functions of Python"),
    "an old callback": (entry(called("xla_python_cpu_callback", "api_version = 2 : i32")), "functions of Python"),
    "in a branch": (entry(IN_A_BRANCH), "functions of Python"),
    "in a function": (IN_A_FUNCTION, "functions of Python"),
    "an unknown target": (entry(called("launch")), r"f calls launch, which need not be there"),
    "an old kernel": (entry(called("lapack_sgetrf", "api_version = 1 : i32")), "calls lapack_sgetrf, which need not"),
    "infeed": (entry(INFEED), "f has stablehlo.infeed, which would wait for ever"),
    "outfeed": (entry(OUTFEED, "%a"), "stablehlo.outfeed"),
    "send": (entry(SEND, "%a"), "stablehlo.send"),
    "recv": (entry(RECV), "stablehlo.recv"),
}


def program(text: str, checks=()) -> export.Exported:
    """A program of one array of three numbers with this module."""
    context = mlir.new_context()
    with context:
        module = mlir.ir.Module.parse(f"module {{ {text} }}", context)
    aval = ShapedArray((3,), np.float32)
    return export.Exported(
        fun_name="f",
        in_tree=tangrad.tree.structure(((0,), {})),
        in_avals=(aval,),
        out_tree=tangrad.tree.structure(0),
        out_avals=(aval,),
        platforms=("cpu",),
        mlir_module_serialized=mlir.portable_artifact(module),
        disabled_safety_checks=tuple(checks),
    )


@pytest.mark.usefixtures("on_xla")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_when_it_is_read_and_when_it_is_called(name):
    text, message = REFUSED[name]
    made = program(text)
    with pytest.raises(ValueError, match=message):
        export.deserialize(made.serialize())
    for call in (made.call, tangrad.jit(lambda x: made.call(x) + 1)):
        with pytest.raises(ValueError, match=message):
            call(np.ones(3))


@pytest.mark.usefixtures("on_xla")
def test_a_file_cannot_turn_the_check_of_callbacks_off():
    checks = [export.DisabledSafetyCheck.custom_call(name) for name in ("xla_ffi_python_cpu_callback", "launch")]
    made = program(entry(called("xla_ffi_python_cpu_callback")), checks)
    with pytest.raises(ValueError, match="functions of Python"):
        export.deserialize(made.serialize())
    allowed = export.deserialize(program(entry(called("launch")), checks).serialize())
    with pytest.raises(Exception, match="launch"):  # it may be called, and is not there
        allowed.call(np.ones(3))


@pytest.mark.usefixtures("on_xla")
def test_nor_can_the_one_who_exports():
    def function(x):
        return tangrad.pure_callback(lambda x: x, tangrad.ShapeDtypeStruct((3,), "float32"), x)

    check = export.DisabledSafetyCheck.custom_call("xla_ffi_python_cpu_callback")
    made = export.export(tangrad.jit(function), disabled_checks=[check])(np.ones(3))
    assert "xla_ffi_python_cpu_callback" in made.mlir_module()
    for refused in (lambda: made.call(np.ones(3)), lambda: export.deserialize(made.serialize())):
        with pytest.raises(ValueError, match="callbacks to Python never are"):
            refused()


def parts(data: bytes) -> tuple[bytes, bytes]:
    start = HEADER.size
    description, module = HEADER.unpack(data[:start])[3:5]
    return data[start : start + description], data[start + description : start + description + module]


def packed(description: bytes, module: bytes) -> bytes:
    body = description + module
    return HEADER.pack(MAGIC, 1, 0, len(description), len(module), 0, sha256(body).digest()) + body


@pytest.mark.usefixtures("on_xla")
def test_a_target_that_was_renamed_in_the_file():
    """The bytes of a name are replaced, and the file is sealed again."""
    description, module = parts(export.export(tangrad.jit(np.linalg.inv))(4 * np.eye(3)).serialize())
    assert module.count(b"lapack_sgetrf_ffi") == 1
    assert export.deserialize(packed(description, module)).call(4 * np.eye(3))[0, 0] == 0.25
    for name, message in (
        (b"some_other_kernel", "calls some_other_kernel"),
        (b"xla_python_cpu_callback"[:17], "calls"),
    ):
        assert len(name) == 17
        with pytest.raises(ValueError, match=message):
            export.deserialize(packed(description, module.replace(b"lapack_sgetrf_ffi", name)))


# --- modules that XLA must not get -----------------------------------------------------------------------------------


def chain(length: int) -> str:
    """Functions that call each other in a row."""
    links = [
        f"func.func private @f{n}(%a: {F3}) -> {F3} {{ %b = call @f{n + 1}(%a) : ({F3}) -> {F3}\n return %b : {F3} }}"
        for n in range(length)
    ]
    last = f"func.func private @f{length}(%a: {F3}) -> {F3} {{ return %a : {F3} }}"
    return "\n".join([*links, last, entry(f"%b = call @f0(%a) : ({F3}) -> {F3}")])


def nested(depth: int, inner: str = f"stablehlo.return %a : {F3}") -> str:
    """Branches within branches."""
    for level in range(depth):
        name = f"%b{level}"
        end = f"stablehlo.return {name} : {F3}" if level < depth - 1 else ""
        inner = f'{name} = "stablehlo.case"(%i) ({{ {inner} }}) : (tensor<i32>) -> {F3}\n{end}'
    index = f"""%part = stablehlo.slice %a [0:1] : ({F3}) -> tensor<1xf32>
    %number = stablehlo.reshape %part : (tensor<1xf32>) -> tensor<f32>
    %i = stablehlo.convert %number : (tensor<f32>) -> tensor<i32>"""  # of a constant the branches would be gone
    return entry(f"{index}\n{inner}", f"%b{depth - 1}")


ITSELF = f"%b = call @main(%a) : ({F3}) -> {F3}"
BY_ANOTHER = f"func.func private @f(%a: {F3}) -> {F3} {{ {ITSELF}\n return %b : {F3} }}"
LARGER = "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }"
WIDER = "func.func public @main(%a: tensor<3xf64>) -> tensor<3xf64> { return %a : tensor<3xf64> }"
TWO = f"func.func public @main(%a: {F3}, %b: {F3}) -> {F3} {{ return %a : {F3} }}"
NOT_COMPILED = {
    "calls itself": (entry(ITSELF), "functions call themselves: main"),
    "by way of another": (entry(f"%b = call @f(%a) : ({F3}) -> {F3}") + BY_ANOTHER, "call themselves: f, main"),
    "as a composite": (
        entry(f'%b = stablehlo.composite "x.y" %a {{decomposition = @main}} : ({F3}) -> {F3}'),
        "themselves",
    ),
    "as a computation": (
        entry(called("stablehlo.dynamic_reduce_window", "api_version = 2 : i32, called_computations = [@main]")),
        "themselves",
    ),
    "a long chain": (chain(DEEPEST_CALLS + 1), f"functions are nested {DEEPEST_CALLS + 2} deep"),
    "deep branches": (nested(DEEPEST_REGIONS + 1), "regions are nested more than 102 deep"),
    "deep by a call": (
        nested(60).replace("@main", "@f").replace("public", "private")
        + nested(60, f"%c = func.call @f(%a) : ({F3}) -> {F3}\nstablehlo.return %c : {F3}"),
        "branches are nested 120 deep",
    ),
    "no entry": (entry("").replace("@main", "@other").replace("%b", "%a"), "no function 'main'; it has 'other'"),
    "another size": (LARGER, r"has the arguments \(tensor<4xf32>\), and its types say \(tensor<3xf32>\)"),
    "another dtype": (WIDER, r"has the arguments \(tensor<3xf64>\)"),
    "another count": (TWO, r"has the arguments \(tensor<3xf32>, tensor<3xf32>\)"),
}


@pytest.mark.usefixtures("on_xla")
@pytest.mark.parametrize("name", NOT_COMPILED)
def test_refused_before_it_is_compiled(name):
    text, message = NOT_COMPILED[name]
    with pytest.raises(ValueError, match=message):
        export.deserialize(program(text).serialize()).call(np.ones(3))


@pytest.mark.usefixtures("on_xla")
def test_what_is_nested_less_is_called():
    for text in (chain(50), nested(50)):
        assert export.deserialize(program(text).serialize()).call(np.arange(3.0)).tolist() == [0, 1, 2]


# --- the reader of modules -------------------------------------------------------------------------------------------


def some_module() -> bytes:
    def function(x):
        looped = lax.fori_loop(0, 3, lambda i, y: y * 2, x)
        return np.linalg.svd(x)[1], looped, np.sort(x), lax.cond(x.sum() > 0, np.linalg.inv, lambda x: -x, x)

    return export.export(tangrad.jit(function))(np.ones((3, 3))).mlir_module_serialized


@pytest.mark.usefixtures("on_xla")
def test_the_reader_finds_what_mlir_finds():
    data = some_module()
    found, expected = read_contents(data), contents(mlir.read_portable_artifact(data, mlir.new_context()))
    assert found.targets == expected.targets == {"lapack_sgesdd_ffi", "lapack_sgetrf_ffi", "lapack_strsm_ffi"}
    assert found.operations == {name.replace("func.", "stablehlo.") for name in expected.operations}


@pytest.mark.usefixtures("on_xla")
def test_every_cut_and_many_bytes_of_a_module_are_read_or_refused():
    """Nothing but DamagedModule; and nothing that takes long."""
    data, draw, read = some_module(), random.Random(0), 0
    for length in range(len(data)):
        with pytest.raises(DamagedModule):
            read_contents(data[:length])
    for place in range(len(data)):
        altered = bytearray(data)
        altered[place] = draw.randrange(256)
        try:
            read_contents(bytes(altered))
            read += 1
        except DamagedModule:
            pass
    assert 0 < read < len(data)


@pytest.mark.usefixtures("on_xla")
def test_numbers_of_the_format():
    """The length of a number is in the zeros at the low end of its first byte."""
    from tangrad._export.bytecode import Reader

    for data, value in (
        (b"\x03", 1),
        (b"\xff", 127),
        (b"\x02\x02", 128),
        (bytes([0b100, 0, 1]), 1 << 13),
        (b"\x00" + (1 << 60).to_bytes(8, "little"), 1 << 60),
    ):
        reader = Reader(data)
        assert reader.number() == value and not reader.has_more
    assert numpy.all(numpy.diff([Reader(bytes([4 * n + 2, 1])).number() for n in range(64)]) == 1)


# --- Modules from elsewhere that call LAPACK with other types than it works on ---


from tangrad._backend_xla.kernel_types import check_kernels

KERNELS_REFUSED = "in a way that would not be safe"
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
        assert KERNELS_REFUSED in str(error) and call[0] in str(error)
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
            with pytest.raises(ValueError, match=f"f calls lapack_sgetrf_ffi {KERNELS_REFUSED}: .*300x300xf32"):
                transformed(wrong)(x)


@pytest.mark.parametrize(
    "target", ["Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"]
)
@pytest.mark.parametrize(("operands", "results"), [([], [T33]), ([T33, I], [T33]), ([T33], [T33, I])])
def test_marks_of_shardings_have_one_operand(target, operands, results):
    made = foreign((target, 'api_version = 1 : i32, backend_config = ""', operands, results))
    with (
        tangrad.use_backend("xla"),
        pytest.raises(ValueError, match=f"f calls {target} {KERNELS_REFUSED}: it has one operand"),
    ):
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
        with pytest.raises(ValueError, match=f"f calls lapack_sgetrf_ffi {KERNELS_REFUSED}.*tensor<2xi32>"):
            export.deserialize(of_open_sizes(2).serialize()).call(np.ones(3))
