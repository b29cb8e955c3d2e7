"""Names and habits of other libraries: each error says what to write here, and what it says exists."""

import re

import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax, nn, random
from tangrad.composition.name_suggestions import for_array
from tangrad.composition.names_elsewhere import ATTRIBUTES, FUNCTIONS, LAYERS, LAYERS_ARE

X = tnp.arange(3.0)
SCOPE = {"tangrad": tangrad, "tnp": tnp, "lax": lax, "nn": nn, "random": random, "x": X}

SUGGESTED = [  # what was written, what the error suggests
    ("tnp.cat", "'tangrad.numpy.concatenate'"),
    ("tnp.random", "'tangrad.random'"),
    ("tnp.linalg.matmull", "'matmul'"),
    ("tnp.relu", "'tangrad.nn.relu'"),
    ("tnp.vmap", "'tangrad.vmap'"),
    ("tnp.Tensor", "'tangrad.numpy.array'"),
    ("tangrad.cond", "'tangrad.lax.cond'"),
    ("tangrad.scan", "'tangrad.lax.scan'"),
    ("lax.einsum", "'tangrad.numpy.einsum'"),
    ("nn.ReLU", "'relu'"),
    ("nn.Linear", "layers are in tangrad.example_libraries.stax"),
    ("nn.functional", "'tangrad.nn'"),
    ("random.randn", "'tangrad.random.normal(key, shape)'"),
    ("random.seed", "'tangrad.random.key(seed)'"),
    ("random.default_rng", "'tangrad.random.key(seed)'"),
    ("x.numpy", "'numpy.asarray(x)'"),
    ("x.detach", "'tangrad.lax.stop_gradient(x)'"),
    ("x.unsqueeze", "'tangrad.numpy.expand_dims(x, axis)'"),
    ("x.exp", "'tangrad.numpy.exp(x)'"),
    ("x.softmax", "'tangrad.nn.softmax(x)'"),
    ("x.exp_", "'x = tangrad.numpy.exp(x)'"),
    ("x.reshpae", "'reshape'"),
]


@pytest.mark.parametrize(("written", "suggested"), SUGGESTED)
def test_an_error_suggests(written: str, suggested: str) -> None:
    with pytest.raises(AttributeError) as raised:
        eval(written, SCOPE)
    assert suggested in str(raised.value)


REFUSED = [  # what was written, the error, a part of its text
    ("del x[0]", TypeError, "tangrad.numpy.delete(x, 0) returns a copy without that part"),
    ("x[0] = 1", TypeError, "x.at[0].set(value) returns a changed copy"),
    ("x.at[0] = 1", TypeError, "x = x.at[0].set(values)"),
    ("x.at[0, 1] += 1", TypeError, "x = x.at[(0, 1)].add(values)"),
    ("x.at[1] **= 2", TypeError, "x = x.at[1].power(values)"),
    ("del x.at[0]", TypeError, "tangrad.numpy.delete(x, 0)"),
    ("x.at(0)", TypeError, "x.at[0].set(values)"),
    ("x.at.set(1)", AttributeError, "x.at[...].set(...) about all of x"),
    ("x.at.nonsense", AttributeError, "it is indexed, as in x.at[index].set(values)"),
    ("x.at[0](1)", TypeError, "x.at[index].set(values)"),
    ("x.at[0].put(1)", AttributeError, "it has get, set, add"),
    ("random.normal((3,))", TypeError, "got (3,) of type tuple"),
    ("random.uniform(3)", TypeError, "tangrad.random.key(seed)"),
    ("random.bernoulli(0.5)", TypeError, "key, part = tangrad.random.split(key)"),
]


@pytest.mark.parametrize(("written", "error", "text"), REFUSED)
@pytest.mark.parametrize("transformed", [False, True], ids=["eager", "traced"])
def test_a_habit_of_other_libraries(written: str, error: type, text: str, transformed: bool) -> None:
    def program(x: tangrad.Array) -> tangrad.Array:
        exec(written, {**SCOPE, "x": x})
        return x.sum()

    with pytest.raises(error) as raised:
        (tangrad.grad(program) if transformed else program)(X)
    assert text in str(raised.value)
    assert X.tolist() == [0, 1, 2]


def rows() -> list[str]:
    return [*FUNCTIONS.values(), *ATTRIBUTES.values(), LAYERS_ARE]


@pytest.mark.parametrize("name", sorted({name for row in rows() for name in re.findall(r"tangrad(?:\.\w+)+", row)}))
def test_what_is_suggested_exists(name: str) -> None:
    found = tangrad
    for part in name.split(".")[1:]:
        found = getattr(found, part) if hasattr(found, part) else __import__(name, fromlist=["_"])


@pytest.mark.parametrize("row", sorted({row for row in ATTRIBUTES.values() if row.startswith("x")}))
def test_attributes_that_are_suggested_exist(row: str) -> None:
    for name in re.findall(r"\bx\.(?:at\[\w+\]\.)?(\w+)", row):
        assert hasattr(X, name) or hasattr(X.at[0], name), row


def test_no_row_is_about_what_exists() -> None:
    """A row whose name every module has would never be read."""
    assert not [name for name in ATTRIBUTES if hasattr(X, name)]
    assert not [name for name in {*FUNCTIONS, *LAYERS} if all(hasattr(module, name) for module in (tnp, lax, nn))]


def test_suggestions_for_attributes_follow_what_there_is() -> None:
    assert for_array("frobnicate", lambda: ["sum"]) == ""
    with (
        tangrad.core.register(lambda x: x, group="tangrad.array", name="frobnicated"),
        pytest.raises(AttributeError, match="did you mean 'frobnicated'"),
    ):
        X.frobnicate
    with pytest.raises(AttributeError, match=r"(?m)'frobnicate'$"):
        X.frobnicate
