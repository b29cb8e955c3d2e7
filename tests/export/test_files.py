"""Files of exported programs: what is written is read; anything else is refused, and costs nothing."""

import json
import os
import random
import subprocess
import sys
import tracemalloc
from hashlib import sha256

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import export, runtime, use_backend
from tangrad._export.writing import HEADER, MAGIC
from tangrad.core import ShapedArray, backend_names
from tests.export import elsewhere
from tests.export.elsewhere import LINEAR, PROGRAMS
from tools.workspace import ROOT


@pytest.fixture(scope="module")
def data():
    spec = export.symbolic_args_specs({"x": np.ones((2, 3)), "more": [None, np.ones(2)]}, {"x": "n, _", "more": "n"})
    return export.export(tangrad.jit(lambda tree: tree["x"] * tree["more"][1][:, None]))(spec).serialize(vjp_order=1)


def packed(description, module=b"", derivative=b"", version=1):
    body = description + module + derivative
    lengths = len(description), len(module), len(derivative)
    return HEADER.pack(MAGIC, version, 0, *lengths, sha256(body).digest()) + body


def test_structures_and_types_come_back(data):
    read = export.deserialize(bytearray(data))
    assert read.in_tree == tangrad.tree.structure((({"x": 0, "more": [None, 0]},), {}))
    assert [str(aval) for aval in read.in_avals] == ["float32[n]", "float32[n,3]"]
    assert read.in_avals[0].shape[0] == read.in_avals[1].shape[0]
    assert read.call({"x": np.ones((4, 3)), "more": [None, np.ones(4)]}).shape == (4, 3)


def test_ten_thousand_damaged_files_are_refused(data):
    draw = random.Random(0)
    other = export.export(tangrad.jit(np.sin))(np.ones(3)).serialize()
    for number in range(10_000):
        damaged = bytearray(data)
        kind = number % 4
        if kind == 0:
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del damaged[draw.randrange(len(damaged)) :]
        elif kind == 2:
            damaged[draw.randrange(len(damaged)) :] = other[draw.randrange(len(other)) :]
        else:
            place = draw.randrange(HEADER.size)
            damaged[place : place + 4] = draw.randbytes(4)
        if bytes(damaged) in (data, other):
            continue
        with pytest.raises(ValueError, match="no exported program"):
            export.deserialize(damaged)


def test_false_descriptions_are_refused(data):
    start = HEADER.size
    lengths = HEADER.unpack(data[:start])[3:6]
    description = json.loads(data[start : start + lengths[0]])
    module = data[start + lengths[0] : start + lengths[0] + lengths[1]]
    for key, value in [
        ("in_tree", 0),
        ("in_tree", ["tuple", 0, 0]),
        ("in_tree", ["set", 0]),
        ("in_tree", ["tuple", ["tuple", ["ordered_dict", ["a", "a"], 0, 0]], ["dict", []]]),
        ("in_tree", ["tuple", ["list", 0, 0], ["dict", []]]),
        ("in_avals", [["float32", ["n"]]]),
        ("in_avals", [["float32", ["n"]], ["float33", [3]]]),
        ("in_avals", [["float32", ["n"]], ["float32", ["n" * 20_000]]]),
        ("in_avals", [["float32", ["n"]], ["float32", [-1]]]),
        ("in_avals", [["float32", ["n"]], [{"array": 0}, [3]]]),
        ("constraints", ["n >= 1"] * 65),
        ("in_avals", [["float32", ["n"]], ["float32", [1] * 65]]),
        ("constraints", ["__import__('os') >= 1"]),
        ("constraints", "n"),
        ("platforms", [3]),
        ("devices", "many"),
        ("disabled_checks", [1]),
        ("name", None),
        ("explicit", {"in": [None]}),
        ("explicit", {"in": [[[[["x", 1]], [["x"], []], []], ["Implicit"], [], []]], "out": [None]}),
    ]:
        false = json.dumps({**description, key: value}).encode()
        with pytest.raises(ValueError, match="its description cannot be read"):
            export.deserialize(packed(false, module))
    for false in (b"[]", b"{}", b"\xff", b"[" * 100_000):
        with pytest.raises(ValueError, match="its description cannot be read"):
            export.deserialize(packed(false, module))
    newer = json.dumps({**description, "calling_convention": 99}).encode()
    with pytest.raises(ValueError, match="calling convention 99"):
        export.deserialize(packed(newer, module))
    with pytest.raises(ValueError, match="version 3 of the format"):
        export.deserialize(packed(b"{}", version=3))
    for wrong in (b"", b"no module", module[:-1], b"module {}"):
        with pytest.raises(ValueError, match=r"its module cannot be read \(these bytes are no portable artifact"):
            export.deserialize(packed(json.dumps(description).encode(), wrong))
    crossed = packed(json.dumps(description).encode(), module, packed(json.dumps(description).encode(), module))
    with pytest.raises(ValueError, match="derivative is not of its own program"):
        export.deserialize(crossed)


