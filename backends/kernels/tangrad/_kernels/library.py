"""The compiled library and its functions, and the rules that those of kernels take the place of."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from tangrad.core import Primitive, RuleSet, decomposition_jaxpr, rule_table

# Where the library is, for those who build it themselves: it goes before the one that the wheel has.
VARIABLE = "TANGRAD_KERNELS_LIBRARY"
FILE = {"win32": "tangrad_kernels.dll", "darwin": "libtangrad_kernels.dylib"}.get(sys.platform, "libtangrad_kernels.so")
_logger = logging.getLogger("tangrad.kernels")


@cache
def library() -> ctypes.CDLL | None:
    """The library as ctypes loads it; None where there is none, or it is not for this machine."""
    path = os.environ.get(VARIABLE) or str(Path(__file__).with_name(FILE))
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        _logger.info("there are no compiled kernels: %s", error)
        return None


def kernel(name: str) -> Callable[..., int]:
    """A kernel as a function of three addresses: its plan, and the lists of operands and of results."""
    function = getattr(library(), f"tangrad_{name}")
    function.argtypes, function.restype = [ctypes.c_void_p] * 3, ctypes.c_int
    return function


def handler(name: str) -> Callable[..., object]:
    """The function by which XLA calls a kernel."""
    return getattr(library(), f"tangrad_{name}_xla")


def threads() -> int:
    """How many threads the kernels have together."""
    found = library()
    return 1 if found is None else int(found.tangrad_threads())


def replacing(kind: str, rules: Mapping[Primitive, Callable[..., object]]) -> RuleSet:
    """The rules of a family in the place of those that there are: none where there is no library."""
    made: RuleSet = RuleSet(kind, api=1, override=True)
    if library() is not None:
        made.table(rules)
    return made


def replaced(kind: str, primitive: Primitive) -> Callable[..., Any]:
    """The rule that there would be for a primitive without this distribution."""
    for plugin in rule_table(kind).cell(primitive).overridden:
        return plugin.load().rules[primitive]
    parent = kind.rpartition(".")[0]
    return rule_table(parent)[primitive] if "." in parent else partial(_decomposed, primitive)


def _decomposed(primitive: Primitive, ctx: Any, *values: object, **params: object) -> object:
    """What a primitive is made of, where a backend has no rule of it."""
    return ctx.inline(decomposition_jaxpr(primitive, ctx.in_avals, params), *values)
