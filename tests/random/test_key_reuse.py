"""`debug_key_reuse`: which programs use a random key twice. Where JAX is installed it says the same of each."""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tangrad
from tangrad.conformance import sweep
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, find_primitive, register, rule_table
from tangrad.errors import KeyReuseError
from tangrad.experimental.key_reuse import KeyUse, check_key_reuse

Case = Callable[[Any, Any, Any, Any], object]


def _chain(jax: Any, np: Any, lax: Any, random: Any) -> None:
    key = random.key(0)
    for _ in range(3):
        key, subkey = random.split(key)
        random.normal(subkey)


def _drawn_in_turn(random: Any) -> Any:
    def body(key: Any, _: Any) -> Any:
        key, subkey = random.split(key)
        return key, random.normal(subkey)

    return body


def _scanned(jax: Any, np: Any, lax: Any, random: Any) -> None:
    key, _ = lax.scan(_drawn_in_turn(random), random.key(0), None, length=3)
    random.normal(key)


def _scanned_then_old(jax: Any, np: Any, lax: Any, random: Any) -> None:
    key = random.key(0)
    lax.scan(_drawn_in_turn(random), key, None, length=3)
    random.normal(key)


def _two(first: str, second: str) -> Case:
    """Two uses of one key."""

    def program(jax: Any, np: Any, lax: Any, random: Any) -> None:
        key, names = random.key(0), {"jax": jax, "np": np, "lax": lax, "random": random}
        for use in (first, second):
            eval(use, {**names, "key": key})  # texts of this file alone

    return program


def _of_pair(body: str, jitted: bool = False) -> Case:
    """What is done with two keys, `k`."""
    program = f"(lambda k: {body})(random.split(key))"
    return _two(f"jax.jit(lambda key: {program})(key)" if jitted else program, "0")


