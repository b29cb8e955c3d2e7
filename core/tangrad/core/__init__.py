"""The kernel, for those who extend Tangrad: everything a plugin needs is a name of this package.

What rules and backends must look like to a type checker is in `tangrad.core.protocols`; dtypes: `tangrad.core.dtypes`.
What one kind of author alone needs has a door of its own: `tangrad.core.arguments` (functions), `.backends`,
`.caches`, `.programs` (what compiles), `.settings`, `.tools`, `.transformations`.
Plugins take from the kernel only these names, those of `tangrad.dtypes`, `tangrad.errors`, `tangrad.tree`,
`tangrad.tree_util` and `tangrad.typing`; what changes in them follows the policy of the extension API.

Order of reading in `tangrad._core.kernel`: `aval`, `primitive`, `trace`, `jaxpr`, `staging`, `rules`, `compilation`;
then `tangrad._core.composition`.
"""

from importlib import import_module
from typing import Any

from tangrad._core.composition.doors import door
from tangrad._core.composition.policy import deprecated_name, moved_name
from tangrad._core.kernel import all_settings as all_settings
from tangrad._core.kernel import applications as applications
from tangrad._core.kernel import compilation as compilation
from tangrad._core.kernel import nan_checks as nan_checks
from tangrad._core.kernel import rule_trace as rule_trace

# The modules of the kernel that are imported here register something: settings, what plugins must be like, a rule kind.

# The doors by subject, where some names are that were here in tangrad-core 0.1.
_SUBJECTS = ("arguments", "backends", "caches", "programs", "settings", "tools", "transformations")


def _former_name(module_name: str, name: str) -> Any:
    """A door by subject, or, with a DeprecationWarning, a name that was in this one before it was divided."""
    if name in (*_SUBJECTS, "dtypes"):
        return import_module(f"{module_name}.{name}")
    if not name.startswith("_"):
        for subject in _SUBJECTS:
            module = import_module(f"{module_name}.{subject}")
            if name in dir(module):
                return moved_name(module_name, name, module)
    return deprecated_name(module_name, name)


__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.composition.api": "public_package",
        "tangrad._core.composition.doors": "door",
        "tangrad._core.composition.hooks": "HookContext hookimpl",
        "tangrad._core.composition.registry": "composition register",
        "tangrad._core.diagnostics.errors": "RefusedError",
        "tangrad._core.diagnostics.source_info": "WrappedSignature copy_identity current_source",
        "tangrad._core.diagnostics.tracebacks": (
            "api_boundary calls_rules class_boundary filter_traceback own_boundary without_boundary"
        ),
        "tangrad._core.kernel": "dlpack transfers",
        "tangrad._core.kernel.all_settings": "config",
        "tangrad._core.kernel.array": "Array Literal literal",
        "tangrad._core.kernel.aval": (
            "AbstractValue array_leaves get_aval is_array_value register_aval_handler returned_leaves ShapedArray "
            "typeof"
        ),
        "tangrad._core.kernel.backend": "as_array as_operand Backend backend_names Executable get_backend put",
        "tangrad._core.kernel.compilation": "dce_jaxpr",
        "tangrad._core.kernel.declarations": "NotApplicable PrimitiveSet RuleKind RuleSet Transformation",
        "tangrad._core.kernel.device": "Device",
        "tangrad._core.kernel.jaxpr": (
            "axes_of_effects closed_over_as_arguments ClosedJaxpr DropVar Effect equation_effects eval_jaxpr Jaxpr "
            "jaxpr_as_function JaxprEqn keeps_alive NamedAxisEffect NO_EFFECTS Var"
        ),
        "tangrad._core.kernel.primitive": "EVAL_TRACE Primitive",
        "tangrad._core.kernel.rule_trace": "RuleTrace RuleTracer run_traced",
        "tangrad._core.kernel.rules": "DerivedRule find_primitive rule_table",
        "tangrad._core.kernel.sharding": "Sharding",
        "tangrad._core.kernel.staging": "decomposed decomposition_jaxpr trace_to_closed_jaxpr trace_to_jaxpr",
        "tangrad._core.kernel.trace": "checked_operands concrete_or_error current_trace is_concrete Trace Tracer",
        "tangrad._core.settings.config": "thread",
        "tangrad._core.settings.threads": "holding",
    },
    otherwise=_former_name,
)
