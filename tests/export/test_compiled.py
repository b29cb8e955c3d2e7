"""Compiled programs as bytes: they come back and run; not what is damaged, of strangers, or for others."""

import json
import os
import stat
import subprocess
import sys
import warnings
from collections import namedtuple
from hashlib import sha256

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import export, tree
from tangrad._export import compiled_files, structures
from tangrad.core import backend_names
from tangrad.experimental import serialize_executable

BACKENDS = [name for name in ("numpy", "xla") if name in backend_names()]
KEY, OTHER = b"sixteen bytes or more", b"sixteen other bytes, or more"
X = numpy.arange(6, dtype="float32").reshape(2, 3)
Pair = export.register_namedtuple_serialization(
    namedtuple("Pair", ["first", "second"]), serialized_name="tests.compiled.Pair"
)


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch):
    """The user's folder for caches."""
    monkeypatch.setenv("TANGRAD_CACHE_DIR", str(tmp_path / "caches"))
    return tmp_path / "caches"


@pytest.fixture(params=BACKENDS)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


needs_xla = pytest.mark.skipif("xla" not in BACKENDS, reason="machine code is XLA's")


def computed(tree, *, shift):
    return Pair(np.tanh(tree["x"]) @ tree["more"][0], [tree["x"].sum() + shift, None])


def compiled(**options):
    arguments = {"x": X, "more": (numpy.ones((3, 2), "float32"), numpy.zeros(5, "int32"))}
    return tangrad.jit(computed, **options).lower(arguments, shift=numpy.float32(2)).compile(), arguments


def small(backend: str) -> bytes:
    return tangrad.jit(lambda x: np.sin(x) * 2, backend=backend).lower(X).compile().serialize()


def edited(data: bytes, **changes) -> bytes:
    """A file with another description, its digest right, sealed with the user's secret."""
    found = compiled_files.unpacked(data)
    return compiled_files.packed({**found.description, **changes}, found.program, None)


def test_a_program_comes_back(backend) -> None:
    made, arguments = compiled()
    read = tangrad.load_compiled(made.serialize())
    expected, found = made(arguments, shift=numpy.float32(2)), read(arguments, shift=numpy.float32(2))
    assert type(found) is Pair and found.second[1] is None
    numpy.testing.assert_array_equal(found.first, expected.first)
    numpy.testing.assert_array_equal(found.second[0], expected.second[0])
    assert (read.in_tree, read.out_tree, read.backend, read.fun_name) == (
        made.in_tree,
        made.out_tree,
        backend,
        "computed",
    )
    assert repr(read) == f"<loaded computed for {backend}>" and read.as_text()
    again = read({**arguments, "x": np.asarray(X)}, shift=2.0)  # arrays of Tangrad's, and Python's numbers
    numpy.testing.assert_array_equal(again.first, expected.first)


def test_gradients_and_keys_pass(backend) -> None:
    from tangrad import random

    def noisy(key, x):
        return tangrad.grad(lambda x: (random.normal(key, x.shape) * x**2).sum())(x)

    made = tangrad.jit(noisy).lower(random.key(3), X).compile()
    numpy.testing.assert_array_equal(tangrad.load_compiled(made.serialize())(random.key(3), X), made(random.key(3), X))


def test_arguments_of_other_types_are_refused(backend) -> None:
    read = tangrad.load_compiled(small(backend))
    for wrong in (X.astype("int32"), X[0], "text"):
        with pytest.raises(TypeError, match=r"args\[0\] must be"):
            read(wrong)
    for wrong in ((), (X, X), ([X],)):
        with pytest.raises(TypeError, match="structure"):
            read(*wrong)
    with pytest.raises(TypeError, match="not traced"):
        tangrad.jit(read)(X)


@needs_xla
def test_donated_arguments_are_taken_over() -> None:
    with tangrad.use_backend("xla"):
        made = tangrad.jit(lambda x: x + 1, donate_argnums=0).lower(X).compile()
        read, x = tangrad.load_compiled(made.serialize()), np.asarray(X)
        numpy.testing.assert_array_equal(read(x), X + 1)
        assert x.is_deleted()


