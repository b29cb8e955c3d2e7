"""The rule kind: what each primitive does with random keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad._random.key_reuse.programs import use_of_program
from tangrad._random.key_reuse.uses import KeyUse
from tangrad._random.keys import is_key
from tangrad.core import ClosedJaxpr, Primitive, RuleKind, Transformation, trace_to_jaxpr

KeyRule = Callable[..., KeyUse]


def fixed(use: KeyUse) -> KeyRule:
    """A rule that says the same of all operands and parameters."""
    return lambda avals, **params: use


NOTHING, MAKES = fixed(KeyUse()), fixed(KeyUse(fresh=(0,)))
SPLITS, SAME = fixed(KeyUse(consumes={0: True}, fresh=(0,))), fixed(KeyUse(moved={0: (0, None)}))


def consumes(avals: Any, **_: object) -> KeyUse:
    """All keys that come in are used, and none goes out."""
    return KeyUse({position: True for position, aval in enumerate(avals) if is_key(aval)})


def _by_decomposition(primitive: Primitive) -> Any:
    decompose: Any = primitive.decompose
    if decompose is None:
        return None

    def rule(avals: Any, **params: Any) -> KeyUse:
        def flat(*values: Any) -> Any:
            outs = decompose(*values, **params)
            return outs if primitive.multiple_results else (outs,)

        jaxpr, consts = trace_to_jaxpr(flat, avals, primitive.name)
        return use_of_program(ClosedJaxpr(jaxpr, consts))

    return rule


key_reuse = RuleKind(
    "key_reuse",
    api=1,
    signature="(avals, **params) -> KeyUse",
    doc="which random keys a primitive uses, which of its results are new keys, and which are keys that it was given",
    derive=_by_decomposition,
    default=lambda primitive: consumes,
)
key_checking = Transformation(
    "key_checking", api=1, kinds=(key_reuse,), doc="looks for random keys that are used twice"
)