def test_a_header_that_claims_gigabytes_costs_nothing():
    claim = HEADER.pack(MAGIC, 1, 0, 1 << 24, 1 << 31, 1 << 60, bytes(32))
    tracemalloc.start()
    with pytest.raises(ValueError, match="it claims"):
        export.deserialize(claim + bytes(64))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_what_has_no_form_in_files():
    point = export.export(tangrad.jit(lambda tree: tree[3]))({3: np.ones(3)})
    with pytest.raises(ValueError, match="strings as keys"):
        point.serialize()
    with pytest.raises(ValueError, match="vjp_order"):
        point.serialize(vjp_order=-1)
    with pytest.raises(TypeError, match="takes bytes"):
        export.deserialize("text")


# --- What is exported here runs in a process that has only read it ---


needs_xla = pytest.mark.skipif("xla" not in backend_names(), reason="needs the XLA backend")


def put(folder, name, platforms, dtype=None):
    """Export one of the programs for its arguments in a dtype, with its derivative where there is one."""
    function, args, has_derivative = PROGRAMS[name]
    args = [numpy.asarray(one) for one in args]
    args = [one if one.dtype.kind in "iu" else one.astype(of_kind(one, dtype or numpy.float32)) for one in args]
    jitted = tangrad.jit(lambda *args: tangrad.tree.leaves(function(*args)))  # named tuples have no form in files
    made = export.export(jitted, platforms=platforms)(*args)
    expected = jitted(*args)
    if not has_derivative:
        return elsewhere.write(folder, name, made, args, expected)
    outs, pullback = tangrad.vjp(jitted, *args)
    cotangents = [cotangent(out) for out in outs]
    return elsewhere.write(folder, name, made, args, expected, cotangents, pullback(cotangents))


def of_kind(array, dtype):
    return numpy.result_type(dtype, numpy.complex64) if array.dtype.kind == "c" else dtype


def cotangent(out):
    is_float = numpy.dtype(out.dtype).kind in "fc"
    return numpy.ones(out.shape, out.dtype if is_float else tangrad.dtypes.float0)


def called_elsewhere(folder, backend, **environment):
    """How many programs of a folder another process has called; asserts that each returned what it should."""
    command = [sys.executable, "-W", "error", "-m", "tests.export.elsewhere", str(folder), backend]
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["problems"] == {}, found["problems"]
    return found["count"]


@needs_xla
@pytest.mark.parametrize("name", ["solve", "eigh"])
def test_linear_algebra_on_xla(name, tmp_path):
    with use_backend("xla"):
        put(tmp_path, name, ["cpu"])
    assert called_elsewhere(tmp_path, "xla") == 1


@needs_xla
def test_programs_in_programs_and_for_several_platforms(tmp_path):
    """What the inner program calls is called by the outer one, of whichever platform."""
    matrix = (4 * numpy.eye(3) + 1).astype("float32")
    with use_backend("xla"):
        inner = export.export(tangrad.jit(tangrad.numpy.linalg.inv), platforms=["cpu", "tpu"])(matrix)
        outer = tangrad.jit(lambda x: inner.call(x) @ x)
        made = export.export(outer, platforms=["tpu", "cpu"])(matrix)
        elsewhere.write(tmp_path, "outer", made, [matrix], numpy.eye(3, dtype="float32"))
    assert called_elsewhere(tmp_path, "xla") == 1


