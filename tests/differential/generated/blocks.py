"""Programs as data: blocks of steps over typed values, so that they can be run by any api, printed and shrunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

FLOAT, COMPLEX, INT, BOOL = "float", "complex", "int", "bool"


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value: its kind, which a program's precision makes a dtype of, and its shape."""

    kind: str
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}{list(self.shape) if self.shape else ''}"


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: its name, the numbers of its operands, what it gives, its options, and functions that it takes."""

    name: str
    args: tuple[int, ...]
    outs: tuple[Type, ...]
    options: dict[str, Any] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A function. Its values are numbered: captured ones first, parameters, then the results of its steps.

    `captured` are numbers of values of the block around it.
    """

    params: tuple[Type, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]
    captured: tuple[int, ...] = ()
    captured_types: tuple[Type, ...] = ()

    def types(self) -> list[Type]:
        """The types of all values by number."""
        found = [*self.captured_types, *self.params]
        for step in self.steps:
            found.extend(step.outs)
        return found

    def out_types(self) -> tuple[Type, ...]:
        types = self.types()
        return tuple(types[number] for number in self.results)

    def size(self) -> int:
        """How many steps there are, those of functions within included."""
        return sum(1 + sum(block.size() for block in step.blocks) for step in self.steps)

    def has(self, *names: str) -> bool:
        """Whether a step of one of these names is anywhere within."""
        return any(step.name in names or any(b.has(*names) for b in step.blocks) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Sample:
    """A program to be run: its function, the transformations around it, its precision and the seed of its arguments."""

    seed: int
    block: Block
    double: bool


def without_dead_steps(block: Block) -> Block:
    """The block without steps, captured values and functions' captures that no result needs."""
    first = len(block.captured) + len(block.params)
    starts, number = [], first
    for step in block.steps:
        starts.append(number)
        number += len(step.outs)
    needed = set(block.results)
    kept: list[tuple[int, Step]] = []
    for start, step in reversed(list(zip(starts, block.steps))):
        if needed & set(range(start, start + len(step.outs))):
            inner = tuple(without_dead_steps(b) for b in step.blocks)
            step = replace(step, blocks=inner)
            needed.update(step.args)
            for b in inner:
                needed.update(b.captured)
            kept.append((start, step))
    captured = [position for position in range(len(block.captured)) if position in needed]
    mapping = {position: new for new, position in enumerate(captured)}
    for position in range(len(block.captured), first):
        mapping[position] = len(mapping)
    steps = []
    for start, step in reversed(kept):
        steps.append(renumbered(step, mapping))
        for offset in range(len(step.outs)):
            mapping[start + offset] = len(mapping)
    return Block(
        block.params,
        tuple(steps),
        tuple(mapping[result] for result in block.results),
        tuple(block.captured[position] for position in captured),
        tuple(block.captured_types[position] for position in captured),
    )


def renumbered(step: Step, mapping: dict[int, int]) -> Step:
    """The step in a block whose values have other numbers."""
    blocks = tuple(replace(b, captured=tuple(mapping[number] for number in b.captured)) for b in step.blocks)
    return replace(step, args=tuple(mapping[number] for number in step.args), blocks=blocks)


def lines(block: Block, name: str = "program", indent: str = "", around: tuple[str, ...] = ()) -> Iterator[str]:
    """The block as text that reads like Python."""
    names = [around[number] for number in block.captured]
    depth = len(indent) // 4
    params = [f"{'xyzuvw'[depth % 6]}{position}" for position in range(len(block.params))]
    typed = ", ".join(f"{param}: {type_}" for param, type_ in zip(params, block.params))
    yield f"{indent}def {name}({typed}):"
    names += params
    for number, step in enumerate(block.steps):
        functions = []
        for position, inner in enumerate(step.blocks):
            function = f"{'fgh'[position % 3]}{depth}_{number}"
            functions.append(function)
            yield from lines(inner, function, indent + "    ", tuple(names))
        outs = [f"{'abcdef'[depth % 6]}{number}_{k}" for k in range(len(step.outs))]
        options = [f"{key}={value!r}" for key, value in step.options.items()]
        arguments = ", ".join([*functions, *[names[arg] for arg in step.args], *options])
        yield f"{indent}    {', '.join(outs)} = {step.name}({arguments})  # {', '.join(map(str, step.outs))}"
        names += outs
    yield f"{indent}    return {', '.join(names[result] for result in block.results)}"


# --- What each step does, in terms of an api (`jax` or `tangrad`), and which operands it takes ---


DTYPES = {
    False: {FLOAT: "float32", COMPLEX: "complex64", INT: "int32", BOOL: "bool"},
    True: {FLOAT: "float64", COMPLEX: "complex128", INT: "int64", BOOL: "bool"},
}

Elementwise = Callable[..., Any]

# name -> (kinds of the operands, kind of the result, the operation). Results stay of moderate size, so that products
# of products do not overflow, and functions are used away from where they are singular.
SIMPLE: dict[str, tuple[tuple[str, ...], str, Elementwise]] = {
    "sin": ((FLOAT,), FLOAT, lambda np, lax, x: np.sin(x)),
    "cos": ((FLOAT,), FLOAT, lambda np, lax, x: lax.cos(x)),
    "tanh": ((FLOAT,), FLOAT, lambda np, lax, x: np.tanh(x)),
    "negative": ((FLOAT,), FLOAT, lambda np, lax, x: -x),
    "damped_exp": ((FLOAT,), FLOAT, lambda np, lax, x: lax.exp(-np.square(x))),
    "log1p_square": ((FLOAT,), FLOAT, lambda np, lax, x: np.log1p(x * x)),
    "sqrt_above": ((FLOAT,), FLOAT, lambda np, lax, x: lax.sqrt(1.5 + np.abs(x))),
    "rsqrt_above": ((FLOAT,), FLOAT, lambda np, lax, x: lax.rsqrt(1 + lax.integer_pow(x, 2))),
    "logistic": ((FLOAT,), FLOAT, lambda np, lax, x: lax.logistic(x)),
    "abs": ((FLOAT,), FLOAT, lambda np, lax, x: abs(x)),
    "relu": ((FLOAT,), FLOAT, lambda np, lax, x: np.maximum(x, 0)),
    "erf": ((FLOAT,), FLOAT, lambda np, lax, x: lax.erf(x)),
    "floor": ((FLOAT,), FLOAT, lambda np, lax, x: np.floor(x)),
    "sign": ((FLOAT,), FLOAT, lambda np, lax, x: lax.sign(x)),
    "expm1": ((FLOAT,), FLOAT, lambda np, lax, x: np.expm1(np.clip(x, -3, 2))),
    "stop_gradient": ((FLOAT,), FLOAT, lambda np, lax, x: lax.stop_gradient(x)),
    "half": ((FLOAT,), FLOAT, lambda np, lax, x: x / 2),
    "add_number": ((FLOAT,), FLOAT, lambda np, lax, x: 1.25 + x),
    "add": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: x + y),
    "sub": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: lax.sub(x, y)),
    "mul": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: np.multiply(x, y)),
    "div": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: x / (1 + y * y)),
    "maximum": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: np.maximum(x, y)),
    "minimum": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: lax.min(x, y)),
    "atan2": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: lax.atan2(x, 2.5 + np.abs(y))),
    "power": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: (1 + np.abs(np.tanh(x))) ** np.tanh(y)),
    "logaddexp": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: np.logaddexp(x, y)),
    "clamp": ((FLOAT, FLOAT), FLOAT, lambda np, lax, x, y: lax.clamp(-0.75, x, 1.0) + y),
    "where": ((BOOL, FLOAT, FLOAT), FLOAT, lambda np, lax, m, x, y: np.where(m, x, y)),
    "select": ((BOOL, FLOAT, FLOAT), FLOAT, lambda np, lax, m, x, y: lax.select(m, x, y)),
    "greater": ((FLOAT, FLOAT), BOOL, lambda np, lax, x, y: x > y),
    "less_equal": ((INT, INT), BOOL, lambda np, lax, x, y: lax.le(x, y)),
    "is_even": ((INT,), BOOL, lambda np, lax, x: x % 2 == 0),
    "not": ((BOOL,), BOOL, lambda np, lax, m: ~m),
    "xor": ((BOOL, BOOL), BOOL, lambda np, lax, m, n: np.logical_xor(m, n)),
    "and": ((BOOL, BOOL), BOOL, lambda np, lax, m, n: m & n),
    "int_add": ((INT, INT), INT, lambda np, lax, x, y: x + y),
    "int_mul": ((INT, INT), INT, lambda np, lax, x, y: (x * y) % 17),
    "int_divide": ((INT, INT), INT, lambda np, lax, x, y: x // (1 + abs(y))),
    "int_rem": ((INT, INT), INT, lambda np, lax, x, y: lax.rem(x, 1 + np.abs(y))),
    "int_bits": ((INT, INT), INT, lambda np, lax, x, y: (x & y) ^ (x | 3)),
    "int_shift": ((INT,), INT, lambda np, lax, x: lax.shift_right_arithmetic(x, lax.full_like(x, 1))),
    "int_where": ((BOOL, INT, INT), INT, lambda np, lax, m, x, y: np.where(m, x, y)),
    "to_int": ((FLOAT,), INT, lambda np, lax, x: np.clip(x * 4, -9, 9).astype(int)),
    "to_float": ((INT,), FLOAT, lambda np, lax, x: x * 0.5),
    "bool_to_float": ((BOOL,), FLOAT, lambda np, lax, m: m * 1.5),
    "mixed": ((FLOAT, INT), FLOAT, lambda np, lax, x, y: x * (y % 3)),
    "complex": ((FLOAT, FLOAT), COMPLEX, lambda np, lax, x, y: lax.complex(x, y)),
    "complex_mul": ((COMPLEX, COMPLEX), COMPLEX, lambda np, lax, x, y: x * y),
    "complex_add": ((COMPLEX, FLOAT), COMPLEX, lambda np, lax, x, y: x + y),
    "complex_sin": ((COMPLEX,), COMPLEX, lambda np, lax, x: np.sin(x / (1 + np.abs(x)))),
    "conj": ((COMPLEX,), COMPLEX, lambda np, lax, x: np.conj(x)),
    "real": ((COMPLEX,), FLOAT, lambda np, lax, x: np.real(x)),
    "imag": ((COMPLEX,), FLOAT, lambda np, lax, x: lax.imag(x)),
    "square_modulus": ((COMPLEX,), FLOAT, lambda np, lax, x: np.abs(x * x + 2)),
}