NORMAL, UNIFORM = "random.normal(key)", "random.uniform(key)"
FINE: dict[str, Case] = {
    "once": _two(NORMAL, "0"),
    "a chain of splits": _chain,
    "two of an array": lambda jax, np, lax, random: [random.normal(key) for key in random.split(random.key(0))],
    "two of an array by index": _of_pair("[random.normal(k[0]), random.normal(k[1])]"),
    "two folds": _two("random.normal(random.fold_in(key, 1))", "random.normal(random.fold_in(key, 2))"),
    "a fold and a use": _two("random.normal(random.fold_in(key, 1))", NORMAL),
    "a clone": _two(NORMAL, "random.normal(random.clone(key))"),
    "printed, compared, looked at": _two("(str(key), key == key, random.key_data(key))", NORMAL),
    "in jit": _two("jax.jit(lambda key: [random.normal(one) for one in random.split(key)])(key)", "0"),
    "indices in jit": _of_pair("random.normal(k[0]) + random.normal(k[1])", jitted=True),
    "reshaped in jit": _two(
        "jax.jit(lambda key: (lambda k: random.normal(k[0, 0]) + random.normal(k[1, 0]))(random.split(key, (2, 2))))"
        "(key)",
        "0",
    ),
    "unused by jit": _two("jax.jit(lambda key: 1.0)(key)", NORMAL),
    "a new key of jit": _two("random.normal(jax.jit(lambda key: random.split(key)[0])(key))", "0"),
    "constants of jit": _two("jax.jit(lambda: random.normal(random.key(0)) + random.normal(random.key(0)))()", "0"),
    "a carried key": _scanned,
    "keys of a scan": _two("lax.scan(lambda c, k: (c, random.normal(k)), 0.0, random.split(key, 3))", "0"),
    "folds of a loop": _two("lax.fori_loop(0, 3, lambda i, c: c + random.uniform(random.fold_in(key, i)), 0.0)", "0"),
    "no branch": _two("lax.cond(True, lambda k: 0.0, lambda k: 1.0, key)", NORMAL),
    "a key of each branch": _two(
        "random.normal(lax.cond(True, lambda k: random.split(k)[0], lambda k: random.split(k)[1], key))", "0"
    ),
    "mapped": _two("jax.vmap(random.normal)(random.split(key, 3))", "0"),
    "a gradient": _two("jax.grad(lambda x: x * random.normal(key))(1.0)", "0"),
    "a gradient in jit": _two("jax.jit(jax.grad(lambda x, k: x * random.normal(k)))(1.0, key)", "0"),
    "recomputed for a gradient": _two(
        "jax.jit(jax.grad(jax.checkpoint(lambda x, k: np.sin(x * random.normal(k)))))(1.0, key)", "0"
    ),
    "words": lambda jax, np, lax, random: [random.normal(key) for key in [random.PRNGKey(0)] * 2],
}
TWICE: dict[str, Case] = {
    "drawn twice": _two(NORMAL, UNIFORM),
    "split after a use": _two(NORMAL, "random.split(key)"),
    "used after a split": _two("random.split(key)", NORMAL),
    "one of an array twice": _of_pair("[random.normal(k[0]), random.normal(k[0])]"),
    "within jit": _two("jax.jit(lambda key: random.normal(key) + random.uniform(key))(key)", "0"),
    "calls of jit": _two("jax.jit(random.normal)(key)", "jax.jit(random.uniform)(key)"),
    "an index twice in jit": _of_pair("random.normal(k[0]) + random.normal(k[0])", jitted=True),
    "one and all in jit": _of_pair("random.normal(k[0]) + jax.vmap(random.normal)(k)", jitted=True),
    "closed over and used": _two("jax.jit(lambda: random.normal(key))()", NORMAL),
    "closed over twice": _two("jax.jit(lambda: random.normal(key))()", "jax.jit(lambda: random.uniform(key))()"),
    "returned by jit": _two("random.normal(jax.jit(lambda k: (k, random.normal(k)))(key)[0])", "0"),
    "nested jit": _two("jax.jit(lambda k: jax.jit(random.normal)(k) + jax.jit(random.uniform)(k))(key)", "0"),
    "a constant of a scan": _two("lax.scan(lambda c, _: (c + random.normal(key), None), 0.0, None, length=3)", "0"),
    "a carry that stays": _two("lax.scan(lambda k, _: (k, random.normal(k)), key, None, length=3)", "0"),
    "a carried key afterwards": _scanned_then_old,
    "a loop": _two(
        "lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + random.uniform(c[0])), (key, 0.0))", "0"
    ),
    "a condition": _two("lax.while_loop(lambda c: random.uniform(c[0]) < 0.5, lambda c: c, (key, 0.0))", "0"),
    "a branch": _two("lax.cond(True, lambda k: 0.0, random.uniform, key)", NORMAL),
    "mapped twice": _of_pair("[jax.vmap(f)(k) for f in (random.normal, random.uniform)]"),
    "gradients": _two(
        "jax.grad(lambda x: x * random.normal(key))(1.0)", "jax.grad(lambda x: x * random.normal(key))(1.0)"
    ),
    "checkpointed": _two("jax.checkpoint(random.normal)(key)", NORMAL),
    "constants of jit": _two("jax.jit(lambda: (lambda k: random.normal(k) + random.normal(k))(random.key(0)))()", "0"),
    "shuffled and chosen": _two("random.permutation(key, 3)", "random.choice(key, 3)"),
}
ALL = [(name, case, False) for name, case in FINE.items()] + [(name, case, True) for name, case in TWICE.items()]