def test_a_donated_array_that_is_another_argument_is_refused(backend) -> None:
    made = tangrad.jit(lambda x, y: (x + y["z"], y["z"] * 2), donate_argnums=0).lower(X, {"z": X}).compile()
    read, x = tangrad.load_compiled(made.serialize()), np.asarray(X)
    with pytest.raises(ValueError, match=r"args\[0\] is donated, and its array is both args\[0\] and args\[1\]\['z'\]"):
        read(x, {"z": x})
    numpy.testing.assert_array_equal(read(X, {"z": X})[0], 2 * X)  # what is no array of Tangrad's is copied
    numpy.testing.assert_array_equal(X, numpy.arange(6).reshape(2, 3))


VALUES = (
    1.5,
    3,
    True,
    2j,
    numpy.float32(2),
    X,
    X.astype("int8"),
    numpy.zeros((0, 2), "float32"),
    X.astype("complex64"),
)


@pytest.mark.parametrize("seed", range(12))
def test_results_have_the_types_that_they_had(backend, seed) -> None:
    """Weak ones too, in whatever order, whether arguments are donated, and unused ones are kept or not."""
    draw = numpy.random.default_rng(seed)
    arguments = [VALUES[number] for number in draw.integers(len(VALUES), size=3)]
    options = {"keep_unused": bool(draw.integers(2)), "donate_argnums": (0,) if draw.integers(2) else ()}

    def results(*values):
        made = (values[0], values[0] * 2, 1.0, [values[1] + values[1]], np.abs(values[0]))
        return [made[number] for number in draw.permutation(len(made))[:4]]

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some donated buffers")
        made = tangrad.jit(results, **options).lower(*arguments).compile()
    read = tangrad.load_compiled(made.serialize())
    for found, expected in zip(tree.leaves(read(*arguments)), tree.leaves(made(*arguments)), strict=True):
        numpy.testing.assert_array_equal(found, expected)
        assert (found.shape, found.dtype, found.weak_type) == (expected.shape, expected.dtype, expected.weak_type)
        assert (found * np.ones(1, dtype="bfloat16")).dtype == (expected * np.ones(1, dtype="bfloat16")).dtype


def test_results_are_checked_where_that_is_wanted(backend) -> None:
    read = tangrad.load_compiled(tangrad.jit(np.log).lower(X).compile().serialize())
    assert numpy.isnan(read(-1 - X)).all()
    with tangrad.debug_nans(True), pytest.raises(FloatingPointError, match=r"nan.*loaded program 'log'"):
        read(-1 - X)