def _softmax(np: Any, x: Any) -> Any:
    powers = np.exp(x - x.max())
    return powers / powers.sum()


# name -> (kinds it takes, shape of the operand -> shape of the result or None where it does not apply, the operation).
SHAPED: dict[str, tuple[tuple[str, ...], Callable[[tuple[int, ...]], Any], Elementwise]] = {
    "sum": ((FLOAT, INT), lambda s: () if s else None, lambda np, lax, x: x.sum()),
    "sum_first": ((FLOAT, INT), lambda s: s[1:] if s else None, lambda np, lax, x: np.sum(x, axis=0)),
    "mean_last": ((FLOAT,), lambda s: s[:-1] if s else None, lambda np, lax, x: x.mean(-1)),
    "max_last": ((FLOAT, INT), lambda s: s[:-1] if s else None, lambda np, lax, x: np.max(x, axis=-1)),
    "prod": ((FLOAT,), lambda s: () if s else None, lambda np, lax, x: np.prod(np.tanh(x) + 1)),
    "logsumexp": ((FLOAT,), lambda s: s[1:] if s else None, lambda np, lax, x: np.log(np.sum(np.exp(np.tanh(x)), 0))),
    "cumsum": ((FLOAT, INT), lambda s: s if s else None, lambda np, lax, x: np.cumsum(x, axis=0)),
    "cumprod": ((FLOAT,), lambda s: s if s else None, lambda np, lax, x: lax.cumprod(np.cos(x), axis=0)),
    "cummax": ((FLOAT,), lambda s: s if s else None, lambda np, lax, x: lax.cummax(x, axis=0, reverse=True)),
    "sort": ((FLOAT,), lambda s: s if s else None, lambda np, lax, x: np.sort(x, axis=-1)),
    "flip": ((FLOAT, INT, BOOL), lambda s: s if s else None, lambda np, lax, x: np.flip(x, 0)),
    "roll": ((FLOAT, COMPLEX), lambda s: s if s else None, lambda np, lax, x: np.roll(x, 1, axis=-1)),
    "transpose": ((FLOAT, INT, COMPLEX), lambda s: s[::-1] if len(s) == 2 else None, lambda np, lax, x: x.T),
    "first": ((FLOAT, INT, BOOL), lambda s: s[1:] if s else None, lambda np, lax, x: x[0]),
    "last": ((FLOAT, COMPLEX), lambda s: s[:-1] if s else None, lambda np, lax, x: x[..., -1]),
    "reversed_slice": ((FLOAT,), lambda s: s if s else None, lambda np, lax, x: x[::-1]),
    "stretch": ((FLOAT, INT), lambda s: (3,) if s == () else None, lambda np, lax, x: np.broadcast_to(x, (3,))),
    "rows": ((FLOAT,), lambda s: (2, *s) if s == (3,) else None, lambda np, lax, x: np.stack([x, np.sin(x)])),
    "columns": ((FLOAT,), lambda s: (*s, 2) if s == (3,) else None, lambda np, lax, x: x[:, None] * np.arange(1, 3)),
    "set_first": ((FLOAT, INT), lambda s: s if s else None, lambda np, lax, x: x.at[0].set(2)),
    "add_twice": ((FLOAT,), lambda s: s if s else None, lambda np, lax, x: x.at[np.array([0, 1, 0])].add(x[-1])),
    "multiply_at": ((FLOAT,), lambda s: s if s else None, lambda np, lax, x: x.at[1].multiply(x[0])),
    "pad": ((FLOAT,), lambda s: (3,) if s == (2,) else None, lambda np, lax, x: np.pad(x, (0, 1), constant_values=0.5)),
    "argmax": ((FLOAT,), lambda s: () if s else None, lambda np, lax, x: np.argmax(x)),
    "any": ((BOOL,), lambda s: () if s else None, lambda np, lax, x: np.any(x)),
    "all_last": ((BOOL,), lambda s: s[:-1] if s else None, lambda np, lax, x: x.all(-1)),
    "softmax": ((FLOAT,), lambda s: s if s else None, lambda np, lax, x: _softmax(np, x)),
}
OTHER_KIND = {"argmax": INT}

