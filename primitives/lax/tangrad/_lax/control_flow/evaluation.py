"""Control flow on concrete values, outside of any trace.

A concrete index chooses the branch, and only that one runs. Loops are handed to the backend, each as one small program
around the body: on NumPy a Python loop over the body, compiled once, on XLA a loop of the compiler's own. What was
compiled is kept as long as the body lives. What was never seen and is short runs operation by operation: functions that
are written where they are called are traced anew at each call, and compiling them would take longer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._lax.structure.functions import full, index_in_dim, stack
from tangrad.core import Array, ClosedJaxpr, Literal, Primitive, eval_jaxpr, find_primitive
from tangrad.core.caches import JaxprCache, register_cache, weak_key
from tangrad.core.programs import check_results, program_for, to_arrays
from tangrad.core.settings import is_checking_values
from tangrad.core.tools import with_sub_jaxprs
from tangrad.core.transformations import find_backend, one_equation
from tangrad.typing import Params, Value

Values = Sequence[Any]

STEPS = 300  # operations that are done one by one rather than compiled: a compilation takes as long as thousands

_seen = JaxprCache()
register_cache(_seen.clear)


# --- conditionals ---


def evaluate_cond(args: Values, params: Params) -> tuple[Array, ...]:
    """Run the branch that the index chooses."""
    branches = params["branches"]
    return with_common_types(run(branches[chosen(args[0], len(branches))], args[1:]), branches)


def with_common_types(outs: Values, branches: Sequence[ClosedJaxpr]) -> tuple[Array, ...]:
    """The results of one branch, weakly typed where those of the first branch are: which one runs must not matter."""
    return _weakly_typed(outs, [aval.weak_type for aval in branches[0].out_avals])


def _weakly_typed(outs: Values, weak: Sequence[bool]) -> tuple[Array, ...]:
    """The values, each weakly typed where `weak` is true."""
    return tuple(
        [
            out
            if out.aval.weak_type is wanted
            else convert_element_type_p.bind(out, new_dtype=out.aval.dtype, weak_type=wanted)
            for out, wanted in zip(outs, weak, strict=True)
        ]
    )


def chosen(index: Value, count: int) -> int:
    """A concrete index as a position; beyond either end it is the last."""
    position = int(index.ndarray if type(index) is Literal else index)
    return position if 0 <= position < count else count - 1


def run(closed: ClosedJaxpr, args: Values) -> tuple[Array, ...]:
    """Run a program on concrete arrays.

    The first time operation by operation, from the second time on as one compiled program.
    """
    if not closed.eqns or is_checking_values() or _seen.find(closed, "seen") is None:
        _seen.get(closed, "seen", lambda: True)
        return _arrays(eval_jaxpr(closed.jaxpr, closed.consts, *args), args)
    # A copy: what is kept for a program must not keep the program itself.
    return _execute(closed, "run", lambda: ClosedJaxpr(closed.jaxpr, closed.consts), args, "branch")


def _arrays(outs: Values, args: Values) -> tuple[Array, ...]:
    """Results as arrays: a program may return literals, and numbers that it was given."""
    if not any([type(out) is Literal for out in outs]):
        return tuple(outs)
    backend, _ = find_backend((*outs, *args))
    return tuple([backend.put(out.ndarray, out.aval) if type(out) is Literal else out for out in outs])


# --- platforms ---

GPUS = ("cuda", "rocm")


def platform_names(backend: str, platform: str) -> tuple[str, ...]:
    """What branches for a platform may be called: by the backend, by the platform, "gpu" for one of those."""
    return (backend, platform, *(("gpu",) if platform in GPUS else ()))


def branch_of_platform(platforms: Sequence[str | None], backend: str, platform: str) -> int:
    """Which branch is for a platform of a backend. Raises NotImplementedError where none is."""
    names = (*platform_names(backend, platform), None)
    for position, name in enumerate(platforms):
        if name in names:
            return position
    raise NotImplementedError(
        f"platform_dependent: there is no branch for platform {platform!r} of backend {backend!r}, and no default; "
        f"there are branches for {', '.join([repr(name) for name in platforms])}"
    )


def evaluate_platform(args: tuple[object, ...], params: Params) -> tuple[Array, ...]:
    """Run the branch for the platform that the operands are on."""
    branches = params["branches"]
    return with_common_types(run(branches[branch_of_values(params["platforms"], args)], args), branches)


def branch_of_values(platforms: Sequence[str | None], values: Values) -> int:
    """Which branch is for the platform that values are on: that of the device which they are committed to, if any."""
    backend, operands = find_backend(tuple(values))
    platform = backend.platform
    if backend.has_placements:
        platform = getattr(backend.placement(to_arrays(backend, operands)), "platform", platform)
    return branch_of_platform(platforms, backend.name, platform)


# --- loops ---


def evaluate_while(args: Values, params: Params) -> tuple[Array, ...]:
    """Run the body as long as the condition holds: the first iterations of a loop that was never seen step by step."""
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    checking = is_checking_values()
    if not checking and _seen.find(body, "seen") is not None:
        return _as_one_program("while", body, args, params)
    _seen.get(body, "seen", lambda: True)
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    cond_consts, body_consts, carry = args[:first], args[first:second], list(args[second:])
    iterations = 0
    iteration = lambda: eval_jaxpr(body.jaxpr, body.consts, *body_consts, *carry)
    most = STEPS // (len(condition.eqns) + len(body.eqns) + 1)
    while bool(_arrays(eval_jaxpr(condition.jaxpr, condition.consts, *cond_consts, *carry), args)[0]):
        if iterations >= most and not checking:
            return _as_one_program("while", body, (*args[:second], *carry), params)
        carry = check_results(iteration, "the body of a loop")
        iterations += 1
    return _weakly_typed(_arrays(carry, args), [aval.weak_type for aval in body.out_avals])


def evaluate_scan(args: Values, params: Params) -> tuple[Array, ...]:
    """Run the body for each slice: step by step if it was never seen, is short, and takes and gives no slices."""
    jaxpr, count, carry_count = params["jaxpr"], params["num_consts"], params["num_carry"]
    consts, init, xs = args[:count], args[count : count + carry_count], args[count + carry_count :]
    if not is_checking_values():
        short = not xs and len(jaxpr.out_avals) == carry_count and params["length"] * (len(jaxpr.eqns) + 1) <= STEPS
        if not short or _seen.find(jaxpr, "seen") is not None:
            return _as_one_program("scan", jaxpr, args, params)
        _seen.get(jaxpr, "seen", lambda: True)

    def step(carry: Values, slices: Values) -> tuple[Values, Values]:
        outs = check_results(
            lambda: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *consts, *carry, *slices), "the body of a scan"
        )
        return outs[:carry_count], outs[carry_count:]

    y_avals = jaxpr.out_avals[carry_count:]
    carry, ys = scan_by_steps(step, init, xs, params["length"], params["reverse"], y_avals)
    return _weakly_typed(_arrays([*carry, *ys], args), [aval.weak_type for aval in jaxpr.out_avals])


def scan_by_steps(
    step: Callable[[Values, Values], tuple[Values, Values]],
    carry: Values,
    xs: Values,
    length: int,
    reverse: bool,
    y_avals: Values,
) -> tuple[Values, list[Array]]:
    """A scan in Python: operation by operation, so that an error names the one that made it."""
    columns: list[list[Value]] = [[] for _ in y_avals]
    for i in range(length - 1, -1, -1) if reverse else range(length):
        carry, ys = step(carry, [index_in_dim(x, i, keepdims=False) for x in xs])
        for column, y in zip(columns, ys):
            column.append(y)
    if reverse:
        columns = [column[::-1] for column in columns]
    return carry, [
        stack(column) if column else full((0, *aval.shape), 0, aval.dtype) for column, aval in zip(columns, y_avals)
    ]


# --- programs ---


def _as_one_program(name: str, body: ClosedJaxpr, args: Values, params: Params) -> tuple[Array, ...]:
    """Apply a loop as a compiled program of one equation; `body` is the program that it is remembered with."""
    avals = tuple([arg.aval for arg in args])
    others = {key: value for key, value in params.items() if value is not body}
    key = (name, avals, weak_key(others))
    return _execute(body, key, lambda: _loop_alone(find_primitive(f"control_flow.{name}"), avals, params), args, name)


def _loop_alone(primitive: Primitive, avals: Values, params: Params) -> ClosedJaxpr:
    """The program of a loop and nothing else. The programs in its parameters are copies, so the cache can drop them."""
    copied = with_sub_jaxprs(params, lambda program: ClosedJaxpr(program.jaxpr, program.consts))
    return one_equation(primitive, avals, copied)


def _execute(
    closed: ClosedJaxpr, key: object, make: Callable[[], ClosedJaxpr], args: Values, name: str
) -> tuple[Array, ...]:
    """Run the program that `make` gives, compiled once for each key, backend and place."""
    backend, operands = find_backend(tuple(args))
    arrays = to_arrays(backend, operands)
    place = backend.placement(arrays) if backend.has_placements else None
    program = program_for(closed, backend, name, place, key, make, keep_unused=True, places=backend.places(arrays))
    return tuple(program.execute(arrays))
