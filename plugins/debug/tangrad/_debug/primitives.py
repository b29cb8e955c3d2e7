"""The primitives that call Python functions.

Their parameter `callback` is a `HostCall`: the function, how it is called, and the axes that the call is mapped over.
Where nothing is traced they do not reach a backend: the function is called at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._debug.effects import debug_effects, io_effects
from tangrad._debug.evaluation import evaluate_callback, evaluate_debug
from tangrad.core import PrimitiveSet, ShapedArray

if TYPE_CHECKING:
    from tangrad._debug.calls import HostCall

callbacks = PrimitiveSet("callbacks", api=1)


@callbacks.primitive(name="pure_callback", multiple_results=True, weak_type="own", evaluate=evaluate_callback)
def pure_callback_p(
    *avals: ShapedArray, callback: HostCall, result_avals: tuple[ShapedArray, ...], vmap_method: str | None
) -> tuple[ShapedArray, ...]:
    """The results of a Python function without effects: it may be called more than once, or not at all."""
    return result_avals


@callbacks.primitive(
    name="io_callback", multiple_results=True, weak_type="own", effects=io_effects, evaluate=evaluate_callback
)
def io_callback_p(
    *avals: ShapedArray, callback: HostCall, result_avals: tuple[ShapedArray, ...], ordered: bool
) -> tuple[ShapedArray, ...]:
    """The results of a Python function with effects: it is called once."""
    return result_avals


@callbacks.primitive(name="debug_callback", multiple_results=True, effects=debug_effects, evaluate=evaluate_debug)
def debug_callback_p(
    *avals: ShapedArray, callback: HostCall, ordered: bool, partitioned: bool
) -> tuple[ShapedArray, ...]:
    """Nothing; a Python function sees the operands."""
    return ()


@callbacks.primitive(name="debug_print", multiple_results=True, effects=debug_effects, evaluate=evaluate_debug)
def debug_print_p(
    *avals: ShapedArray, fmt: str, callback: HostCall, ordered: bool, partitioned: bool
) -> tuple[ShapedArray, ...]:
    """Nothing; the operands are printed in the format `fmt`."""
    return ()
