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
from tangrad.composition.missing_names import Explanations as Explanations
from tangrad.composition.missing_names import how_to_install as how_to_install
from tangrad.composition.record import is_record as is_record
from tangrad.composition.registry import Composition as Composition
from tangrad.composition.registry import Plugin as Plugin
from tangrad.composition.registry import composition as composition
from tangrad.composition.registry import configure_plugins as configure_plugins
from tangrad.composition.registry import plugin_manager as plugin_manager
from tangrad.composition.registry import register as register
from tangrad.composition.versioning import EXTENSION_API as EXTENSION_API
from tangrad.composition.versioning import deprecated_name as _deprecated_name
from tangrad.diagnostics.errors import RefusedError as RefusedError
from tangrad.diagnostics.errors import check_no_leak as check_no_leak
from tangrad.diagnostics.errors import mixed_backends as mixed_backends
from tangrad.diagnostics.logs import Logger as Logger
from tangrad.diagnostics.public_boundaries import class_boundary as class_boundary
from tangrad.diagnostics.public_boundaries import method_boundaries as method_boundaries
from tangrad.diagnostics.public_boundaries import without_boundary as without_boundary
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
from tangrad.kernel import transfers as transfers
from tangrad.kernel.all_settings import ForeignNames as ForeignNames
from tangrad.kernel.all_settings import config as config
from tangrad.kernel.all_settings import usable_settings as usable_settings
from tangrad.kernel.array import Array as Array
from tangrad.kernel.array import ArrayOperators as ArrayOperators
from tangrad.kernel.array import Literal as Literal
from tangrad.kernel.array import literal as literal
from tangrad.kernel.aval import AbstractToken as AbstractToken
from tangrad.kernel.aval import AbstractValue as AbstractValue
from tangrad.kernel.aval import ShapedArray as ShapedArray
from tangrad.kernel.aval import canonicalize_shape as canonicalize_shape
from tangrad.kernel.aval import get_aval as get_aval
from tangrad.kernel.aval import is_array_value as is_array_value
from tangrad.kernel.aval import register_aval_handler as register_aval_handler
from tangrad.kernel.aval import typeof as typeof
from tangrad.kernel.backend import Backend as Backend
from tangrad.kernel.backend import CompileOptions as CompileOptions
from tangrad.kernel.backend import Device as Device
from tangrad.kernel.backend import Executable as Executable
from tangrad.kernel.backend import as_array as as_array
from tangrad.kernel.backend import as_operand as as_operand
from tangrad.kernel.backend import backend_names as backend_names
from tangrad.kernel.backend import chosen_device as chosen_device
from tangrad.kernel.backend import get_backend as get_backend
from tangrad.kernel.backend import is_operand as is_operand
from tangrad.kernel.backend import loaded_backends as loaded_backends
from tangrad.kernel.backend import put as put
from tangrad.kernel.compilation import LoweredProgram as LoweredProgram
from tangrad.kernel.compilation import Program as Program
from tangrad.kernel.compilation import backend_of as backend_of
from tangrad.kernel.compilation import compile_program as compile_program
from tangrad.kernel.compilation import lower_program as lower_program
from tangrad.kernel.compilation import one_at_a_time as one_at_a_time
from tangrad.kernel.compilation import program_for as program_for
from tangrad.kernel.compilation import report_hit as report_hit
from tangrad.kernel.compilation import to_arrays as to_arrays
from tangrad.kernel.compilation import usable_donations as usable_donations
from tangrad.kernel.dce import dce_jaxpr as dce_jaxpr
from tangrad.kernel.declarations import NotApplicable as NotApplicable
from tangrad.kernel.declarations import PrimitiveSet as PrimitiveSet
from tangrad.kernel.declarations import RuleKind as RuleKind
from tangrad.kernel.declarations import RuleSet as RuleSet
from tangrad.kernel.declarations import Transformation as Transformation
from tangrad.kernel.direct_calls import DirectCalls as DirectCalls
from tangrad.kernel.direct_calls import forget_direct_calls as forget_direct_calls
from tangrad.kernel.effects import NO_EFFECTS as NO_EFFECTS
from tangrad.kernel.effects import Effect as Effect
from tangrad.kernel.effects import NamedAxisEffect as NamedAxisEffect
from tangrad.kernel.effects import axes_of_effects as axes_of_effects
from tangrad.kernel.effects import keeps_alive as keeps_alive
from tangrad.kernel.jaxpr import ClosedJaxpr as ClosedJaxpr
from tangrad.kernel.jaxpr import DropVar as DropVar
from tangrad.kernel.jaxpr import Jaxpr as Jaxpr
from tangrad.kernel.jaxpr import JaxprEqn as JaxprEqn
from tangrad.kernel.jaxpr import Var as Var
from tangrad.kernel.jaxpr import carried_program as carried_program
from tangrad.kernel.jaxpr import closed_over_as_arguments as closed_over_as_arguments
from tangrad.kernel.jaxpr import equation_effects as equation_effects
from tangrad.kernel.jaxpr import eval_jaxpr as eval_jaxpr
from tangrad.kernel.jaxpr import jaxpr_as_function as jaxpr_as_function
from tangrad.kernel.jaxpr import one_equation as one_equation
from tangrad.kernel.jaxpr import sub_jaxprs as sub_jaxprs
from tangrad.kernel.jaxpr import weak_key as weak_key
from tangrad.kernel.jaxpr_check import check_jaxpr as check_jaxpr
from tangrad.kernel.keys import FixedParams as FixedParams
from tangrad.kernel.keys import exact_equality as exact_equality
from tangrad.kernel.keys import params_key as params_key
from tangrad.kernel.keys import typed_key as typed_key
from tangrad.kernel.keys import value_key as value_key
from tangrad.kernel.nan_checks import check_results as check_results
from tangrad.kernel.nan_checks import without_value_checks as without_value_checks
from tangrad.kernel.primitive import EVAL_TRACE as EVAL_TRACE
from tangrad.kernel.primitive import Primitive as Primitive
from tangrad.kernel.primitive import evaluate as evaluate
from tangrad.kernel.primitive import join_named_shapes as join_named_shapes
from tangrad.kernel.rule_calls import explain as _explain_errors_of_rules
from tangrad.kernel.rule_errors import DerivedRule as DerivedRule
from tangrad.kernel.rules import Cell as Cell
from tangrad.kernel.rules import RuleTable as RuleTable
from tangrad.kernel.rules import families as families
from tangrad.kernel.rules import find_primitive as find_primitive
from tangrad.kernel.rules import primitive_set as primitive_set
from tangrad.kernel.rules import rule_kinds as rule_kinds
from tangrad.kernel.rules import rule_table as rule_table
from tangrad.kernel.sharding import Parts as Parts
from tangrad.kernel.sharding import Sharding as Sharding
from tangrad.kernel.sharding import agreed_devices as agreed_devices
from tangrad.kernel.sharding import as_sharding as as_sharding
from tangrad.kernel.sharding import check_argument as check_argument
from tangrad.kernel.sharding import is_addressable as is_addressable
from tangrad.kernel.sharding import names_memories as names_memories
from tangrad.kernel.sharding import program_shardings as program_shardings
from tangrad.kernel.sharding import sharding_of_result as sharding_of_result
from tangrad.kernel.sharding import stated_claims as stated_claims
from tangrad.kernel.sharding import types_by_shardings as types_by_shardings
from tangrad.kernel.sharding import with_shardings_of_types as with_shardings_of_types
from tangrad.kernel.staging import StagingTrace as StagingTrace
from tangrad.kernel.staging import StagingTracer as StagingTracer
from tangrad.kernel.staging import decomposed as decomposed
from tangrad.kernel.staging import decomposition_jaxpr as decomposition_jaxpr
from tangrad.kernel.staging import trace_to_closed_jaxpr as trace_to_closed_jaxpr
from tangrad.kernel.staging import trace_to_jaxpr as trace_to_jaxpr
from tangrad.kernel.trace import Trace as Trace
from tangrad.kernel.trace import Tracer as Tracer
from tangrad.kernel.trace import checked_operands as checked_operands
from tangrad.kernel.trace import close_trace as close_trace
from tangrad.kernel.trace import concrete_or_error as concrete_or_error
from tangrad.kernel.trace import current_trace as current_trace
from tangrad.kernel.trace import device_beside as device_beside
from tangrad.kernel.trace import find_backend as find_backend
from tangrad.kernel.trace import is_concrete as is_concrete
from tangrad.kernel.trace import set_current_trace as set_current_trace
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
from tangrad.settings.forks import after_fork as after_fork
from tangrad.settings.forks import free_after_fork as free_after_fork

