"""Policies: what a hook refuses by RefusedError reaches the caller as it is, on every backend, eager operations too."""

import pickle
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._core.kernel.applications import _asking
from tangrad._core.kernel.primitive import _watchers
from tangrad._core.kernel.rules import find_rule_kind
from tangrad.core import RefusedError, backend_names, composition, get_backend, hookimpl, register
from tangrad.core.tools import primitive_set
from tangrad.errors import BrokenPluginError
from tests.unit.plugin_site import Site

HAS_XLA = "xla" in backend_names()
BACKENDS = ["numpy", pytest.param("xla", marks=pytest.mark.skipif(not HAS_XLA, reason="there is no such backend"))]

# A package that keeps callbacks into Python out of production, as a user would install it.
NO_CALLBACKS = """
from tangrad.core import hookimpl
from tangrad.core import RefusedError

class CallbackRefused(RefusedError):
    pass

class Policy:
    @hookimpl
    def tangrad_before_apply(self, primitive, context):
        if primitive.name.endswith("callback"):
            raise CallbackRefused(f"{primitive} in {context.function_name}: no callbacks in production")

policy = Policy()
"""
TRIED = """
import tangrad, tangrad.numpy as np
from tangrad import debug, lax
from tangrad.core import RefusedError

x = np.arange(3.0)

def printed(x):
    debug.callback(print, x)
    return x * 2

def called(x):
    return tangrad.pure_callback(lambda v: v * 2, x, x)

tried = {
    "eager": printed, "jit": tangrad.jit(printed), "lower": tangrad.jit(printed).lower, "vmap": tangrad.vmap(printed),
    "grad": lambda x: tangrad.grad(lambda y: printed(y).sum())(x), "pure": called, "jit pure": tangrad.jit(called),
    "scan": lambda x: lax.scan(lambda c, y: (printed(c), y), 0.0, x),
    "cond": lambda x: lax.cond(True, printed, printed, x),
    "jit of cond": tangrad.jit(lambda x: lax.cond(x[0] > 0, printed, called, x)),
    "pmap": lambda x: tangrad.pmap(printed)(x[None]),
}
for name, function in tried.items():
    try:
        function(x)
    except RefusedError as error:
        assert type(error).__name__ == "CallbackRefused", error
        assert "no callbacks in production (refused by plugin acme-policy:tangrad.hooks:policy, 1.0)" in str(error)
    else:
        raise AssertionError(f"{name} was not refused")
with tangrad.disable_jit():
    try:
        tangrad.jit(printed)(x)
    except RefusedError:
        pass
    else:
        raise AssertionError("not refused without jit")
assert tangrad.jit(tangrad.grad(lambda x: (np.sin(x) * x + x[0]).sum()))(x).shape == (3,)  # all else goes on
print(len(tried), "refused")
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_installed_policy_keeps_callbacks_out(tmp_path: Path, backend: str) -> None:
    site = Site(tmp_path / "site")
    hooks = {"tangrad.hooks": {"policy": "acme_policy:policy"}}
    site.add("acme-policy", hooks, modules={"acme_policy.py": NO_CALLBACKS})
    done = site.run(TRIED, TANGRAD_BACKEND=backend)
    assert done.returncode == 0 and done.stdout == "11 refused\n", done.stdout + done.stderr
    free = site.run(TRIED, TANGRAD_BACKEND=backend, TANGRAD_DENY="acme-policy")
    assert "eager was not refused" in free.stderr


def refusing(*hooks: str) -> Any:
    def refuse() -> None:
        raise RefusedError("not here")

    return types.SimpleNamespace(**{hook: hookimpl(refuse, specname=hook) for hook in hooks})


# Hook -> what asks it.
ASKED: dict[str, Callable[[], Any]] = {
    "tangrad_jaxpr_pass": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_traced": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_lowered": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_compiled": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_cache_miss": lambda: tangrad.jit(lambda x: x + 1)(1.0),
    "tangrad_before_apply": lambda: np.arange(3.0) + 1,
    "tangrad_api": lambda: tangrad.jacfwd,
    "tangrad_primitives": lambda: primitive_set("elementwise"),
    "tangrad_rule_kind": lambda: find_rule_kind("jvp"),
    "tangrad_rules": lambda: tangrad.jvp(np.sin, (1.0,), (1.0,)),
    "tangrad_backend": lambda: get_backend("numpy"),
    "tangrad_setting": lambda: tangrad.config.no_such_setting,
    "tangrad_array_attribute": lambda: np.zeros(3).T,
    "tangrad_entry": lambda: composition().find("tangrad.samples", "elementwise"),
    "tangrad_commands": lambda: composition().manager.contributions("tangrad.commands", ""),
    "tangrad_names": lambda: composition().names("tangrad.api"),
}


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    assert _asking not in _watchers


@pytest.mark.parametrize("hook", list(ASKED))
def test_every_hook_may_refuse_and_is_not_set_aside(hook: str) -> None:
    np.sin(np.zeros(3))  # so that what creates an array is not what is refused
    with register(refusing(hook), group="hooks", name="guard") as handle:
        for _ in range(2):
            with pytest.raises(RefusedError, match=r"^not here \(refused by plugin \(by hand\):tangrad.hooks:guard\)"):
                ASKED[hook]()
        assert handle.plugins[0].status == "loaded"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_wrapper_refuses_a_composition(when: str) -> None:
    class Veto:
        @hookimpl(wrapper=True)
        def tangrad_rules(self, kind: str, family: str) -> Any:
            if when == "before" and kind == "jvp":
                raise RefusedError("no derivatives")
            contributions = yield
            if kind == "jvp":
                raise RefusedError("no derivatives")
            return contributions

    x = np.arange(3.0)
    with register(Veto(), group="hooks", name="veto"):
        for _ in range(2):
            with pytest.raises(
                RefusedError, match=r"no derivatives \(refused by plugin \(by hand\):tangrad.hooks:veto\)"
            ):
                tangrad.jvp(np.cos, (x,), (x,))
        assert np.sin(x).shape == (3,)
    assert tangrad.jvp(np.cos, (x,), (x,))[1].shape == (3,)


def test_a_policy_sees_operations_programs_and_the_programs_in_them() -> None:
    seen: list[tuple[str, bool]] = []

    class Watch:
        @hookimpl
        def tangrad_before_apply(self, primitive: Any, avals: Any, params: Any, context: Any) -> None:
            assert all(hasattr(aval, "shape") for aval in avals) and isinstance(params, dict)
            seen.append((primitive.name, bool(context.options.get("eager"))))

    x = np.arange(3.0)
    compiled = tangrad.jit(lambda x: lax.cond(x[0] > 0, np.cos, np.exp, x))
    with register(Watch(), group="hooks", name="watch"):
        assert float(np.sin(x)[0]) == 0.0
        assert ("sin", True) in seen
        compiled(x)
        assert {("cond", False), ("cos", False), ("exp", False)} <= set(seen)
        seen.clear()
        compiled(x)
        assert not any(name in ("cos", "exp") for name, _ in seen)  # a compiled program is not asked about again
        with tangrad.debug_nans(True):
            np.sin(x)
        assert ("sin", True) in seen
    count = len(seen)
    np.sin(x)
    assert len(seen) == count


def test_a_policy_that_fails_stops_the_operation_and_says_how_to_refuse() -> None:
    x = np.arange(3.0)
    bad = types.SimpleNamespace(tangrad_before_apply=hookimpl(lambda primitive: 1 / 0))
    words = "ZeroDivisionError.*raises tangrad[.]core[.]RefusedError.*TANGRAD_DENY"
    with register(bad, group="hooks", name="bad"), pytest.raises(BrokenPluginError, match=words):
        np.sin(x)


def test_a_refusal_keeps_its_plugin_when_it_is_pickled() -> None:
    refusal = RefusedError("no")
    assert str(refusal) == "no" and refusal.plugin is None
    refusal.plugin = "acme:tangrad.hooks:policy, 1.0"
    assert str(pickle.loads(pickle.dumps(refusal))) == "no (refused by plugin acme:tangrad.hooks:policy, 1.0)"
