"""The kernel, for those who extend Tangrad: everything a plugin needs is a name of this package.

What rules and backends must look like to a type checker is in `tangrad.core.protocols`; dtypes: `tangrad.core.dtypes`.
Plugins take from the kernel only these names, those of `tangrad.dtypes`, `tangrad.errors`, `tangrad.tree`,
`tangrad.tree_util` and `tangrad.typing`; what changes in them follows the policy of the extension API.

Order of reading in `tangrad._core.kernel`: `aval`, `primitive`, `trace`, `jaxpr`, `staging`, `rules`, `compilation`;
then `tangrad._core.composition`.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from tangrad._core.composition.api import public_package as public_package
from tangrad._core.composition.discovery import cache_folder as cache_folder
from tangrad._core.composition.doors import door as door
from tangrad._core.composition.files import read_own_file as read_own_file
from tangrad._core.composition.hooks import HookContext as HookContext
from tangrad._core.composition.hooks import hookimpl as hookimpl
from tangrad._core.composition.hooks import hooks as hooks
from tangrad._core.composition.missing_names import Explanations as Explanations
from tangrad._core.composition.missing_names import how_to_install as how_to_install
from tangrad._core.composition.record import is_record as is_record
from tangrad._core.composition.registry import Composition as Composition
from tangrad._core.composition.registry import Plugin as Plugin
from tangrad._core.composition.registry import composition as composition
from tangrad._core.composition.registry import configure_plugins as configure_plugins
from tangrad._core.composition.registry import plugin_manager as plugin_manager
from tangrad._core.composition.registry import register as register
from tangrad._core.composition.versioning import EXTENSION_API as EXTENSION_API
from tangrad._core.composition.versioning import deprecated_name as _deprecated_name
from tangrad._core.diagnostics.errors import RefusedError as RefusedError
from tangrad._core.diagnostics.errors import mixed_backends as mixed_backends
from tangrad._core.diagnostics.logs import Logger as Logger
from tangrad._core.diagnostics.public_boundaries import class_boundary as class_boundary
from tangrad._core.diagnostics.public_boundaries import method_boundaries as method_boundaries
from tangrad._core.diagnostics.public_boundaries import without_boundary as without_boundary
from tangrad._core.diagnostics.rule_sites import calls_rules as calls_rules
from tangrad._core.diagnostics.source_info import NO_NAMES as NO_NAMES
from tangrad._core.diagnostics.source_info import SourceInfo as SourceInfo
from tangrad._core.diagnostics.source_info import copy_identity as copy_identity
from tangrad._core.diagnostics.source_info import current_source as current_source
from tangrad._core.diagnostics.source_info import is_internal as is_internal
from tangrad._core.dtypes import system as _dtypes
from tangrad._core.dtypes.conversions import can_represent_array as can_represent_array
from tangrad._core.dtypes.conversions import represented_array as represented_array
from tangrad._core.dtypes.sizes import SymbolicDimension as SymbolicDimension
from tangrad._core.dtypes.sizes import as_size as as_size
from tangrad._core.dtypes.sizes import first_symbolic as first_symbolic
from tangrad._core.dtypes.sizes import is_symbolic as is_symbolic
from tangrad._core.dtypes.sizes import max_size as max_size
from tangrad._core.dtypes.sizes import min_size as min_size
from tangrad._core.dtypes.sizes import product as product
from tangrad._core.kernel import transfers as transfers
from tangrad._core.kernel.all_settings import ForeignNames as ForeignNames
from tangrad._core.kernel.all_settings import config as config
from tangrad._core.kernel.all_settings import usable_settings as usable_settings
from tangrad._core.kernel.array import Array as Array
from tangrad._core.kernel.array import ArrayOperators as ArrayOperators
from tangrad._core.kernel.array import Literal as Literal
from tangrad._core.kernel.array import literal as literal
from tangrad._core.kernel.aval import AbstractToken as AbstractToken
from tangrad._core.kernel.aval import AbstractValue as AbstractValue
from tangrad._core.kernel.aval import ShapedArray as ShapedArray
from tangrad._core.kernel.aval import canonicalize_shape as canonicalize_shape
from tangrad._core.kernel.aval import get_aval as get_aval
from tangrad._core.kernel.aval import is_array_value as is_array_value
from tangrad._core.kernel.aval import register_aval_handler as register_aval_handler
from tangrad._core.kernel.aval import typeof as typeof
from tangrad._core.kernel.backend import Backend as Backend
from tangrad._core.kernel.backend import CompileOptions as CompileOptions
from tangrad._core.kernel.backend import Device as Device
from tangrad._core.kernel.backend import Executable as Executable
from tangrad._core.kernel.backend import as_array as as_array
from tangrad._core.kernel.backend import as_operand as as_operand
from tangrad._core.kernel.backend import backend_names as backend_names
from tangrad._core.kernel.backend import chosen_device as chosen_device
from tangrad._core.kernel.backend import get_backend as get_backend
from tangrad._core.kernel.backend import is_operand as is_operand
from tangrad._core.kernel.backend import loaded_backends as loaded_backends
from tangrad._core.kernel.backend import put as put
from tangrad._core.kernel.compilation import LoweredProgram as LoweredProgram
from tangrad._core.kernel.compilation import Program as Program
from tangrad._core.kernel.compilation import backend_of as backend_of
from tangrad._core.kernel.compilation import compile_program as compile_program
from tangrad._core.kernel.compilation import lower_program as lower_program
from tangrad._core.kernel.compilation import one_at_a_time as one_at_a_time
from tangrad._core.kernel.compilation import program_for as program_for
from tangrad._core.kernel.compilation import report_hit as report_hit
from tangrad._core.kernel.compilation import to_arrays as to_arrays
from tangrad._core.kernel.compilation import usable_donations as usable_donations
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
from tangrad._core.kernel.jaxpr import carried_program as carried_program
from tangrad._core.kernel.jaxpr import closed_over_as_arguments as closed_over_as_arguments
from tangrad._core.kernel.jaxpr import equation_effects as equation_effects
from tangrad._core.kernel.jaxpr import eval_jaxpr as eval_jaxpr
from tangrad._core.kernel.jaxpr import jaxpr_as_function as jaxpr_as_function
from tangrad._core.kernel.jaxpr import one_equation as one_equation
from tangrad._core.kernel.jaxpr import sub_jaxprs as sub_jaxprs
from tangrad._core.kernel.jaxpr import weak_key as weak_key
from tangrad._core.kernel.jaxpr_check import check_jaxpr as check_jaxpr
from tangrad._core.kernel.keys import FixedParams as FixedParams
from tangrad._core.kernel.keys import exact_equality as exact_equality
from tangrad._core.kernel.keys import params_key as params_key
from tangrad._core.kernel.keys import typed_key as typed_key
from tangrad._core.kernel.keys import value_key as value_key
from tangrad._core.kernel.leaks import check_no_leak as check_no_leak
from tangrad._core.kernel.nan_checks import check_results as check_results
from tangrad._core.kernel.nan_checks import without_value_checks as without_value_checks
from tangrad._core.kernel.primitive import EVAL_TRACE as EVAL_TRACE
from tangrad._core.kernel.primitive import Primitive as Primitive
from tangrad._core.kernel.primitive import evaluate as evaluate
from tangrad._core.kernel.primitive import forget_direct_calls as forget_direct_calls
from tangrad._core.kernel.primitive import join_named_shapes as join_named_shapes
from tangrad._core.kernel.primitive import kept_elsewhere as kept_elsewhere
from tangrad._core.kernel.rule_calls import explain as _explain_errors_of_rules
from tangrad._core.kernel.rule_errors import DerivedRule as DerivedRule
from tangrad._core.kernel.rule_trace import RuleTrace as RuleTrace
from tangrad._core.kernel.rule_trace import RuleTracer as RuleTracer
from tangrad._core.kernel.rule_trace import call_under as call_under
from tangrad._core.kernel.rule_trace import run_traced as run_traced
from tangrad._core.kernel.rules import Cell as Cell
from tangrad._core.kernel.rules import RuleTable as RuleTable
from tangrad._core.kernel.rules import families as families
from tangrad._core.kernel.rules import find_primitive as find_primitive
from tangrad._core.kernel.rules import primitive_set as primitive_set
from tangrad._core.kernel.rules import rule_kinds as rule_kinds
from tangrad._core.kernel.rules import rule_table as rule_table
from tangrad._core.kernel.sharding import Parts as Parts
from tangrad._core.kernel.sharding import Sharding as Sharding
from tangrad._core.kernel.sharding import agreed_devices as agreed_devices
from tangrad._core.kernel.sharding import as_sharding as as_sharding
from tangrad._core.kernel.sharding import check_argument as check_argument
from tangrad._core.kernel.sharding import is_addressable as is_addressable
from tangrad._core.kernel.sharding import names_memories as names_memories
from tangrad._core.kernel.sharding import program_shardings as program_shardings
from tangrad._core.kernel.sharding import sharding_of_result as sharding_of_result
from tangrad._core.kernel.sharding import stated_claims as stated_claims
from tangrad._core.kernel.sharding import types_by_shardings as types_by_shardings
from tangrad._core.kernel.sharding import with_shardings_of_types as with_shardings_of_types
from tangrad._core.kernel.staging import StagingTrace as StagingTrace
from tangrad._core.kernel.staging import StagingTracer as StagingTracer
from tangrad._core.kernel.staging import decomposed as decomposed
from tangrad._core.kernel.staging import decomposition_jaxpr as decomposition_jaxpr
from tangrad._core.kernel.staging import trace_to_closed_jaxpr as trace_to_closed_jaxpr
from tangrad._core.kernel.staging import trace_to_jaxpr as trace_to_jaxpr
from tangrad._core.kernel.trace import Trace as Trace
from tangrad._core.kernel.trace import Tracer as Tracer
from tangrad._core.kernel.trace import checked_operands as checked_operands
from tangrad._core.kernel.trace import close_trace as close_trace
from tangrad._core.kernel.trace import concrete_or_error as concrete_or_error
from tangrad._core.kernel.trace import current_trace as current_trace
from tangrad._core.kernel.trace import device_beside as device_beside
from tangrad._core.kernel.trace import find_backend as find_backend
from tangrad._core.kernel.trace import is_concrete as is_concrete
from tangrad._core.kernel.trace import set_current_trace as set_current_trace
from tangrad._core.settings.caches import JaxprCache as JaxprCache
from tangrad._core.settings.caches import RecentlyUsed as RecentlyUsed
from tangrad._core.settings.caches import clear_caches as clear_caches
from tangrad._core.settings.caches import register_cache as register_cache
from tangrad._core.settings.config import SETTINGS as SETTINGS
from tangrad._core.settings.config import Setting as Setting
from tangrad._core.settings.config import cache_context as cache_context
from tangrad._core.settings.config import check_optional_positive as check_optional_positive
from tangrad._core.settings.config import check_optional_text as check_optional_text
from tangrad._core.settings.config import define_choice as define_choice
from tangrad._core.settings.config import define_flag as define_flag
from tangrad._core.settings.config import define_setting as define_setting
from tangrad._core.settings.config import is_checking_values as is_checking_values
from tangrad._core.settings.config import one_of as one_of
from tangrad._core.settings.config import optional_text as optional_text
from tangrad._core.settings.config import shared as shared
from tangrad._core.settings.config import thread as thread
from tangrad._core.settings.forks import after_fork as after_fork
from tangrad._core.settings.forks import free_after_fork as free_after_fork
from tangrad._core.settings.thread_state import holding as holding

if TYPE_CHECKING:  # names whose modules are not needed before their first use: see _LATER
    from tangrad._core.diagnostics.tracebacks import api_boundary as api_boundary
    from tangrad._core.diagnostics.tracebacks import filter_traceback as filter_traceback
    from tangrad._core.diagnostics.tracebacks import own_boundary as own_boundary
    from tangrad._core.diagnostics.tracebacks import without_internal_frames as without_internal_frames
    from tangrad._core.kernel import dlpack as dlpack
    from tangrad._core.kernel.compile_time import computes_at_once as computes_at_once
    from tangrad._core.kernel.leaves import array_leaves as array_leaves
    from tangrad._core.kernel.leaves import returned_leaves as returned_leaves

dtypes = _dtypes

# Name -> the module that it is in, or that it is. Imported by the first `from tangrad.core import` that names it: the
# one who imports then holds the object itself, so that no hot path comes through `__getattr__`.
_LATER = {
    "api_boundary": "tangrad._core.diagnostics.tracebacks",
    "array_leaves": "tangrad._core.kernel.leaves",
    "computes_at_once": "tangrad._core.kernel.compile_time",
    "dlpack": "tangrad._core.kernel.dlpack",
    "filter_traceback": "tangrad._core.diagnostics.tracebacks",
    "own_boundary": "tangrad._core.diagnostics.tracebacks",
    "returned_leaves": "tangrad._core.kernel.leaves",
    "without_internal_frames": "tangrad._core.diagnostics.tracebacks",
}


def __getattr__(name: str) -> Any:
    path = _LATER.get(name)
    if path is None:
        return _deprecated_name(__name__, name)
    module = _import_module(path)
    value = module if path.endswith(f".{name}") else getattr(module, name, None)
    if value is None:  # being imported further up: an AttributeError would be taken for one of this module
        raise ImportError(f"{path}.{name} is not there yet: {path} is being imported", name=path)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
