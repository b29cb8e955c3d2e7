"""Files of exported programs: what is written is read; anything else is refused, and costs nothing."""

import json
import random
import tracemalloc
from hashlib import sha256

import pytest

import tangrad
import tangrad.numpy as np
from tangrad import export
from tangrad._export.writing import HEADER, MAGIC


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