if TYPE_CHECKING:  # names whose modules are not needed before their first use: see _LATER
    from tangrad.diagnostics.tracebacks import api_boundary as api_boundary
    from tangrad.diagnostics.tracebacks import filter_traceback as filter_traceback
    from tangrad.diagnostics.tracebacks import own_boundary as own_boundary
    from tangrad.diagnostics.tracebacks import without_internal_frames as without_internal_frames
    from tangrad.kernel import dlpack as dlpack
    from tangrad.kernel.compile_time import computes_at_once as computes_at_once
    from tangrad.kernel.leaves import array_leaves as array_leaves
    from tangrad.kernel.leaves import returned_leaves as returned_leaves

dtypes = _dtypes

# Name -> the module that it is in, or that it is. Imported by the first `from tangrad.core import` that names it: the
# one who imports then holds the object itself, so that no hot path comes through `__getattr__`.
_LATER = {
    "api_boundary": "tangrad.diagnostics.tracebacks",
    "array_leaves": "tangrad.kernel.leaves",
    "computes_at_once": "tangrad.kernel.compile_time",
    "dlpack": "tangrad.kernel.dlpack",
    "filter_traceback": "tangrad.diagnostics.tracebacks",
    "own_boundary": "tangrad.diagnostics.tracebacks",
    "returned_leaves": "tangrad.kernel.leaves",
    "without_internal_frames": "tangrad.diagnostics.tracebacks",
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
