"""Looking for random keys that a function uses twice, without running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad._random.key_reuse.programs import use_of_program
from tangrad.core import ClosedJaxpr, api_boundary, array_leaves, as_operand, get_aval, returned_leaves, trace_to_jaxpr


@api_boundary
def check_key_reuse(fun: Callable[..., Any], /, *args: Any) -> None:
    """Raise KeyReuseError if a function uses a random key twice. It is traced, and not run.

    Args:
        fun: a function of trees of arrays.
        args: its arguments: arrays, or `ShapeDtypeStruct`s.

    Raises:
        KeyReuseError: with the operations that use the key, and their lines.

    >>> import tangrad
    >>> from tangrad import random
    >>> from tangrad.experimental.key_reuse import check_key_reuse
    >>> check_key_reuse(lambda key: random.normal(key) + random.uniform(key), random.key(0))
    Traceback (most recent call last):
        ...
    tangrad.errors.KeyReuseError: a random key of type key<fry>[] is used a second time, by random_uniform ...
    """
    leaves, structure = array_leaves(args, "check_key_reuse: argument args")
    avals = [get_aval(as_operand(leaf)) for leaf in leaves]

    def flat(*values: Any) -> list[Any]:
        return returned_leaves(fun(*structure.unflatten(values)), "check_key_reuse: the function")[0]

    jaxpr, consts = trace_to_jaxpr(flat, avals, getattr(fun, "__name__", type(fun).__name__))
    use_of_program(ClosedJaxpr(jaxpr, consts))
