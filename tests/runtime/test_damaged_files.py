"""Files that were cut, altered or put together of two are refused, each with a clear error; nothing else happens."""

import json
import random
import resource
import struct
import sys
import zlib

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import export, lax, runtime
from tangrad import random as random_numbers
from tangrad._runtime.container import DEFAULT, HEADER_BYTES, pack, unpack
from tangrad._runtime.reading import SavedProgram
from tangrad._runtime.saving import sections_of
from tangrad.core import get_backend
from tangrad.runtime import ArtifactError, Limits

WEIGHTS = np.linspace(-1, 1, 24, dtype="float32").reshape(6, 4)


def layer(x):
    return {"scores": tnp.tanh(x @ WEIGHTS), "top": lax.top_k(x, 2)[1]}


def loop(state, x):
    total, rows = lax.scan(lambda carry, row: (carry + row, carry * 2), state["sum"], x)
    return lax.cond(x.sum() > 0, lambda y: y.sort(), lambda y: -y, total), rows[::2, 1:3].astype(int)


def convolution(x):
    x = lax.conv_general_dilated(x[None, None], np.ones((2, 1, 3, 3), "float32"), (1, 1), "SAME")
    return tnp.where(x > 0, x, tnp.exp(x) - 1)[0, :, tnp.array([0, 2, 1])]


def any_size(key, x):
    first, second = random_numbers.split(key)
    return first, tnp.concatenate([x, x[::2]]) @ x.T / x.shape[0], random_numbers.uniform(second, x.shape[:1])


def artifacts_of_any_size():
    x = export.symbolic_args_specs(np.ones((5, 6), "float32"), "2*n + 1, m", constraints=("m >= 2", "n >= 1"))
    return any_size, random_numbers.key(0), x


@pytest.fixture(scope="module", params=[0, 1, 2, 3], ids=["layer", "loop", "convolution", "any size"])
def artifact(request):
    x = np.ones((5, 6), "float32")
    function, *args = [(layer, x), (loop, {"sum": x[0]}, x), (convolution, x), artifacts_of_any_size()][request.param]
    return pack(sections_of(function, tuple(args), {}))


@pytest.fixture(scope="module")
def sized():
    function, *args = artifacts_of_any_size()
    return pack(sections_of(function, tuple(args), {}))


def mutants(artifact: bytes, count: int, seed: int):
    """Files that are no longer the one that was written."""
    draw = random.Random(seed)
    other = pack(sections_of(lambda x: tnp.sin(x) * 2, (np.ones((5, 6), "float32"),), {}))
    for _ in range(count):
        kind, changed = draw.randrange(5), bytearray(artifact)
        place = draw.randrange(len(changed))
        if kind == 0:
            changed[place] ^= 1 << draw.randrange(8)
        elif kind == 1:
            changed = changed[:place]
        elif kind == 2:
            changed[place:place] = draw.randbytes(draw.randint(1, 9))
        elif kind == 3:
            length = draw.randint(1, 40)
            changed[place : place + length] = draw.randbytes(length)
        else:
            changed = changed[:place] + other[min(place, len(other)) :]
        if bytes(changed) not in (artifact, other):
            yield bytes(changed)


def sealed(artifact: bytes, count: int, seed: int):
    """Files whose checksums are right, and whose descriptions were altered on purpose."""
    draw = random.Random(seed)
    sections = {name: bytes(part) for name, part in unpack(artifact).items()}
    for _ in range(count):
        if draw.randrange(3):
            description = json.loads(sections["program"])
            parts = list(inner_parts(description))
            where, key = draw.choice(parts)
            other, other_key = draw.choice(parts)
            values = [0, -1, 3, 10**30, "x", None, [], {}, True, {"float": "nan"}, other[other_key], 1 << 40]
            where[key] = json.loads(json.dumps(draw.choice(values)))
            text = json.dumps(description).encode()
        else:
            text = bytearray(sections["program"])
            text[draw.randrange(len(text))] = draw.choice(b'0123456789[]{}",:-abc')
        yield pack({**sections, "program": bytes(text)})


