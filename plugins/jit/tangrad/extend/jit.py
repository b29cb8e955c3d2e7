"""What other distributions may use of tangrad-jit, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._jit.abstract": "struct_tree",
        "tangrad._jit.call": "Call Options trace_call",
        "tangrad._jit.checks": "check_not_shared taken_over",
        "tangrad._jit.function": "JitFunction jit",
        "tangrad._jit.layout": "stated",
        "tangrad._jit.primitives": "hinted_p jit_p region_p tagged_p",
        "tangrad._jit.signature": "check_positions infer_other positions signature_of",
        "tangrad._jit.stages": "CompiledParts TracedParts parts_of parts_of_traced",
    },
)