@needs_xla
def test_functions_of_lapack_are_found_in_another_process(caches, tmp_path) -> None:
    matrix = numpy.eye(3, dtype="float32") * 4
    made = tangrad.jit(np.linalg.cholesky, backend="xla").lower(matrix).compile()
    (tmp_path / "file").write_bytes(made.serialize())
    program = (
        "import sys, numpy, tangrad; read = tangrad.load_compiled(open(sys.argv[1], 'rb').read()); "
        "root = numpy.asarray(read(numpy.eye(3, dtype='float32') * 4)); "
        "print(root[0, 0], 'tangrad._backend_xla.lower' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "file")], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["2.0", "False"], done.stderr


@needs_xla
def test_what_came_from_the_cache_on_disk_is_written_too(tmp_path) -> None:
    from tangrad._backend_xla import cache_files, settings

    with settings.compilation_cache_dir(str(tmp_path / "programs")), settings.xla_cache_min_compile_seconds(0.0):
        first, second = (small("xla") for _ in range(2))
        new = tangrad.jit(lambda x: np.cumsum(x) * 3, backend="xla").lower(X).compile()  # by XLA, after one from disk
    cache_files.usable_folder.cache_clear()
    for data in (first, second):
        numpy.testing.assert_allclose(tangrad.load_compiled(data)(X), numpy.sin(X) * 2, rtol=1e-6)
    numpy.testing.assert_allclose(tangrad.load_compiled(new.serialize())(X), numpy.cumsum(X) * 3, rtol=1e-6)


# --- what is not written ---------------------------------------------------------------------------------------------


def test_effects_are_not_written(backend) -> None:
    def printing(x):
        tangrad.debug.print("{}", x)
        return x

    with pytest.raises(NotImplementedError, match="effects"):
        tangrad.jit(printing).lower(X).compile().serialize()


@needs_xla
def test_calls_of_python_are_not_written() -> None:
    shape = tangrad.ShapeDtypeStruct(X.shape, X.dtype)
    calling = tangrad.jit(lambda x: tangrad.pure_callback(numpy.sin, shape, x), backend="xla").lower(X).compile()
    with pytest.raises(NotImplementedError, match="Python"):
        calling.serialize()


def test_a_program_for_one_device_runs_there_when_it_is_loaded(backend, tmp_path) -> None:
    code = """
import pathlib, sys
import tangrad, tangrad.numpy as np
count, path = int(sys.argv[1]), pathlib.Path(sys.argv[2])
tangrad.config.update("num_cpu_devices", count)
if count == 4:
    last = tangrad.devices()[-1]
    path.write_bytes(tangrad.jit(lambda x: x * 2, device=last).lower(np.ones(3)).compile().serialize())
try:
    program = tangrad.load_compiled(path.read_bytes())
    for device in tangrad.devices()[:2]:
        print(*[at.id for at in program(tangrad.device_put(np.ones(3), device)).devices()])
except ValueError as error:
    print(error)
"""
    environment = {**os.environ, "TANGRAD_BACKEND": backend}
    run = lambda count: (
        subprocess.run(
            [sys.executable, "-c", code, str(count), str(tmp_path / "file")],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
    )
    assert run(4).split() == ["3", "3"]
    assert "was compiled for device 3; here there are [0, 1]" in run(2)


RETURNING = {
    "EigResult": lambda x: np.linalg.eig(x),
    "EighResult": lambda x: np.linalg.eigh(x @ x.T),
    "QRResult": lambda x: np.linalg.qr(x),
    "SVDResult": lambda x: np.linalg.svd(x),
    "SlogdetResult": lambda x: np.linalg.slogdet(x),
    "UniqueAll": lambda x: np.unique_all(x, size=9),
    "UniqueCounts": lambda x: np.unique_counts(x, size=9),
    "UniqueInverse": lambda x: np.unique_inverse(x, size=9),
    "ModeResult": lambda x: tangrad.scipy.stats.mode(x),
    "OptimizeResults": lambda x: tangrad.scipy.optimize.minimize(lambda y: ((y - 1) ** 2).sum(), x[0], method="BFGS"),
    "Rotation": lambda x: tangrad.scipy.spatial.transform.Rotation.from_rotvec(x[0]),
}


def test_all_results_of_ours_are_looked_at() -> None:
    assert {f"tangrad.{name}" for name in RETURNING} == set(structures.RESULTS)
    classes = [kind for kind in tuple.__subclasses__() if kind.__module__.startswith("tangrad.")]
    assert {kind.__name__ for kind in classes if kind.__name__.endswith(("Result", "Results"))} <= set(RETURNING)


# In a folder, what each folder in it has in files: the type of what its program returns, and the sum of that.
READER = """
import numpy, pathlib, sys
import tangrad
from tangrad import export, tree
x = numpy.eye(3, dtype="float32") + numpy.arange(3, dtype="float32")
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/*ed")):
    data = path.read_bytes()
    program = tangrad.load_compiled(data) if path.name == "compiled" else export.deserialize(data).call
    found = program(x)
    total = float(sum(abs(leaf).sum() for leaf in tree.leaves(found)))
    print(path.parent.name, path.name, type(found).__name__, total)
"""


@pytest.fixture(scope="module", params=BACKENDS)
def read_elsewhere(request, tmp_path_factory):
    """What another process reads of all that functions return, and what they return: by the name of the type."""
    backend, folder = request.param, tmp_path_factory.mktemp("named")
    x = numpy.eye(3, dtype="float32") + numpy.arange(3, dtype="float32")
    expected, files = {}, {}
    with pytest.MonkeyPatch.context() as patched, tangrad.use_backend(backend):
        patched.setenv("TANGRAD_CACHE_DIR", str(folder / "caches"))
        for name, returning in RETURNING.items():
            function = tangrad.jit(returning)
            expected[name] = function(x)
            files[name] = {"compiled": function.lower(x).compile().serialize()}
            if name != "EigResult":  # XLA has its callbacks to LAPACK, which exported programs name as well
                files[name]["exported"] = export.export(function)(x).serialize()
            for kind, data in files[name].items():
                (folder / name).mkdir(exist_ok=True)
                (folder / name / kind).write_bytes(data)
        environment = {**os.environ, "TANGRAD_BACKEND": backend}
        command = [sys.executable, "-c", READER, str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return expected, files, done


@pytest.mark.parametrize("name", RETURNING)
def test_named_tuples_of_ours_are_written_and_read_in_another_process(read_elsewhere, name) -> None:
    expected, files, done = read_elsewhere
    assert type(expected[name]).__name__ == name
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.split()[0] == name]
    total = float(sum(abs(leaf).sum() for leaf in tree.leaves(expected[name])))
    found = sorted([kind, found] for kind, found, _ in lines)
    assert found == sorted([kind, name] for kind in files[name]), done.stderr
    for _, _, number in lines:
        assert float(number) == pytest.approx(total, rel=1e-4)


def test_structures_without_a_form_are_not_written(backend) -> None:
    with pytest.raises(ValueError, match="register_namedtuple_serialization"):
        tangrad.jit(lambda x: namedtuple("Unknown", ["x"])(x)).lower(X).compile().serialize()


def test_only_compiled_programs_are_written() -> None:
    with pytest.raises(TypeError, match="got a JitFunction"):
        export.serialize_compiled(tangrad.jit(np.sin))


# --- what is not read ------------------------------------------------------------------------------------------------


def test_damaged_files_are_refused(backend) -> None:
    data = small(backend)
    draw = numpy.random.default_rng(0)
    for number in range(1000):
        damaged = bytearray(data)
        if number % 2:
            at = (
                draw.integers(compiled_files.HEADER_BYTES - 32, compiled_files.HEADER_BYTES)
                if number % 20 == 1
                else None
            )
            at = draw.integers(len(data)) if at is None else at
            damaged[at] ^= 1 << draw.integers(8)
        else:
            damaged = damaged[: draw.integers(len(data))]
        in_seal = bytes(damaged[: compiled_files.HEADER_BYTES - 32]) == data[: compiled_files.HEADER_BYTES - 32] and (
            bytes(damaged[compiled_files.HEADER_BYTES :]) == data[compiled_files.HEADER_BYTES :]
        )
        if in_seal and backend == "numpy":  # which is not asked who wrote it
            tangrad.load_compiled(damaged)
            continue
        with pytest.raises(PermissionError if in_seal else ValueError):
            tangrad.load_compiled(damaged)


def test_other_files_and_versions_are_refused(backend) -> None:
    data = bytearray(small(backend))
    for wrong in (b"", b"something else", export.export(tangrad.jit(np.sin))(X).serialize()):
        with pytest.raises(ValueError, match="does not begin as one"):
            tangrad.load_compiled(wrong)
    data[8] = 9
    with pytest.raises(ValueError, match="version 9 of the format; this release reads version 1"):
        tangrad.load_compiled(data)
    with pytest.raises(TypeError, match="takes bytes"):
        tangrad.load_compiled("text")


@needs_xla
@pytest.mark.parametrize("fact", ["jaxlib", "platform", "platform_version", "device_kind", "processor"])
def test_programs_for_other_machines_are_refused(fact: str) -> None:
    with pytest.raises(ValueError, match=f"was compiled for {fact.replace('_', ' ')} 'another'"):
        tangrad.load_compiled(edited(small("xla"), **{fact: "another"}))


@pytest.mark.parametrize(
    "changes",
    [{"in_tree": 0}, {"in_avals": [["float32", [-1]]]}, {"out_tree": ["tuple", 0, 0]}, {"kept": [7]}, {"name": 3}],
)
def test_descriptions_that_make_no_sense_are_refused(backend, changes) -> None:
    with pytest.raises(ValueError, match="this is no compiled program"):
        tangrad.load_compiled(edited(small(backend), **changes))


@pytest.mark.parametrize(
    "value", [None, True, -1, 1e300, "x", {}, [None], [7], [[]], {"a": 1}, [["float32", ["b"]]]], ids=str
)
def test_a_description_is_used_or_refused_whatever_is_in_it(backend, value) -> None:
    data = small(backend)
    for fact in compiled_files.unpacked(data).description:
        try:
            tangrad.load_compiled(edited(data, **{fact: value}))
        except (ValueError, PermissionError) as error:
            assert str(error)


def test_a_description_that_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="description"):
        tangrad.load_compiled(compiled_files.packed([1], b"", None), trusted=True)  # type: ignore[arg-type]


# --- who wrote it ----------------------------------------------------------------------------------------------------


@needs_xla
def test_machine_code_of_strangers_is_not_run(caches, monkeypatch, tmp_path) -> None:
    data = small("xla")
    monkeypatch.setenv("TANGRAD_CACHE_DIR", str(tmp_path / "of another user"))
    with pytest.raises(PermissionError, match="trusted=True"):
        tangrad.load_compiled(data)
    numpy.testing.assert_allclose(tangrad.load_compiled(data, trusted=True)(X), numpy.sin(X) * 2, rtol=1e-6)
    assert not json.dumps(compiled_files.unpacked(data).description).count("secret")


@needs_xla
def test_a_key_is_shared_by_writer_and_reader(monkeypatch) -> None:
    made = tangrad.jit(np.sin, backend="xla").lower(X).compile()
    data = made.serialize(key=KEY)
    monkeypatch.setenv("TANGRAD_CACHE_DIR", "off")
    assert tangrad.load_compiled(data, key=KEY)(X).shape == X.shape
    for key in (OTHER, None):
        with pytest.raises(PermissionError):
            tangrad.load_compiled(data, key=key)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        made.serialize(key=b"short")


@needs_xla
def test_without_a_secret_a_file_is_not_sealed(monkeypatch) -> None:
    monkeypatch.setenv("TANGRAD_CACHE_DIR", "off")
    data = small("xla")
    with pytest.raises(PermissionError, match="there is none"):
        tangrad.load_compiled(data)
    assert tangrad.load_compiled(data, trusted=True)(X).shape == X.shape


@needs_xla
def test_the_options_of_less_effort_are_in_the_file() -> None:
    made = tangrad.jit(np.sin, backend="xla", compile_effort="fast").lower(X).compile()
    assert compiled_files.unpacked(made.serialize(key=KEY)).description["compiler_options"]


def test_programs_for_numpy_need_no_trust(monkeypatch, tmp_path) -> None:
    data = small("numpy")
    monkeypatch.setenv("TANGRAD_CACHE_DIR", str(tmp_path / "of another user"))
    numpy.testing.assert_allclose(tangrad.load_compiled(data)(X), numpy.sin(X) * 2, rtol=1e-6)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs file modes")
def test_the_secret_is_the_users_alone(caches) -> None:
    key = sha256(b"").digest()
    first = compiled_files._seal(key, None)
    assert compiled_files._seal(key, None) == first != compiled_files._UNSEALED
    secret = caches / compiled_files.SECRET
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600 and [path.name for path in caches.iterdir()] == ["secret"]
    for mode in (0o660, 0o640, 0o604):  # others may have written it, or read it
        secret.chmod(mode)
        assert compiled_files._seal(key, None) == compiled_files._UNSEALED
    secret.chmod(0o600)
    secret.write_bytes(b"cut")
    assert compiled_files._seal(key, None) == compiled_files._UNSEALED


# --- JAX's names -----------------------------------------------------------------------------------------------------


def test_the_names_of_jax(backend) -> None:
    data, in_tree, out_tree = serialize_executable.serialize(tangrad.jit(lambda x: {"y": -x}).lower(X).compile())
    read = serialize_executable.deserialize_and_load(data, in_tree, out_tree, backend)
    numpy.testing.assert_array_equal(read(X)["y"], -X)
    with pytest.raises(ValueError, match="not as given"):
        serialize_executable.deserialize_and_load(data, out_tree, in_tree)
    with pytest.raises(ValueError, match="not of 'other'"):
        serialize_executable.deserialize_and_load(data, in_tree, out_tree, "other")
    with pytest.raises(NotImplementedError, match="default device"):
        serialize_executable.deserialize_and_load(data, in_tree, out_tree, execution_devices=tangrad.devices())