@pytest.fixture(params=["numpy", "xla"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with tangrad.use_backend(request.param):
        yield request.param


def ours(case: Case) -> None:
    with tangrad.debug_key_reuse(True):
        case(tangrad, tangrad.numpy, tangrad.lax, tangrad.random)


@pytest.mark.parametrize(("name", "case", "twice"), ALL, ids=[f"{name}-{twice}" for name, _, twice in ALL])
def test_programs(name: str, case: Case, twice: bool, backend: str) -> None:
    if twice:
        with pytest.raises(KeyReuseError, match="random key"):
            ours(case)
    else:
        ours(case)
    case(tangrad, tangrad.numpy, tangrad.lax, tangrad.random)  # nothing is looked at any more


@pytest.mark.parametrize(("name", "case", "twice"), ALL, ids=[f"{name}-{twice}" for name, _, twice in ALL])
def test_jax_says_the_same(name: str, case: Case, twice: bool) -> None:
    jax = pytest.importorskip("jax")
    modules = jax, *[importlib.import_module(f"jax.{module}") for module in ("numpy", "lax", "random")]
    with jax.debug_key_reuse(True):
        if twice:
            with pytest.raises(jax.errors.KeyReuseError):
                case(*modules)
        else:
            case(*modules)


def test_messages_name_both_uses() -> None:
    key = tangrad.random.key(0)
    with tangrad.debug_key_reuse(True), pytest.raises(KeyReuseError) as caught:
        tangrad.random.normal(key)
        tangrad.random.split(key)
    text = str(caught.value)
    assert "random_split at " in text
    assert "used before by random_normal at " in text
    assert text.count("test_key_reuse.py") == 2
    with tangrad.debug_key_reuse(True), pytest.raises(KeyReuseError, match="the compiled function 'normal'"):
        tangrad.jit(tangrad.random.normal)(key)


def test_what_failed_used_nothing() -> None:
    key = tangrad.random.key(0)
    with tangrad.debug_key_reuse(True):
        with pytest.raises(ZeroDivisionError):
            tangrad.jit(lambda k: tangrad.random.normal(k) / (1 // 0))(key)
        tangrad.random.normal(key)


def test_keys_are_followed_one_by_one() -> None:
    random = tangrad.random
    with tangrad.debug_key_reuse(True):
        keys = random.split(random.key(0), 6)
        rows = keys.reshape(2, 3)
        random.normal(rows[0, 0])
        tangrad.vmap(random.normal)(rows[1])
        random.normal(tangrad.numpy.stack([keys[1], keys[2]])[0])
        with pytest.raises(KeyReuseError):
            random.normal(keys[0])
        with pytest.raises(KeyReuseError):
            random.normal(rows[1, 2])
        first, second = random.split(random.key(1))
        random.normal(tangrad.numpy.where(True, first, second))


def test_other_checks_at_the_same_time() -> None:
    key = tangrad.random.key(0)
    with tangrad.debug_key_reuse(True), tangrad.debug_nans(True):
        tangrad.random.normal(key)
        with pytest.raises(KeyReuseError):
            tangrad.random.normal(key)
        with pytest.raises(FloatingPointError):
            tangrad.numpy.log(-1.0)


def test_functions_that_are_not_run() -> None:
    random = tangrad.random
    check_key_reuse(lambda key: random.normal(key), random.key(0))
    with pytest.raises(KeyReuseError, match="random_uniform"):
        check_key_reuse(lambda key, x: random.normal(key) + x * random.uniform(key), random.key(0), 1.0)
    with pytest.raises(TypeError, match="check_key_reuse"):
        check_key_reuse(lambda key: key, "x")


def test_primitives_of_others() -> None:
    """Without a rule all keys are used; a rule says otherwise; a decomposition is looked into."""
    family = PrimitiveSet("kept", api=1)

    @family.primitive(name="keep", decompose=lambda keys: keys)
    def keep_p(keys: ShapedArray) -> ShapedArray:
        """The same keys."""
        return keys

    @family.primitive(name="spend")
    def spend_p(keys: ShapedArray) -> ShapedArray:
        """A number for each key."""
        return ShapedArray(keys.shape, "float32")

    rules: RuleSet[Any] = RuleSet("key_reuse", api=1)
    rules.table({keep_p: lambda avals: KeyUse({0: True}, (0,))})
    key = tangrad.random.key(0)
    with register(family):
        check_key_reuse(lambda key: [keep_p.bind(key), keep_p.bind(key)], key)
        check_key_reuse(lambda key: spend_p.bind(keep_p.bind(key)), key)
        with pytest.raises(KeyReuseError, match="spend"):
            check_key_reuse(lambda key: [spend_p.bind(key), spend_p.bind(key)], key)
        with register(rules), pytest.raises(KeyReuseError, match="keep"):
            check_key_reuse(lambda key: [keep_p.bind(key), keep_p.bind(key)], key)


def test_rules_that_are_wrong_are_found() -> None:
    reverse, split = find_primitive("structure.rev"), find_primitive("random.random_split")
    assert not sweep([reverse, split], ["key_reuse"]).failures
    wrong: RuleSet[Any] = RuleSet("key_reuse", api=1, override=True)
    wrong.table({reverse: lambda avals, **_: KeyUse(moved={0: (0, np.arange(avals[0].size).reshape(avals[0].shape))})})
    draws: RuleSet[Any] = RuleSet("key_reuse", api=1, override=True)
    draws.table({split: lambda avals, **_: KeyUse(consumes={1: True}, fresh=(0, 2))})
    with register(wrong), register(draws):
        found = sweep([reverse, split], ["key_reuse"], everywhere=0).failures
    assert {cell.primitive for cell in found} == {"structure.rev", "random.random_split"}


def test_every_random_primitive_has_a_rule() -> None:
    table = rule_table("key_reuse")
    for name in find_primitive("random.random_bits") and tangrad._random.family.random.primitives:
        assert table.cell(find_primitive(f"random.{name}")).status == "rule"
