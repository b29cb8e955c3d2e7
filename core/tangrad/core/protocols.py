"""What authors implement, as types: rules of each kind, traces, backends, hook objects. For editors and type checkers.

>>> from tangrad.core.protocols import LoweringRule
"""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.kernel.hook_protocols": (
            "ApiProvider ApplicationPolicy ArrayAttributeProvider BackendProvider CacheHitObserver "
            "CacheMissObserver CommandProvider CompilationObserver EntryProvider JaxprPass LoweringObserver "
            "NameProvider PrimitiveProvider RuleKindProvider RuleProvider SettingProvider TraceObserver"
        ),
        "tangrad._core.kernel.backend": "Backend Executable members",
        "tangrad._core.kernel.primitive": "Primitive",
        "tangrad._core.kernel.protocols": (
            "AxisInfo AxisSubstRule BatchRule CheckifyRule Coordination DceRule DischargeRule JvpRule KeyReuseRule "
            "LinearizeRule Linearized Lowered LoweringRule MakesPrimitive MaskRule PartialEval PartialEvalRule "
            "PortableRule RULES RecomputeRule ReplicationRule ShardingRule SplitAxisRule TransposeRule"
        ),
        "tangrad._core.kernel.trace": "Trace Tracer",
    },
)