# name -> (types of the operands, type of the result, the operation).
FIXED: dict[str, tuple[tuple[Type, ...], Type, Elementwise]] = {
    "dot": ((Type(FLOAT, (2, 3)), Type(FLOAT, (3,))), Type(FLOAT, (2,)), lambda np, lax, x, y: x @ y),
    "inner": ((Type(FLOAT, (3,)), Type(FLOAT, (3,))), Type(FLOAT), lambda np, lax, x, y: np.dot(x, y)),
    "outer": ((Type(FLOAT, (2,)), Type(FLOAT, (3,))), Type(FLOAT, (2, 3)), lambda np, lax, x, y: x[:, None] * y),
    "matmul": (
        (Type(FLOAT, (3, 2)), Type(FLOAT, (2, 3)), Type(FLOAT, (3,))),
        Type(FLOAT, (3,)),
        lambda np, lax, x, y, z: np.matmul(np.matmul(x, y), z),
    ),
    "einsum": (
        (Type(FLOAT, (2, 3)), Type(FLOAT, (2, 3))),
        Type(FLOAT, (3,)),
        lambda np, lax, x, y: np.einsum("ij,ij->j", x, y),
    ),
    "take": (
        (Type(FLOAT, (3,)), Type(INT, (2,))),
        Type(FLOAT, (2,)),
        lambda np, lax, x, i: np.take(x, i % 3, axis=0),
    ),
    "index": ((Type(FLOAT, (2, 3)), Type(INT)), Type(FLOAT, (2,)), lambda np, lax, x, i: x[:, i % 3]),
    "dynamic_slice": (
        (Type(FLOAT, (3,)), Type(INT)),
        Type(FLOAT, (2,)),
        lambda np, lax, x, i: lax.dynamic_slice(x, (i,), (2,)),
    ),
    "dynamic_update": (
        (Type(FLOAT, (3,)), Type(FLOAT, (2,)), Type(INT)),
        Type(FLOAT, (3,)),
        lambda np, lax, x, y, i: lax.dynamic_update_slice(x, y, (i,)),
    ),
    "scatter": (
        (Type(FLOAT, (3,)), Type(FLOAT, (2,)), Type(INT, (2,))),
        Type(FLOAT, (3,)),
        lambda np, lax, x, y, i: x.at[i % 3].add(y),
    ),
    "concatenate": (
        (Type(FLOAT, (2,)), Type(FLOAT)),
        Type(FLOAT, (3,)),
        lambda np, lax, x, y: np.concatenate([x, y[None]]),
    ),
    "bool_index": (
        (Type(BOOL, (3,)), Type(FLOAT, (3,))),
        Type(FLOAT),
        lambda np, lax, m, x: np.sum(x, where=m, initial=0.5),
    ),
}


def constant(type_: Type, double: bool) -> numpy.ndarray:
    """A constant of a type, the same each time."""
    count = int(numpy.prod(type_.shape))
    values = numpy.cos(numpy.arange(count) * 1.7 + 0.4).reshape(type_.shape)
    if type_.kind in (INT, BOOL):
        values = numpy.round(values * 3)
    return values.astype(DTYPES[double][type_.kind])