@needs_xla
def test_from_the_cache_of_compiled_programs(tmp_path):
    """The second process compiles nothing: what it loads calls LAPACK all the same."""
    (tmp_path / "cache").mkdir(mode=0o700)
    with use_backend("xla"):
        put(tmp_path, "solve", ["cpu"])
    variables = {"TANGRAD_COMPILATION_CACHE_DIR": str(tmp_path / "cache"), "TANGRAD_XLA_CACHE_MIN_COMPILE_SECONDS": "0"}
    assert called_elsewhere(tmp_path, "xla", **variables) == 1
    written = {file.name: file.read_bytes() for file in (tmp_path / "cache").iterdir()}
    assert written and all(name.endswith(".xlaexec") for name in written)
    assert called_elsewhere(tmp_path, "xla", **variables) == 1
    assert {file.name: file.read_bytes() for file in (tmp_path / "cache").iterdir()} == written


@needs_xla
def test_what_jax_exported(tmp_path):
    jax = pytest.importorskip("jax")
    matrix = (4 * numpy.eye(3) + 1).astype("float32")
    functions = {
        "inverse": jax.numpy.linalg.inv,
        "spectrum": jax.numpy.linalg.eigvalsh,
        "singular": lambda x: jax.numpy.linalg.svd(x, compute_uv=False),
        "factor": jax.numpy.linalg.cholesky,
        "solution": lambda x: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(x), x[0]),
    }
    for name, function in functions.items():
        theirs = jax.export.export(jax.jit(function), platforms=["cpu", "cuda"])(matrix)
        made = export.Exported(
            fun_name=name,
            in_tree=tangrad.tree.structure(((0,), {})),
            in_avals=(ShapedArray(matrix.shape, matrix.dtype),),
            out_tree=tangrad.tree.structure(0),
            out_avals=tuple([ShapedArray(aval.shape, aval.dtype) for aval in theirs.out_avals]),
            platforms=tuple(theirs.platforms),
            mlir_module_serialized=bytes(theirs.mlir_module_serialized),
            calling_convention_version=theirs.calling_convention_version,
            uses_global_constants=True,
        )
        elsewhere.write(tmp_path, name, made, [matrix], function(matrix))
    assert called_elsewhere(tmp_path, "xla") == len(functions)


@needs_xla
def test_saved_programs(tmp_path):
    """Files of `tangrad.runtime` hold no targets: their equations are lowered where they are run."""
    matrix = (4 * numpy.eye(3) + 1).astype("float32")
    runtime.save(tangrad.numpy.linalg.inv, tmp_path / "inverse.tgr", matrix)
    numpy.save(tmp_path / "matrix.npy", matrix)
    program = f"""
import numpy
from tangrad import runtime
matrix = numpy.load({str(tmp_path / "matrix.npy")!r})
for backend in ("xla", "numpy"):
    inverse = runtime.load({str(tmp_path / "inverse.tgr")!r}, backend=backend)(matrix)
    print(abs(inverse @ matrix - numpy.eye(3)).max() < 1e-5)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["True", "True"], done.stderr


QUICK = ["lu", "svd", "eig", "multivariate", "scan", "sorts", "fft", "window", "special", "tridiagonal"]


@pytest.mark.parametrize("backend", backend_names())
def test_a_few_of_all_kinds(backend, tmp_path):
    with use_backend(backend):
        for name in QUICK:
            put(tmp_path, name, ["cpu", "cuda"] if backend == "xla" else ["numpy"])
    assert called_elsewhere(tmp_path, backend) == len(QUICK)


@pytest.mark.sweep
@pytest.mark.parametrize("backend", backend_names())
def test_all(backend, tmp_path):
    with use_backend(backend):
        for name in PROGRAMS:
            put(tmp_path, name, ["cpu"] if backend == "xla" else ["numpy"])
    assert called_elsewhere(tmp_path, backend) == len(PROGRAMS)


@pytest.mark.sweep
@pytest.mark.parametrize("backend", backend_names())
def test_linear_algebra_in_double_precision(backend, tmp_path):
    with use_backend(backend), tangrad.enable_x64(True):
        for name in LINEAR:
            put(tmp_path, name, ["cpu"] if backend == "xla" else ["numpy"], numpy.float64)
    assert called_elsewhere(tmp_path, backend) == len(LINEAR)
