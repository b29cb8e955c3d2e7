"""The kernel, for those who extend Tangrad: everything a plugin needs is a name of this package.

What rules and backends must look like to a type checker is in `tangrad.core.protocols`; dtypes: `tangrad.core.dtypes`.
Plugins take from the kernel only these names, those of `tangrad.dtypes`, `tangrad.errors`, `tangrad.tree`,
`tangrad.tree_util` and `tangrad.typing`; what changes in them follows the policy of the extension API.

Order of reading: `aval`, `primitive`, `trace`, `jaxpr`, `staging`, `rules`, `compilation`; then `tangrad.composition`.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from tangrad.composition.api import public_package as public_package
from tangrad.composition.discovery import cache_folder as cache_folder
from tangrad.composition.files import read_own_file as read_own_file
from tangrad.composition.hooks import HookContext as HookContext
from tangrad.composition.hooks import hookimpl as hookimpl
from tangrad.composition.hooks import hooks as hooks
from tangrad.composition.record import is_record as is_record
from tangrad.composition.registry import Composition as Composition
from tangrad.composition.registry import Plugin as Plugin
from tangrad.composition.registry import composition as composition
from tangrad.composition.registry import configure_plugins as configure_plugins
from tangrad.composition.registry import plugin_manager as plugin_manager
from tangrad.composition.registry import register as register
from tangrad.composition.versioning import EXTENSION_API as EXTENSION_API
from tangrad.composition.versioning import deprecated_name as _deprecated_name
from tangrad.core.array import Array as Array
from tangrad.core.array import ArrayOperators as ArrayOperators
from tangrad.core.array import Literal as Literal
from tangrad.core.array import literal as literal
from tangrad.core.aval import AbstractToken as AbstractToken
from tangrad.core.aval import AbstractValue as AbstractValue
from tangrad.core.aval import ShapedArray as ShapedArray
from tangrad.core.aval import canonicalize_shape as canonicalize_shape
from tangrad.core.aval import get_aval as get_aval
from tangrad.core.aval import is_array_value as is_array_value
from tangrad.core.aval import register_aval_handler as register_aval_handler
from tangrad.core.aval import typeof as typeof
from tangrad.core.backend import Backend as Backend
from tangrad.core.backend import CompileOptions as CompileOptions
from tangrad.core.backend import Device as Device
from tangrad.core.backend import Executable as Executable
from tangrad.core.backend import as_array as as_array
from tangrad.core.backend import as_operand as as_operand
from tangrad.core.backend import backend_names as backend_names
from tangrad.core.backend import chosen_device as chosen_device
from tangrad.core.backend import get_backend as get_backend
from tangrad.core.backend import is_operand as is_operand
from tangrad.core.backend import loaded_backends as loaded_backends
from tangrad.core.backend import put as put
from tangrad.core.compilation import LoweredProgram as LoweredProgram
from tangrad.core.compilation import Program as Program
from tangrad.core.compilation import backend_of as backend_of
from tangrad.core.compilation import compile_program as compile_program
from tangrad.core.compilation import lower_program as lower_program
from tangrad.core.compilation import one_at_a_time as one_at_a_time
from tangrad.core.compilation import program_for as program_for
from tangrad.core.compilation import report_hit as report_hit
from tangrad.core.compilation import to_arrays as to_arrays
from tangrad.core.dce import dce_jaxpr as dce_jaxpr
from tangrad.core.declarations import NotApplicable as NotApplicable
from tangrad.core.declarations import PrimitiveSet as PrimitiveSet
from tangrad.core.declarations import RuleKind as RuleKind
from tangrad.core.declarations import RuleSet as RuleSet
from tangrad.core.declarations import Transformation as Transformation
from tangrad.core.effects import NO_EFFECTS as NO_EFFECTS
from tangrad.core.effects import Effect as Effect
from tangrad.core.effects import NamedAxisEffect as NamedAxisEffect
from tangrad.core.effects import axes_of_effects as axes_of_effects
from tangrad.core.effects import keeps_alive as keeps_alive
from tangrad.core.jaxpr import ClosedJaxpr as ClosedJaxpr
from tangrad.core.jaxpr import DropVar as DropVar
from tangrad.core.jaxpr import Jaxpr as Jaxpr
from tangrad.core.jaxpr import JaxprEqn as JaxprEqn
from tangrad.core.jaxpr import Var as Var
from tangrad.core.jaxpr import carried_program as carried_program
from tangrad.core.jaxpr import closed_over_as_arguments as closed_over_as_arguments
from tangrad.core.jaxpr import equation_effects as equation_effects
from tangrad.core.jaxpr import eval_jaxpr as eval_jaxpr
from tangrad.core.jaxpr import jaxpr_as_function as jaxpr_as_function
from tangrad.core.jaxpr import one_equation as one_equation
from tangrad.core.jaxpr import sub_jaxprs as sub_jaxprs
from tangrad.core.jaxpr import weak_key as weak_key
from tangrad.core.jaxpr_check import check_jaxpr as check_jaxpr
from tangrad.core.keys import FixedParams as FixedParams
from tangrad.core.keys import exact_equality as exact_equality
from tangrad.core.keys import params_key as params_key
from tangrad.core.keys import typed_key as typed_key
from tangrad.core.keys import value_key as value_key
from tangrad.core.primitive import EVAL_TRACE as EVAL_TRACE
from tangrad.core.primitive import Primitive as Primitive
from tangrad.core.primitive import evaluate as evaluate
from tangrad.core.primitive import join_named_shapes as join_named_shapes
from tangrad.core.rule_calls import explain as _explain_errors_of_rules
from tangrad.core.rules import Cell as Cell
from tangrad.core.rules import RuleTable as RuleTable
from tangrad.core.rules import families as families
from tangrad.core.rules import find_primitive as find_primitive
from tangrad.core.rules import primitive_set as primitive_set
from tangrad.core.rules import rule_kinds as rule_kinds
from tangrad.core.rules import rule_table as rule_table
from tangrad.core.staging import StagingTrace as StagingTrace
from tangrad.core.staging import StagingTracer as StagingTracer
from tangrad.core.staging import decomposed as decomposed
from tangrad.core.staging import decomposition_jaxpr as decomposition_jaxpr
from tangrad.core.staging import trace_to_closed_jaxpr as trace_to_closed_jaxpr
from tangrad.core.staging import trace_to_jaxpr as trace_to_jaxpr
from tangrad.core.trace import Trace as Trace
from tangrad.core.trace import Tracer as Tracer
from tangrad.core.trace import checked_operands as checked_operands
from tangrad.core.trace import close_trace as close_trace
from tangrad.core.trace import concrete_or_error as concrete_or_error
from tangrad.core.trace import current_trace as current_trace
from tangrad.core.trace import find_backend as find_backend
from tangrad.core.trace import is_concrete as is_concrete
from tangrad.core.trace import set_current_trace as set_current_trace
from tangrad.diagnostics.errors import RefusedError as RefusedError
from tangrad.diagnostics.errors import check_no_leak as check_no_leak
from tangrad.diagnostics.errors import mixed_backends as mixed_backends
from tangrad.diagnostics.logs import Logger as Logger
from tangrad.diagnostics.nan_checks import check_results as check_results
from tangrad.diagnostics.nan_checks import without_value_checks as without_value_checks
from tangrad.diagnostics.public_boundaries import class_boundary as class_boundary
from tangrad.diagnostics.public_boundaries import method_boundaries as method_boundaries
from tangrad.diagnostics.public_boundaries import without_boundary as without_boundary
from tangrad.diagnostics.rule_errors import DerivedRule as DerivedRule
from tangrad.diagnostics.rule_sites import calls_rules as calls_rules
from tangrad.diagnostics.source_info import NO_NAMES as NO_NAMES
from tangrad.diagnostics.source_info import SourceInfo as SourceInfo
from tangrad.diagnostics.source_info import copy_identity as copy_identity
from tangrad.diagnostics.source_info import current_source as current_source
from tangrad.diagnostics.source_info import is_internal as is_internal
from tangrad.dtypes import system as _dtypes
from tangrad.dtypes.conversions import can_stand_for_array as can_stand_for_array
from tangrad.dtypes.conversions import stands_for as stands_for
from tangrad.dtypes.sizes import SymbolicDimension as SymbolicDimension
from tangrad.dtypes.sizes import as_size as as_size
from tangrad.dtypes.sizes import first_symbolic as first_symbolic
from tangrad.dtypes.sizes import is_symbolic as is_symbolic
from tangrad.dtypes.sizes import max_size as max_size
from tangrad.dtypes.sizes import min_size as min_size
from tangrad.dtypes.sizes import product as product
from tangrad.settings import jax_names as jax_names
from tangrad.settings import transfers as transfers
from tangrad.settings.caches import JaxprCache as JaxprCache
from tangrad.settings.caches import RecentlyUsed as RecentlyUsed
from tangrad.settings.caches import clear_caches as clear_caches
from tangrad.settings.caches import register_cache as register_cache
from tangrad.settings.config import SETTINGS as SETTINGS
from tangrad.settings.config import Setting as Setting
from tangrad.settings.config import cache_context as cache_context
from tangrad.settings.config import check_optional_positive as check_optional_positive
from tangrad.settings.config import check_optional_text as check_optional_text
from tangrad.settings.config import define_choice as define_choice
from tangrad.settings.config import define_flag as define_flag
from tangrad.settings.config import define_setting as define_setting
from tangrad.settings.config import is_checking_values as is_checking_values
from tangrad.settings.config import one_of as one_of
from tangrad.settings.config import optional_text as optional_text
from tangrad.settings.config import shared as shared
from tangrad.settings.config import thread as thread
from tangrad.settings.direct_calls import DirectCalls as DirectCalls
from tangrad.settings.direct_calls import forget_direct_calls as forget_direct_calls
from tangrad.settings.forks import after_fork as after_fork
from tangrad.settings.forks import free_after_fork as free_after_fork
from tangrad.settings.sharding import Parts as Parts
from tangrad.settings.sharding import Sharding as Sharding
from tangrad.settings.sharding import agreed_devices as agreed_devices
from tangrad.settings.sharding import as_sharding as as_sharding
from tangrad.settings.sharding import check_argument as check_argument
from tangrad.settings.sharding import is_addressable as is_addressable
from tangrad.settings.sharding import names_memories as names_memories
from tangrad.settings.sharding import program_shardings as program_shardings
from tangrad.settings.sharding import sharding_of_result as sharding_of_result
from tangrad.settings.sharding import stated_claims as stated_claims
from tangrad.settings.sharding import types_by_shardings as types_by_shardings
from tangrad.settings.sharding import with_shardings_of_types as with_shardings_of_types
from tangrad.settings.table import config as config
from tangrad.settings.table import usable_settings as usable_settings

if TYPE_CHECKING:  # names whose modules are not needed before their first use: see _LATER
    from tangrad.composition import catalogue as catalogue
    from tangrad.core import dlpack as dlpack
    from tangrad.diagnostics.leaves import array_leaves as array_leaves
    from tangrad.diagnostics.leaves import returned_leaves as returned_leaves
    from tangrad.diagnostics.tracebacks import api_boundary as api_boundary
    from tangrad.diagnostics.tracebacks import filter_traceback as filter_traceback
    from tangrad.diagnostics.tracebacks import own_boundary as own_boundary
    from tangrad.diagnostics.tracebacks import without_internal_frames as without_internal_frames
    from tangrad.settings.compile_time import computes_at_once as computes_at_once

dtypes = _dtypes

# Name -> the module that it is in, or that it is. Imported by the first `from tangrad.core import` that names it: the
# one who imports then holds the object itself, so that no hot path comes through `__getattr__`.
_LATER = {
    "api_boundary": "tangrad.diagnostics.tracebacks",
    "array_leaves": "tangrad.diagnostics.leaves",
    "catalogue": "tangrad.composition.catalogue",
    "computes_at_once": "tangrad.settings.compile_time",
    "dlpack": "tangrad.core.dlpack",
    "filter_traceback": "tangrad.diagnostics.tracebacks",
    "own_boundary": "tangrad.diagnostics.tracebacks",
    "returned_leaves": "tangrad.diagnostics.leaves",
    "without_internal_frames": "tangrad.diagnostics.tracebacks",
}


def __getattr__(name: str) -> Any:
    path = _LATER.get(name)
    if path is None:
        return _deprecated_name(__name__, name)
    module = _import_module(path)
    value = globals()[name] = module if path.endswith(f".{name}") else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
