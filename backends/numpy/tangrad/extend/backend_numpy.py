"""What other distributions may use of tangrad-backend-numpy, under the policy of the extension API.

A plain function of arrays is a lowering, too. These are for rules that look at types and parameters once, when a
program is compiled, and decide then what its calls do.
"""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._backend_numpy.compilers": "LoopCompiler",
        "tangrad._backend_numpy.functions": "Method Opaque Reduction Ufunc",
        "tangrad._backend_numpy.kernels": "ELEMENTWISE FRESH UNKNOWN VIEW Kernel composed inlined kernel ufunc",
        "tangrad._backend_numpy.lowering": "Lowering",
        "tangrad._backend_numpy.program": "Program Step Stored Value",
    },
)
