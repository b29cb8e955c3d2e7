"""Programs within programs, loops and conditions, the host's functions, random bits, and what moves nothing."""

import torch

from tangrad.core import dtypes
from tangrad.core.backends import evaluate
from tangrad_torch.backend import TorchArray
from tangrad_torch.programs import Program, rules, same
from tangrad_torch.tensors import shifted_right, stored, torch_dtype

UINT32 = dtypes.as_dtype("uint32")
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # of Threefry with 2 words (Salmon and others, SC 2011, table 2)
PARITY = 0x1BD11BDA


def jit(call, *, jaxpr, name):
    return Program(jaxpr, call.device)


def cond(call, *, branches):
    functions, last = [Program(branch, call.device) for branch in branches], len(branches) - 1

    def function(index, *operands):
        position = int(index)
        return functions[position if 0 <= position < last else last](*operands)

    return function


def platform_dependent(call, *, branches, platforms):
    kind = call.device.type
    names = ("torch", kind, "gpu" if kind == "cuda" else kind, None)
    for branch, platform in zip(branches, platforms, strict=True):
        if platform in names:
            return Program(branch, call.device)
    raise call.lacks(f"there is no branch for it among those for {', '.join(map(repr, platforms))}")


def while_(call, *, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    condition, body = Program(cond_jaxpr, call.device), Program(body_jaxpr, call.device)
    both = cond_nconsts + body_nconsts

    def function(*operands):
        first, second, carry = operands[:cond_nconsts], operands[cond_nconsts:both], operands[both:]
        while condition(*first, *carry)[0]:
            carry = body(*second, *carry)
        return tuple(carry)

    return function


def scan(call, *, jaxpr, num_consts, num_carry, length, reverse, unroll):
    body, both = Program(jaxpr, call.device), num_consts + num_carry
    device, stacked = call.device, [stored(aval) for aval in call.outputs[num_carry:]]

    def function(*operands):
        consts, carry, xs = operands[:num_consts], operands[num_consts:both], operands[both:]
        rows = []
        for at in reversed(range(length)) if reverse else range(length):
            outs = body(*consts, *carry, *[x[at] for x in xs])
            carry = outs[:num_carry]
            rows.append(outs[num_carry:])
        if not rows:
            empty = [torch.zeros(kind.shape, dtype=torch_dtype(kind.dtype), device=device) for kind in stacked]
            return (*carry, *empty)
        if reverse:
            rows.reverse()
        return (*carry, *[torch.stack(row) for row in zip(*rows, strict=True)])

    return function


def on_host(call, **params):
    """The host's function is called by the primitive itself, as outside of programs."""

    def function(*tensors):
        arrays = [TorchArray(aval, tensor) for aval, tensor in zip(call.inputs, tensors, strict=True)]
        outs = evaluate(call.primitive, tuple(arrays), params)
        return tuple([out.tensor.to(call.device) for out in outs])

    return function


# --- random bits ---------------------------------------------------------------------------------------------------


def threefry(call):
    """Threefry-2x32 with 20 rounds, on words that are held as signed integers."""
    shape = call.shape

    def function(key1, key2, x, y):
        keys = (key1, key2, key1 ^ key2 ^ PARITY)
        x, y = (x + key1).expand(shape), (y + key2).expand(shape)
        for turn in range(5):
            for count in ROTATIONS[turn % 2]:
                x = x + y
                y = (y << count) | shifted_right(y, 32 - count, UINT32)
                y = x ^ y
            x = x + keys[(turn + 1) % 3]
            y = y + keys[(turn + 2) % 3] + (turn + 1)
        return x, y

    return function


unchanged = same(lambda x: x)
jits = rules("jit", {"jit": jit})
loops = rules("control_flow", {"cond": cond, "platform_dependent": platform_dependent, "while": while_, "scan": scan})
callbacks = rules(
    "callbacks", dict.fromkeys(("pure_callback", "io_callback", "debug_callback", "debug_print"), on_host)
)
random = rules(
    "random", {"threefry2x32": threefry, "random_wrap": lambda call, impl: lambda x: x, "random_unwrap": unchanged}
)
placement = rules("placement", {"device_put": unchanged})
exporting = rules("exporting", lacks={"an exported program is one for XLA": ("call_exported", "push_forward")})
foreign = rules("foreign", lacks={"foreign functions are called by XLA and NumPy": ("ffi_call",)})
sharding = rules("sharding", {"sharding_constraint": unchanged, "auto_axes": unchanged})
