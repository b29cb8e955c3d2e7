"""The compiled library and its functions, the rules that those of kernels take the place of, and the pass for rows."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from tangrad.core import ClosedJaxpr, HookContext, Primitive, RuleSet, decomposition_jaxpr, hookimpl, rule_table
from tangrad.core.settings import is_checking_values

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


def processors() -> int:
    """How many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


ENOUGH, ENOUGH_WITHOUT = 3, 8  # equations, with the library and without: shorter programs have nothing that would gain


class RowsPass:
    """The pass that makes one call of equations over the rows of large arrays (`row_programs`), where there is one.

    Without the library it makes loops over blocks of rows, of XLA's programs alone.
    """

    def __init__(self, has_kernels: bool) -> None:
        self._has_kernels = has_kernels

    @hookimpl(trylast=True)
    def tangrad_jaxpr_pass(self, closed_jaxpr: ClosedJaxpr, context: HookContext) -> ClosedJaxpr | None:
        """The program with these calls; None where it has none, and for programs whose values are checked.

        It comes after regions are made, and goes through each of them once.
        """
        backend = context.backend or ""
        if context.platform != "cpu" or backend not in (("numpy", "xla") if self._has_kernels else ("xla",)):
            return None
        if is_checking_values():
            return None
        try:
            from tangrad._kernels.row_programs import with_rows
        except ImportError:  # there are no composites
            return None
        return with_rows(closed_jaxpr, backend if self._has_kernels else "xla without kernels", processors())


vars(RowsPass.tangrad_jaxpr_pass)["least_equations"] = ENOUGH_WITHOUT if library() is None else ENOUGH
rows_pass = RowsPass(library() is not None)
