"""What tools ask the kernel: plugins, tables of rules, sources of errors, the checks of programs."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.composition.discovery": "cache_folder",
        "tangrad._core.composition.hooks": "hooks",
        "tangrad._core.composition.missing_names": "Explanations how_to_install",
        "tangrad._core.composition.plugin": "from_signal_handler own_fault",
        "tangrad._core.composition.record": "is_record",
        "tangrad._core.composition.registry": "Composition configure_plugins Plugin plugin_manager",
        "tangrad._core.composition.policy": "EXTENSION_API",
        "tangrad._core.diagnostics.errors": "mixed_backends unhashable_parameters",
        "tangrad._core.diagnostics.source_info": "is_internal NO_NAMES SourceInfo",
        "tangrad._core.diagnostics.tracebacks": "without_internal_frames",
        "tangrad._core.kernel.jaxpr": "sub_jaxprs with_sub_jaxprs",
        "tangrad._core.kernel.jaxpr_check": "check_jaxpr",
        "tangrad._core.kernel.rules": "Cell families primitive_set rule_kinds RuleTable",
    },
)
