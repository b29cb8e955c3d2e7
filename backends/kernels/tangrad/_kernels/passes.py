"""The pass that makes calls of kernels of many equations."""

from __future__ import annotations

from tangrad._kernels.library import library
from tangrad.core import ClosedJaxpr, HookContext, hookimpl
from tangrad.core.backends import processors
from tangrad.core.settings import is_checking_values

ENOUGH, ENOUGH_WITHOUT = 3, 8  # equations, with the library and without: shorter programs have nothing that would gain


class RowsPass:
    """The pass that makes one call of many equations on large arrays (`row_programs`, `matrix_programs`).

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
            from tangrad._kernels.matrix_programs import with_calls
        except ImportError:  # there are no composites
            return None
        return with_calls(closed_jaxpr, backend if self._has_kernels else "xla without kernels", processors())


vars(RowsPass.tangrad_jaxpr_pass)["least_equations"] = ENOUGH_WITHOUT if library() is None else ENOUGH
rows_pass = RowsPass(library() is not None)