def inner_parts(value):
    """All places within a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from inner_parts(item)


def check_refused(artifact: bytes, count: int, seed: int) -> None:
    for changed in mutants(artifact, count, seed):
        with pytest.raises(ArtifactError) as caught:
            runtime.load(changed)
        assert str(caught.value)


def check_harmless(artifact: bytes, count: int, seed: int) -> None:
    """Each is refused, or is another program, of the types that it states."""
    refused, memory = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for changed in sealed(artifact, count, seed):
        try:
            SavedProgram(unpack(changed), DEFAULT, get_backend("numpy"))
        except ArtifactError as error:
            refused += 1
            assert str(error)
    assert refused > count / 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 200_000  # kilobytes


def test_altered_files_are_refused(artifact):
    check_refused(artifact, 300, 0)


def test_altered_descriptions_are_refused_or_programs(artifact):
    check_harmless(artifact, 60, 0)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 5))
def test_ten_thousand_altered_files_are_refused(artifact, seed):
    check_refused(artifact, 850, seed)
    check_harmless(artifact, 250, seed)


@pytest.mark.parametrize("length", [0, 1, 31, 32, 71, 100, -1])
def test_a_file_that_was_cut_says_so(artifact, length):
    with pytest.raises(ArtifactError, match=r"header alone takes|bytes, its header states"):
        runtime.load(artifact[:length])


def test_a_header_that_claims_gigabytes(tmp_path, artifact):
    claims = bytearray(artifact[:200])
    struct.pack_into("<Q", claims, 16, 8 << 30)
    (tmp_path / "it.tgr").write_bytes(claims)
    with pytest.raises(ArtifactError, match=r"it has 200 bytes, its header states 8589934592"):
        runtime.load(tmp_path / "it.tgr")
    claims = bytearray(artifact)  # a section, and a table that is sealed
    struct.pack_into("<Q", claims, HEADER_BYTES + 24, 8 << 30)
    count = struct.unpack_from("<I", claims, 12)[0]
    rows = claims[HEADER_BYTES : HEADER_BYTES + 40 * count]
    struct.pack_into("<I", claims, 24, zlib.crc32(bytes(claims[:24]) + bytes(rows)))
    with pytest.raises(ArtifactError, match="is not where it should be"):
        runtime.load(bytes(claims))


def changed_description(artifact: bytes, change) -> bytes:
    sections = {name: bytes(part) for name, part in unpack(artifact).items()}
    description = json.loads(sections["program"])
    change(description)
    return pack({**sections, "program": json.dumps(description).encode()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format=3), "written in format 3; this distribution reads formats 1 to 2"),
        (
            lambda d: d["requirements"].append(["quantum", "acme-quantum", "1.2"]),
            "acme-quantum 1.2: not installed",
        ),
        (lambda d: d["requirements"][0].__setitem__(0, "element\n"), r"no family of primitives is called 'element\\n'"),
        (lambda d: d["primitives"].__setitem__(0, " wise.sin"), "no family of primitives is called ' wise'"),
        (lambda d: d["requirements"][0].__setitem__(1, "acme"), r"of acme 0.1.0: here it belongs to tangrad-\S+ 0.1.0"),
        (lambda d: d["requirements"][0].__setitem__(2, "0.2.0"), r"of tangrad-\S+ 0.2.0: 0.1.0 is installed"),
        (lambda d: d["primitives"].__setitem__(0, "elementwise.sinus"), "'elementwise' has no primitive 'sinus'"),
        (lambda d: d["primitives"].__setitem__(0, "callbacks.io_callback"), "side effects|does not take"),
        (lambda d: d["types"].append(["float32", [3], False]), "the dtype of a type is 'float32' of type str"),
        (lambda d: d["types"].append([{"dtype": "O"}, [3], False]), "unknown dtype 'O'"),
        (lambda d: d["types"].append([{"dtype": "float32"}, [1 << 50], False]), "limit value_bytes is 4294967296"),
        (lambda d: d["types"].append([{"saved": ["", []]}, [], False]), "type '', which no installed"),
        (
            lambda d: d["types"].append([{"saved": ["os.system", "ls"]}, [], False]),
            "type 'os.system', which no",
        ),
        (lambda d: d["types"].insert(0, [{"array": 0}, [3], False]), "constant 0; there are 0 before it"),
        (lambda d: d["types"].insert(0, [{"aval": 0}, [3], False]), "type 0; there are 0 before it"),
        (lambda d: d["constants"].append([0, 0, 1 << 40]), "outside of the data"),
        (lambda d: d["programs"][-1][2][0].__setitem__(1, [10**6]), "refers to variable 1000000"),
        (lambda d: d.update(arguments=None), "their structure and names are of another number"),
        (lambda d: d.update(programs=[]), "refers to program -1"),
    ],
)
def test_descriptions_that_make_no_sense(artifact, change, message):
    with pytest.raises(ArtifactError, match=message):
        runtime.load(changed_description(artifact, change))


def test_a_program_that_names_a_distribution_which_has_joined_another(artifact):
    def rename(description):
        for requirement in description["requirements"]:
            requirement[1] = {"tangrad-lax": "tangrad-linalg"}.get(requirement[1], requirement[1])

    changed = changed_description(artifact, rename)
    assert runtime.load(changed).requirements != runtime.load(artifact).requirements
    absent = changed_description(artifact, lambda d: d["requirements"].append(["quantum", "tangrad-fft", "0.1.0"]))
    with pytest.raises(ArtifactError, match=r"of tangrad-numpy 0.1.0: not installed; pip install tangrad-numpy"):
        runtime.load(absent)


LONG_SUM = " + ".join([f"a{number}" for number in range(100)]) + " >= 1"


def with_size(size):
    """Change the first size among the parameters of equations."""

    def change(description):
        for where, key in inner_parts(description["programs"]):
            if key == "size":
                where[key] = size
                return
        raise AssertionError("no parameter is a size")

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_size({}), "expected a size or a constraint as text"),
        (with_size("z"), "depends on the sizes"),
        (with_size("(n"), "cannot be read"),
        (lambda d: d["types"].append([{"dtype": "int32"}, ["z*n"], False]), "do not determine z"),
        (lambda d: d.update(constraints=[LONG_SUM] * 9), "more than 4000 letters"),
        (lambda d: d.update(constraints=["n >= 1"] * 65), "at most 64 are read"),
        # What takes long to find out is given up, and the rest is read.
        (lambda d: d.update(constraints=["a//b >= m", *[LONG_SUM] * 5, "0 >= 1"]), "0 >= 1 can never hold"),
    ],
)
def test_sizes_that_make_no_sense(sized, change, message):
    with pytest.raises(ArtifactError, match=message):
        runtime.load(changed_description(sized, change))


def test_parameters_that_no_rule_takes(sized):
    def change(description):
        place = description["primitives"].index("dimensions.dimension_as_value")
        equations = [equation for program in description["programs"] for equation in program[2]]
        next(equation for equation in equations if equation[0] == place)[2]["dimension"] = []

    with pytest.raises(ArtifactError, match=r"cannot be compiled: .*dimension_as_value"):
        runtime.load(changed_description(sized, change))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(file_bytes=100), "the limit file_bytes is 100"),
        (Limits(program_bytes=100), "the limit program_bytes is 100"),
        (Limits(equations=1), "more equations than the limit, 1"),
        (Limits(value_bytes=15), "the limit value_bytes is 15"),
    ],
)
def test_limits(tmp_path, artifact, limits, message):
    (tmp_path / "it.tgr").write_bytes(artifact)
    with pytest.raises(ArtifactError, match=message):
        runtime.load(tmp_path / "it.tgr", limits)


def test_a_description_nested_too_deep_is_refused(artifact):
    sections = {name: bytes(part) for name, part in unpack(artifact).items()}
    with pytest.raises(ArtifactError, match="cannot be read"):
        runtime.load(pack({**sections, "program": b"[" * 200_000}))


NESTS = {
    "lists": ("[", "]"),
    "sets": ('{"set":[', "]}"),
    "saved values": ('{"saved":["x",[', "]]}"),
    "tuples": ('["tuple",', "]"),
    "dicts": ('["dict","a",', "]"),
    "objects": ('{"a":', "}"),
}


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("depth", [50, 120, 300, 900, 5000])
def test_what_is_nested_anywhere_is_refused(artifact, nest, depth):
    """Far less deep than Python's own reader of JSON goes."""
    sections = {name: bytes(part) for name, part in unpack(artifact).items()}
    count = len(list(inner_parts(json.loads(sections["program"]))))
    opening, closing = NESTS[nest]
    text = opening * depth + "0" + closing * depth
    for place in range(0, count, max(1, count // 12)):
        description = json.loads(sections["program"])
        where, key = list(inner_parts(description))[place]
        where[key] = "here"
        changed = json.dumps(description).replace('"here"', text).encode()
        with pytest.raises(ArtifactError):
            runtime.load(pack({**sections, "program": changed}))


def test_a_stack_that_is_used_up_is_no_other_error(artifact):
    def called_at(depth: int):
        return runtime.load(artifact) if depth == 0 else called_at(depth - 1)

    outcomes = set()
    for depth in range(0, sys.getrecursionlimit() - 20, 37):
        try:
            called_at(depth)
            outcomes.add("loaded")
        except ArtifactError as error:
            assert "the stack is used up" in str(error) or "cannot be compiled" in str(error)
        except RecursionError:
            assert depth > sys.getrecursionlimit() - 200  # before it was begun
    assert outcomes == {"loaded"}


def test_structures_that_could_not_be_read_are_not_written():
    deep = np.ones(2, "float32")
    for _ in range(98):
        deep = [deep]
    assert runtime.load(pack(sections_of(lambda x: x[0], (deep,), {})))(deep) is not None
    with pytest.raises(ArtifactError, match="nested deeper than the 100 nodes"):
        sections_of(lambda x: x[0], ([[deep]],), {})
    exported = export.export(tangrad.jit(lambda x: x[0][0]), platforms=["numpy"])
    with pytest.raises(ValueError, match="nested deeper than the 100 levels"):
        exported([deep]).serialize()
    assert export.deserialize(exported(deep).serialize()).in_tree == tangrad.tree.structure(((deep,), {}))


def test_sections_of_others_are_passed_over(artifact):
    sections = {name: bytes(part) for name, part in unpack(artifact).items()}
    program = runtime.load(pack({"stablehlo": b"module {}", **sections}))
    assert repr(program) == repr(runtime.load(artifact))
    with pytest.raises(ArtifactError, match=r"carries no program; it has the sections \['stablehlo'\]"):
        runtime.load(pack({"stablehlo": b"module {}"}))


def test_jitted_functions_and_others_make_the_same_file():
    x = np.ones((5, 6), "float32")
    assert pack(sections_of(tangrad.jit(layer), (x,), {})) == pack(sections_of(layer, (x,), {}))
