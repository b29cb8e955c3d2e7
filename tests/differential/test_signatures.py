"""Every call that JAX accepts is accepted: the signatures of all names that both have, and what differs on purpose."""

import inspect

import pytest

from tools.docs.differences import stated

from .signatures.calls import refused
from .signatures.names import differences

jax = pytest.importorskip("jax", reason="the reference is not installed")
tangrad = pytest.importorskip("tangrad")
pytestmark = pytest.mark.skipif(
    not jax.__version__.startswith("0.10."), reason="the table is of JAX 0.10, and another release is installed"
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # JAX warns of names that it is about to drop
def test_what_differs_is_stated_with_its_reason():
    found = differences(jax, tangrad)
    assert found == stated().keys(), (
        f"calls of jax that are not accepted, and not stated: {sorted(found - stated().keys())}; stated, and not so: "
        f"{sorted(stated().keys() - found)}: see tools/docs/differences.toml"
    )


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        (lambda x, y=1: 0, lambda x, y=1: 0, []),
        (lambda x, y=1: 0, lambda a, y=1: 0, ["x"]),
        (lambda x, /: 0, lambda a: 0, []),
        (lambda x: 0, lambda x, /: 0, ["x"]),
        (lambda x, y=1: 0, lambda x, *, y=1: 0, ["y by position"]),
        (lambda x, y=1, z=2: 0, lambda x, z=2, y=1: 0, ["y by position", "z by position"]),
        (lambda x, y=1: 0, lambda x, y: 0, ["y missing"]),
        (lambda x, y=1: 0, lambda x, y=2: 0, ["y="]),
        (lambda x, y=1: 0, lambda x, y=1.0: 0, []),
        (lambda x, y=True: 0, lambda x, y=1: 0, ["y="]),
        (lambda x: 0, lambda x, *, k: 0, ["k missing"]),
        (lambda x: 0, lambda x, y: 0, ["y missing"]),
        (lambda *xs: 0, lambda x: 0, ["*xs", "x missing"]),
        (lambda *xs, **names: 0, lambda *xs: 0, ["**names"]),
        (lambda x, *, k=1: 0, lambda *xs, **names: 0, []),
    ],
)
def test_what_counts_as_a_difference(theirs, ours, expected):
    found = list(refused(inspect.signature(theirs), inspect.signature(ours)))
    assert sorted(found) == sorted(expected)
