"""Programs from seeds: blocks of random steps, control flow and transformations within each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from tests.differential.generated.blocks import FIXED, OTHER_KIND, SHAPED, SIMPLE

from .blocks import BOOL, COMPLEX, FLOAT, INT, Block, Sample, Step, Type

SHAPES = ((), (2,), (3,), (2, 3), (3, 2))
DEPTH = 3
BROADCASTS = frozenset({"add", "mul", "maximum", "where", "greater", "int_add", "logaddexp", "mixed", "complex_add"})
POLICIES = (None, "everything_saveable", "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable")
# What has no derivative of a kind: a loop whose turns are not counted in reverse, a vjp rule forward.
REVERSE, FORWARD = frozenset({"while"}), frozenset({"custom_vjp"})


class Maker:
    """Makes the steps of one program. `banned`: steps that may not be made here, for a transformation around."""

    def __init__(self, seed: int) -> None:
        self.random = numpy.random.default_rng([seed, 0])

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def choose(self, values: Sequence):
        return values[int(self.random.integers(len(values)))]

    def sample(self, seed: int) -> Sample:
        """A whole program."""
        kinds = [FLOAT, FLOAT, FLOAT, INT, BOOL, COMPLEX]
        params = [Type(FLOAT, self.choose(SHAPES[1:])), Type(FLOAT, self.choose(SHAPES))]
        params += [Type(self.choose(kinds), self.choose(SHAPES)) for _ in range(int(self.random.integers(0, 3)))]
        block = self.block(params, [], 0, int(self.random.integers(3, 8)), frozenset())
        return Sample(seed, block, self.chance(0.4))

    def block(
        self,
        params: Sequence[Type],
        around: Sequence[Type],
        depth: int,
        steps: int,
        banned: frozenset[str],
        results: Sequence[Type] | None = None,
        captures: bool = True,
    ) -> Block:
        """A block of some steps; `around`: the types of the values around it; `results`: what it must give."""
        captured: list[int] = []
        if captures and around and self.chance(0.5):
            captured = sorted({int(self.random.integers(len(around))) for _ in range(int(self.random.integers(1, 3)))})
        types = [*[around[number] for number in captured], *params]
        made: list[Step] = []
        self_types = types[:]
        for _ in range(steps):
            for step in self.step(self_types, depth, banned):
                made.append(step)
                self_types.extend(step.outs)
        if results is None:
            recent = [n for n in range(len(self_types)) if n >= len(self_types) - 4]
            found = sorted({self.choose(recent) for _ in range(int(self.random.integers(1, 4)))})
        else:
            found = [self.given(self_types, made, type_) for type_ in results]
        return Block(
            tuple(params),
            tuple(made),
            tuple(found),
            tuple(captured),
            tuple(around[number] for number in captured),
        )

    def given(self, types: list[Type], made: list[Step], wanted: Type) -> int:
        """The number of a value of a type, of the last ones rather than the first; a constant where there is none."""
        numbers = [number for number, type_ in enumerate(types) if type_ == wanted]
        if not numbers or self.chance(0.03):
            made.append(Step("constant", (), (wanted,)))
            types.append(wanted)
            return len(types) - 1
        return self.choose(numbers[-3:]) if self.chance(0.7) else self.choose(numbers)

    def step(self, types: list[Type], depth: int, banned: frozenset[str]) -> list[Step]:
        """A step, with the constants that it needs in front."""
        types, made = list(types), []
        structured = depth < DEPTH and self.chance((0.55, 0.4, 0.25)[depth])
        if structured:
            name = self.choose([name for name in STRUCTURED if name not in banned])
            step = getattr(self, f"make_{name}")(name, types, made, depth, banned)
            if step is not None:
                return [*made, step]
            types, made = types[: len(types) - len(made)], []
        draw = self.random.random()
        if draw < 0.12:
            name = self.choose(list(FIXED))
            operands, result, _ = FIXED[name]
            args = tuple(self.given(types, made, type_) for type_ in operands)
            return [*made, Step(name, args, (result,))]
        if draw < 0.45:
            step = self.make_shaped(types)
            if step is not None:
                return [step]
        simple = self.make_simple(types, made)
        return [*made, simple]

    def make_simple(self, types: list[Type], made: list[Step]) -> Step:
        name = self.choose(list(SIMPLE))
        kinds, result, _ = SIMPLE[name]
        shapes = [type_.shape for type_ in types if type_.kind == kinds[-1]] or [()]
        shape = self.choose(shapes[-4:])
        args = []
        for position, kind in enumerate(kinds):
            own = () if position and name in BROADCASTS and self.chance(0.25) else shape
            args.append(self.given(types, made, Type(kind, own)))
        step = Step(name, tuple(args), (Type(result, shape),))
        return step

    def make_shaped(self, types: list[Type]) -> Step | None:
        for _ in range(6):
            name = self.choose(list(SHAPED))
            kinds, shape_of, _ = SHAPED[name]
            fitting = [(n, t) for n, t in enumerate(types) if t.kind in kinds and shape_of(t.shape) in SHAPES]
            if fitting:
                number, type_ = self.choose(fitting[-4:])
                return Step(name, (number,), (Type(OTHER_KIND.get(name, type_.kind), shape_of(type_.shape)),))
        return None

    # --- steps that take functions ----------------------------------------------------------------------------------

    def some(self, types: Sequence[Type], count: int, kinds: Sequence[str] = (FLOAT, INT, BOOL, COMPLEX)) -> list[int]:
        numbers = [number for number, type_ in enumerate(types) if type_.kind in kinds]
        return [self.choose(numbers[-6:]) for _ in range(count)] if numbers else []

    def inner(self, params, types, depth, banned, results=None, captures=True) -> Block:
        return self.block(params, types, depth + 1, int(self.random.integers(1, 4)), banned, results, captures)

    def make_call(self, name, types, made, depth, banned) -> Step | None:
        args = self.some(types, int(self.random.integers(1, 4)))
        block = self.inner([types[n] for n in args], types, depth, banned)
        options = {"policy": self.choose(POLICIES)} if name == "checkpoint" else {}
        return Step(name, tuple(args), block.out_types(), options, (block,))

    make_jit = make_checkpoint = make_call

    def make_custom_jvp(self, name, types, made, depth, banned) -> Step | None:
        args = self.some(types, int(self.random.integers(1, 3)), (FLOAT,))
        if not args:
            return None
        block = self.inner([types[n] for n in args], types, depth, banned | FORWARD | REVERSE, captures=False)
        kept = tuple(r for r in block.results if block.types()[r].kind == FLOAT)
        block = Block(block.params, block.steps, kept or (0,))
        return Step(name, tuple(args), block.out_types(), {}, (block,))

    make_custom_vjp = make_custom_jvp

    def make_cond(self, name, types, made, depth, banned) -> Step | None:
        args = self.some(types, int(self.random.integers(1, 4)))
        decides = self.given(types, made, Type(BOOL if name == "cond" else INT))
        params = [types[n] for n in args]
        first = self.inner(params, types, depth, banned)
        others = [
            self.inner(params, types, depth, banned, first.out_types()) for _ in range(1 if name == "cond" else 2)
        ]
        return Step(name, (decides, *args), first.out_types(), {}, (first, *others))

    make_switch = make_cond

    def make_scan(self, name, types, made, depth, banned) -> Step | None:
        carry = self.some(types, int(self.random.integers(0, 3)))
        length = self.choose((2, 3))
        longer = [n for n, t in enumerate(types) if t.shape[:1] == (length,)]
        xs = [self.choose(longer[-5:]) for _ in range(int(self.random.integers(0, 3)))] if longer else []
        if not carry and not xs:
            return None
        if not xs:
            length = 3
        carried = [types[n] for n in carry]
        params = [*carried, *[Type(types[n].kind, types[n].shape[1:]) for n in xs]]
        given = [Type(FLOAT, shape) for shape in SHAPES if (length, *shape) in SHAPES]
        ys = [self.choose(given) for _ in range(int(self.random.integers(0 if carry else 1, 3)))]
        body = self.inner(params, types, depth, banned, [*carried, *ys])
        outs = (*carried, *[Type(y.kind, (length, *y.shape)) for y in ys])
        options = {"carry": len(carry), "reverse": self.chance(0.3)}
        return Step(name, (*carry, *xs), outs, options, (body,))

    def make_map(self, name, types, made, depth, banned) -> Step | None:
        length = self.choose((2, 3))
        longer = [n for n, t in enumerate(types) if t.shape[:1] == (length,)]
        if not longer:
            return None
        xs = [self.choose(longer[-5:]) for _ in range(int(self.random.integers(1, 3)))]
        given = [Type(FLOAT, shape) for shape in SHAPES if (length, *shape) in SHAPES]
        params = [Type(types[n].kind, types[n].shape[1:]) for n in xs]
        body = self.inner(params, types, depth, banned, [self.choose(given)])
        outs = tuple(Type(t.kind, (length, *t.shape)) for t in body.out_types())
        return Step(name, tuple(xs), outs, {}, (body,))

    def make_fori(self, name, types, made, depth, banned) -> Step | None:
        carry = self.some(types, int(self.random.integers(1, 3)))
        if not carry:
            return None
        carried = [types[n] for n in carry]
        options = {"turns": int(self.random.integers(0, 4))}
        if name == "while":
            body = self.inner(carried, types, depth, banned, carried)
            condition = self.inner(carried, types, depth, banned, [Type(BOOL)])
            return Step(name, tuple(carry), tuple(carried), options, (body, condition))
        body = self.inner([Type(INT), *carried], types, depth, banned, carried)
        return Step(name, tuple(carry), tuple(carried), options, (body,))

    make_while = make_fori

    def make_grad(self, name, types, made, depth, banned) -> Step | None:
        args = [*self.some(types, 1, (FLOAT,)), *self.some(types, int(self.random.integers(0, 3)))]
        floats = [position for position, n in enumerate(args) if types[n].kind == FLOAT]
        if not floats:
            return None
        argnums = sorted({self.choose(floats) for _ in range(2)})
        more = {"jvp": FORWARD, "linearize": FORWARD | REVERSE}.get(name, REVERSE)
        block = self.inner([types[n] for n in args], types, depth, banned | more)
        outs = tuple(types[args[position]] for position in argnums)
        if name == "value_and_grad":
            outs = (Type(FLOAT), *outs)
        if name in ("jvp", "linearize", "vjp"):
            inexact = tuple(t for t in block.out_types() if t.kind in (FLOAT, COMPLEX))
            if not inexact:
                return None
            outs = outs if name == "vjp" else (*inexact, *inexact)
        return Step(name, tuple(args), outs, {"argnums": argnums}, (block,))

    make_value_and_grad = make_jvp = make_vjp = make_linearize = make_grad

    def make_vmap(self, name, types, made, depth, banned) -> Step | None:
        size = self.choose((2, 3))
        mappable = [n for n, t in enumerate(types) if size in t.shape]
        if not mappable:
            return None
        args = [self.choose(mappable[-5:]), *self.some(types, int(self.random.integers(0, 3)))]
        axes: list[int | None] = []
        params = []
        for position, number in enumerate(args):
            shape = types[number].shape
            found = [axis for axis, length in enumerate(shape) if length == size]
            axis = self.choose(found) if found and (position == 0 or self.chance(0.6)) else None
            axes.append(axis if axis is None or self.chance(0.7) else axis - len(shape))
            params.append(Type(types[number].kind, tuple(s for a, s in enumerate(shape) if a != axis)))
        placed = [
            (shape, out, (*shape[:out], size, *shape[out:]))
            for shape in SHAPES
            for out in range(len(shape) + 1)
            if (*shape[:out], size, *shape[out:]) in SHAPES
        ]
        chosen = [self.choose(placed) for _ in range(int(self.random.integers(1, 3)))]
        kinds = [self.choose((FLOAT, FLOAT, FLOAT, INT, BOOL)) for _ in chosen]
        wanted = [Type(kind, shape) for kind, (shape, _, _) in zip(kinds, chosen)]
        block = self.inner(params, types, depth, banned, wanted)
        outs = tuple(Type(kind, whole) for kind, (_, _, whole) in zip(kinds, chosen))
        options = {"in_axes": axes, "out_axes": [out for _, out, _ in chosen]}
        return Step(name, tuple(args), outs, options, (block,))


STRUCTURED = tuple(
    name
    for name, weight in {
        "cond": 2,
        "switch": 1,
        "scan": 3,
        "map": 1,
        "fori": 1,
        "while": 2,
        "call": 1,
        "jit": 2,
        "checkpoint": 2,
        "custom_jvp": 2,
        "custom_vjp": 2,
        "grad": 3,
        "value_and_grad": 1,
        "jvp": 2,
        "vjp": 2,
        "linearize": 1,
        "vmap": 4,
    }.items()
    for _ in range(weight)
)


def make(seed: int) -> Sample:
    """The program of a seed."""
    return Maker(seed).sample(seed)
