"""The kernel, for those who extend Tangrad: everything a plugin needs is a name of this package.

What rules and backends must look like to a type checker is in `tangrad.core.protocols`; dtypes: `tangrad.core.dtypes`.
What one kind of author alone needs has a door of its own: `tangrad.core.arguments` (functions), `.backends`,
`.caches`, `.programs` (what compiles), `.settings`, `.tools`, `.transformations`.
Plugins take from the kernel only these names, those of `tangrad.dtypes`, `tangrad.errors`, `tangrad.tree`,
`tangrad.tree_util` and `tangrad.typing`; what changes in them follows the policy of the extension API.

Order of reading in `tangrad._core.kernel`: `aval`, `primitive`, `trace`, `jaxpr`, `staging`, `rules`, `compilation`;
then `tangrad._core.composition`.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from tangrad._core.composition.api import public_package as public_package
from tangrad._core.composition.doors import door as door
from tangrad._core.composition.hooks import HookContext as HookContext
from tangrad._core.composition.hooks import hookimpl as hookimpl
from tangrad._core.composition.registry import composition as composition
from tangrad._core.composition.registry import register as register
from tangrad._core.composition.versioning import deprecated_name as _deprecated_name
from tangrad._core.composition.versioning import moved_name as _moved_name
from tangrad._core.diagnostics.errors import RefusedError as RefusedError
from tangrad._core.diagnostics.public_boundaries import class_boundary as class_boundary
from tangrad._core.diagnostics.public_boundaries import without_boundary as without_boundary
from tangrad._core.diagnostics.source_info import copy_identity as copy_identity
from tangrad._core.diagnostics.source_info import current_source as current_source
from tangrad._core.diagnostics.tracebacks import calls_rules as calls_rules
from tangrad._core.dtypes import system as _dtypes
from tangrad._core.kernel import applications as _applications
from tangrad._core.kernel import nan_checks as _nan_checks
from tangrad._core.kernel import transfers as transfers
from tangrad._core.kernel.all_settings import config as config
from tangrad._core.kernel.array import Array as Array
from tangrad._core.kernel.array import Literal as Literal
from tangrad._core.kernel.array import literal as literal
from tangrad._core.kernel.aval import AbstractValue as AbstractValue
from tangrad._core.kernel.aval import ShapedArray as ShapedArray
from tangrad._core.kernel.aval import get_aval as get_aval
from tangrad._core.kernel.aval import is_array_value as is_array_value
from tangrad._core.kernel.aval import register_aval_handler as register_aval_handler
from tangrad._core.kernel.aval import typeof as typeof
from tangrad._core.kernel.backend import Backend as Backend
from tangrad._core.kernel.backend import Device as Device
from tangrad._core.kernel.backend import Executable as Executable
from tangrad._core.kernel.backend import as_array as as_array
from tangrad._core.kernel.backend import as_operand as as_operand
from tangrad._core.kernel.backend import backend_names as backend_names
from tangrad._core.kernel.backend import get_backend as get_backend
from tangrad._core.kernel.backend import put as put
from tangrad._core.kernel.dce import dce_jaxpr as dce_jaxpr
from tangrad._core.kernel.declarations import NotApplicable as NotApplicable
from tangrad._core.kernel.declarations import PrimitiveSet as PrimitiveSet
from tangrad._core.kernel.declarations import RuleKind as RuleKind
from tangrad._core.kernel.declarations import RuleSet as RuleSet
from tangrad._core.kernel.declarations import Transformation as Transformation
from tangrad._core.kernel.effects import NO_EFFECTS as NO_EFFECTS
from tangrad._core.kernel.effects import Effect as Effect
from tangrad._core.kernel.effects import NamedAxisEffect as NamedAxisEffect
from tangrad._core.kernel.effects import axes_of_effects as axes_of_effects
from tangrad._core.kernel.effects import keeps_alive as keeps_alive
from tangrad._core.kernel.jaxpr import ClosedJaxpr as ClosedJaxpr
from tangrad._core.kernel.jaxpr import DropVar as DropVar
from tangrad._core.kernel.jaxpr import Jaxpr as Jaxpr
from tangrad._core.kernel.jaxpr import JaxprEqn as JaxprEqn
from tangrad._core.kernel.jaxpr import Var as Var
from tangrad._core.kernel.jaxpr import closed_over_as_arguments as closed_over_as_arguments
from tangrad._core.kernel.jaxpr import equation_effects as equation_effects
from tangrad._core.kernel.jaxpr import eval_jaxpr as eval_jaxpr
from tangrad._core.kernel.jaxpr import jaxpr_as_function as jaxpr_as_function
from tangrad._core.kernel.primitive import EVAL_TRACE as EVAL_TRACE
from tangrad._core.kernel.primitive import Primitive as Primitive
from tangrad._core.kernel.rule_errors import DerivedRule as DerivedRule
from tangrad._core.kernel.rule_trace import RuleTrace as RuleTrace
from tangrad._core.kernel.rule_trace import RuleTracer as RuleTracer
from tangrad._core.kernel.rule_trace import run_traced as run_traced
from tangrad._core.kernel.rules import find_primitive as find_primitive
from tangrad._core.kernel.rules import rule_table as rule_table
from tangrad._core.kernel.sharding import Sharding as Sharding
from tangrad._core.kernel.staging import decomposed as decomposed
from tangrad._core.kernel.staging import decomposition_jaxpr as decomposition_jaxpr
from tangrad._core.kernel.staging import trace_to_closed_jaxpr as trace_to_closed_jaxpr
from tangrad._core.kernel.staging import trace_to_jaxpr as trace_to_jaxpr
from tangrad._core.kernel.trace import Trace as Trace
from tangrad._core.kernel.trace import Tracer as Tracer
from tangrad._core.kernel.trace import checked_operands as checked_operands
from tangrad._core.kernel.trace import concrete_or_error as concrete_or_error
from tangrad._core.kernel.trace import current_trace as current_trace
from tangrad._core.kernel.trace import is_concrete as is_concrete
from tangrad._core.settings.config import thread as thread
from tangrad._core.settings.threads import holding as holding

if TYPE_CHECKING:  # names whose modules are not needed before their first use: see _LATER
    from tangrad._core.diagnostics.tracebacks import api_boundary as api_boundary
    from tangrad._core.diagnostics.tracebacks import filter_traceback as filter_traceback
    from tangrad._core.diagnostics.tracebacks import own_boundary as own_boundary
    from tangrad._core.kernel import dlpack as dlpack
    from tangrad._core.kernel.leaves import array_leaves as array_leaves
    from tangrad._core.kernel.leaves import returned_leaves as returned_leaves

dtypes = _dtypes

# Name -> the module that it is in, or that it is. Imported by the first `from tangrad.core import` that names it: the
# one who imports then holds the object itself, so that no hot path comes through `__getattr__`.
_LATER = {
    "api_boundary": "tangrad._core.diagnostics.tracebacks",
    "array_leaves": "tangrad._core.kernel.leaves",
    "dlpack": "tangrad._core.kernel.dlpack",
    "filter_traceback": "tangrad._core.diagnostics.tracebacks",
    "own_boundary": "tangrad._core.diagnostics.tracebacks",
    "returned_leaves": "tangrad._core.kernel.leaves",
}


# The doors by subject, where some names are that were here in tangrad-core 0.1.
_SUBJECTS = ("arguments", "backends", "caches", "programs", "settings", "tools", "transformations")


def __getattr__(name: str) -> Any:
    path = _LATER.get(name)
    if path is None:
        return _former_name(name)
    module = _import_module(path)
    value = module if path.endswith(f".{name}") else getattr(module, name, None)
    if value is None:  # being imported further up: an AttributeError would be taken for one of this module
        raise ImportError(f"{path}.{name} is not there yet: {path} is being imported", name=path)
    globals()[name] = value
    return value


def _former_name(name: str) -> Any:
    """A door by subject, or, with a DeprecationWarning, a name that was in this one before it was divided."""
    if name in _SUBJECTS:
        return _import_module(f"{__name__}.{name}")
    if not name.startswith("_"):
        for subject in _SUBJECTS:
            module = _import_module(f"{__name__}.{subject}")
            if name in dir(module):
                return _moved_name(__name__, name, module)
    return _deprecated_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
