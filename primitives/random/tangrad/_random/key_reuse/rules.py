"""What the primitives of `random` and `lax` do with random keys; those of other distributions have files beside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tangrad._random.family import random
from tangrad._random.key_reuse.uses import (
    MAKES,
    NOTHING,
    SAME,
    SPLITS,
    KeyRule,
    KeyUse,
    consumes,
    fixed,
    of_branches,
    of_scan,
    of_while,
    places_of,
)
from tangrad.core import RuleSet, find_primitive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad.core import ShapedArray
    from tangrad.typing import Dimensions

# --- random numbers: whatever draws uses its key ---

_OWN = {
    "random_seed": MAKES,
    "random_wrap": MAKES,
    "random_fold_in": MAKES,
    "random_clone": MAKES,
    "random_split": SPLITS,
    "random_unwrap": NOTHING,
}
of_random: RuleSet[KeyRule] = RuleSet("key_reuse", api=1)
of_random.table({primitive: _OWN.get(name, consumes) for name, primitive in random.primitives.items()})


# --- structure ---


def _moved(arranged: Callable[..., object]) -> Callable[..., KeyUse]:
    """The result has keys of the first operand; `arranged(places, **params)` are their places, or a list of them."""

    def rule(avals: Sequence[ShapedArray], **params: object) -> KeyUse:
        places = places_of(avals[0])
        if places is None:
            return KeyUse(moved={0: (0, None)})
        found = arranged(places, **params)
        found = found if isinstance(found, list) else [found]
        return KeyUse(moved={position: (0, one) for position, one in enumerate(found)})

    return rule


def _broadcast(
    places: np.ndarray, *, shape: Dimensions, broadcast_dimensions: Sequence[int], **_: object
) -> np.ndarray | None:
    if not all([type(size) is int for size in shape]):
        return None
    spread = [1] * len(shape)
    for dimension, size in zip(broadcast_dimensions, places.shape, strict=True):
        spread[dimension] = size
    return np.broadcast_to(places.reshape(spread), shape)


def _reshaped(
    places: np.ndarray, *, new_sizes: tuple[int, ...], dimensions: Sequence[int] | None = None, **_: object
) -> np.ndarray:
    places = places if dimensions is None else places.transpose(dimensions)
    return places.reshape(new_sizes)


def _sliced(
    places: np.ndarray,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None,
    **_: object,
) -> np.ndarray:
    steps = strides or (1,) * len(start_indices)
    return places[tuple([slice(*one) for one in zip(start_indices, limit_indices, steps, strict=True)])]


def _split(places: np.ndarray, *, sizes: Sequence[int], axis: int, **_: object) -> list[np.ndarray]:
    return np.split(places, np.cumsum(sizes)[:-1], axis)


def _some(avals: object, **_: object) -> KeyUse:
    """Some of the keys, those that an index selects."""
    return KeyUse(some={0: 0})


def _joined(avals: Sequence[ShapedArray], **_: object) -> KeyUse:
    """The result has the keys of all operands, and takes their place."""
    return KeyUse(dict.fromkeys(range(len(avals)), True), (0,))


def _replaced(update: int) -> Callable[..., KeyUse]:
    """The first operand with other keys in some places."""
    return fixed(KeyUse(consumes={update: True}, moved={0: (0, None)}))


_RULES: dict[str, KeyRule] = {
    "structure.broadcast_in_dim": _moved(_broadcast),
    "structure.reshape": _moved(_reshaped),
    "structure.transpose": _moved(lambda places, *, permutation, **_: places.transpose(permutation)),
    "structure.squeeze": _moved(lambda places, *, dimensions, **_: np.squeeze(places, tuple(dimensions))),
    "structure.rev": _moved(lambda places, *, dimensions, **_: np.flip(places, tuple(dimensions))),
    "structure.slice": _moved(_sliced),
    "structure.split": _moved(_split),
    "structure.copy": SAME,
    "structure.stop_gradient": SAME,
    "structure.optimization_barrier": lambda avals, **_: KeyUse(moved={at: (at, None) for at in range(len(avals))}),
    "structure.concatenate": _joined,
    "structure.dynamic_slice": _some,
    "structure.dynamic_update_slice": _replaced(1),
    "indexing.gather": _some,
    "indexing.scatter": _replaced(2),
    "placement.device_put": SAME,
    "elementwise.eq": NOTHING,
    "elementwise.ne": NOTHING,
    "elementwise.select_n": _joined,
    "control_flow.cond": of_branches,
    "control_flow.scan": of_scan,
    "control_flow.while": of_while,
}


def _family(name: str) -> RuleSet[KeyRule]:
    found: RuleSet[KeyRule] = RuleSet("key_reuse", api=1)
    found.table({find_primitive(primitive): rule for primitive, rule in _RULES.items() if primitive.startswith(name)})
    return found


of_structure, of_indexing, of_placement = _family("structure."), _family("indexing."), _family("placement.")
of_elementwise, of_control_flow = _family("elementwise."), _family("control_flow.")
