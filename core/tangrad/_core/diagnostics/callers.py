"""Who wrote an operation: the user's program, or a function of ours on the way to its result.

Settings that refuse what users may not have meant (operands of different ranks or dtypes) are about the calls that they
write. Our own functions, and the rules that run under transformations, broadcast and promote inside as they need to. So
a function that is about to raise asks here first; that costs nothing where nothing is refused.
"""

from __future__ import annotations

import sys
from types import FrameType

from tangrad._core.diagnostics.source_info import is_internal

# Public names of one operation beside the one that its messages have.
_ALIASES = {
    "divide": ("true_divide",),
    "remainder": ("mod",),
    "power": ("pow",),
    "absolute": ("abs",),
    "concatenate": ("concat",),
}


def written_by_user(function_name: str) -> bool:
    """Whether the user's program calls the public function `function_name` itself.

    It also does where a transformation calls what the user handed to it, as in `vmap(numpy.add)(x, y)`. It does not
    where one of our functions names `function_name`, or uses an operator.
    """
    name = function_name.rpartition(".")[2]
    names = {name, *_ALIASES.get(name, ())}
    by_operator, file = False, ""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_internal(code.co_filename):
            return True
        own = code.co_name.strip("_")
        if code.co_name.endswith("operator") or (code.co_name.startswith("__") and own not in ("call", "getattr")):
            by_operator = True
        elif frame.f_globals.get("PREPARES_OPERANDS", False) is True:  # of a module that does so for all functions
            pass
        elif own.startswith(name) and file in ("", code.co_filename):
            file = code.co_filename  # the function itself; those of its name in other modules may call it
        elif by_operator or not names.isdisjoint(code.co_names):
            return False
        frame = frame.f_back
    return True
