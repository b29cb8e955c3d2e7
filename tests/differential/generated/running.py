"""Running a program against an api: what the steps that take functions do, and the arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from tests.differential.generated.blocks import (
    BOOL,
    DTYPES,
    FIXED,
    FLOAT,
    INT,
    SHAPED,
    SIMPLE,
    Block,
    Sample,
    Step,
    constant,
    lines,
    without_dead_steps,
)
from tests.differential.generated.making import make

Values = list[Any]


class Runner:
    """One api, one precision."""

    def __init__(self, api: Any, double: bool) -> None:
        self.api = api
        self.np = api.numpy
        self.lax = api.lax
        self.double = double

    def function(self, block: Block, around: Sequence[Any] = ()) -> Callable[..., tuple[Any, ...]]:
        """The block as a function of its parameters; captured values come from the values around it."""

        def run(*args: Any) -> tuple[Any, ...]:
            values = [*[around[number] for number in block.captured], *args]
            for step in block.steps:
                values.extend(self.step(step, values))
            return tuple([values[result] for result in block.results])

        return run

    def step(self, step: Step, values: Values) -> Sequence[Any]:
        args = [values[number] for number in step.args]
        for table in (SIMPLE, SHAPED, FIXED):
            if step.name in table:
                return (table[step.name][2](self.np, self.lax, *args),)
        functions = [self.function(block, values) for block in step.blocks]
        return getattr(self, f"do_{step.name}")(step, functions, args)

    def scalar(self, outs: Sequence[Any]) -> Any:
        """A scalar of results, with uneven weights."""
        total = 0.0
        for position, out in enumerate(outs):
            if out.dtype.kind == "c":
                out = self.np.real(out) + 0.5 * self.np.imag(out)
            if out.dtype.kind == "f":
                total = total + (position + 1) * self.np.sum(self.np.cos(0.3 + out) + 0.5 * out)
        return total

    # --- plain ------------------------------------------------------------------------------------------------------

    def do_constant(self, step: Step, functions: Any, args: Values) -> Any:
        return (self.np.asarray(constant(step.outs[0], self.double)),)

    def do_host_constant(self, step: Step, functions: Any, args: Values) -> Any:
        return (self.np.sin(args[0]) + constant(step.outs[0], self.double),)

    def do_call(self, step: Step, functions: Any, args: Values) -> Any:
        return functions[0](*args)

    def do_jit(self, step: Step, functions: Any, args: Values) -> Any:
        return self.api.jit(functions[0])(*args)

    def do_checkpoint(self, step: Step, functions: Any, args: Values) -> Any:
        name = step.options["policy"]
        policy = None if name is None else getattr(self.api.checkpoint_policies, name)
        return self.api.checkpoint(functions[0], policy=policy)(*args)

    # --- control flow -----------------------------------------------------------------------------------------------

    def do_cond(self, step: Step, functions: Any, args: Values) -> Any:
        return self.lax.cond(args[0], functions[0], functions[1], *args[1:])

    def do_switch(self, step: Step, functions: Any, args: Values) -> Any:
        return self.lax.switch(args[0] % len(functions), functions, *args[1:])

    def do_scan(self, step: Step, functions: Any, args: Values) -> Any:
        carried, reverse = step.options["carry"], step.options["reverse"]

        def body(carry: Any, slices: Any) -> Any:
            outs = functions[0](*carry, *slices)
            return tuple(outs[:carried]), tuple(outs[carried:])

        init, xs = tuple(args[:carried]), tuple(args[carried:])
        length = None if xs else 3
        last, ys = self.lax.scan(body, init, xs, length=length, reverse=reverse)
        return (*last, *ys)

    def do_fori(self, step: Step, functions: Any, args: Values) -> Any:
        body = lambda i, carry: functions[0](self.np.asarray(i, DTYPES[self.double][INT]), *carry)
        return self.lax.fori_loop(0, step.options["turns"], body, tuple(args))

    def do_while(self, step: Step, functions: Any, args: Values) -> Any:
        turns = step.options["turns"]

        def condition(carry: Any) -> Any:
            (more,) = functions[1](*carry[1:])
            return (carry[0] < turns) & more

        body = lambda carry: (carry[0] + 1, *functions[0](*carry[1:]))
        return self.lax.while_loop(condition, body, (0, *args))[1:]

    def do_map(self, step: Step, functions: Any, args: Values) -> Any:
        return self.lax.map(lambda slices: functions[0](*slices), tuple(args))

    # --- transformations --------------------------------------------------------------------------------------------

    def do_grad(self, step: Step, functions: Any, args: Values) -> Any:
        argnums = tuple(step.options["argnums"])
        return self.api.grad(lambda *xs: self.scalar(functions[0](*xs)), argnums=argnums)(*args)

    def do_value_and_grad(self, step: Step, functions: Any, args: Values) -> Any:
        argnums = tuple(step.options["argnums"])
        scalar = lambda *xs: self.scalar(functions[0](*xs))
        value, found = self.api.value_and_grad(scalar, argnums=argnums)(*args)
        return (self.np.asarray(value, DTYPES[self.double][FLOAT]), *found)

    def _of_some(self, step: Step, functions: Any, args: Values) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function of the arguments that are differentiated, and these."""
        argnums = step.options["argnums"]

        def some(*xs: Any) -> Any:
            full = list(args)
            for position, x in zip(argnums, xs):
                full[position] = x
            return functions[0](*full)

        return some, tuple([args[position] for position in argnums])

    def _inexact(self, outs: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([out for out in outs if out.dtype.kind in "fc"])

    def do_jvp(self, step: Step, functions: Any, args: Values) -> Any:
        some, primals = self._of_some(step, functions, args)
        inexact = lambda *xs: self._inexact(some(*xs))
        tangents = tuple([self.np.cos(x) for x in primals])
        outs, out_tangents = self.api.jvp(inexact, primals, tangents)
        return (*outs, *out_tangents)

    def do_linearize(self, step: Step, functions: Any, args: Values) -> Any:
        some, primals = self._of_some(step, functions, args)
        outs, linear = self.api.linearize(lambda *xs: self._inexact(some(*xs)), *primals)
        return (*outs, *linear(*[self.np.cos(x) for x in primals]))

    def do_vjp(self, step: Step, functions: Any, args: Values) -> Any:
        some, primals = self._of_some(step, functions, args)
        outs, back = self.api.vjp(lambda *xs: self._inexact(some(*xs)), *primals)
        return back(tuple([self.np.cos(out) for out in outs]))

    def do_vmap(self, step: Step, functions: Any, args: Values) -> Any:
        in_axes, out_axes = tuple(step.options["in_axes"]), tuple(step.options["out_axes"])
        return self.api.vmap(functions[0], in_axes=in_axes, out_axes=out_axes)(*args)

    def do_custom_jvp(self, step: Step, functions: Any, args: Values) -> Any:
        """A function whose rule is not its derivative, so that it shows which is used."""
        custom = self.api.custom_jvp(functions[0])

        @custom.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            outs, out_tangents = self.api.jvp(functions[0], primals, tangents)
            return outs, tuple([3 * tangent if tangent.dtype.kind in "fc" else tangent for tangent in out_tangents])

        return custom(*args)

    def do_custom_vjp(self, step: Step, functions: Any, args: Values) -> Any:
        custom = self.api.custom_vjp(functions[0])
        custom.defvjp(
            lambda *xs: (custom(*xs), xs),
            lambda xs, cts: tuple([2 * ct for ct in self.api.vjp(functions[0], *xs)[1](cts)]),
        )
        return custom(*args)


def arguments(sample: Sample) -> list[numpy.ndarray]:
    """The arguments of a program, as its seed gives them."""
    random = numpy.random.default_rng([sample.seed, 1])
    found = []
    for type_ in sample.block.params:
        values = random.standard_normal(type_.shape)
        if type_.kind == INT:
            values = random.integers(-6, 7, type_.shape)
        elif type_.kind == BOOL:
            values = random.random(type_.shape) < 0.5
        elif type_.kind == "complex":
            values = values + 1j * random.standard_normal(type_.shape)
        found.append(numpy.asarray(values).astype(DTYPES[sample.double][type_.kind]))
    return found


def outcome(api: Any, sample: Sample, args: Sequence[numpy.ndarray], jitted: bool) -> list[numpy.ndarray]:
    """The results of a program as NumPy arrays. The precision must have been set."""
    function = Runner(api, sample.double).function(sample.block)
    arrays = [api.numpy.asarray(arg) for arg in args]
    return [numpy.asarray(out) for out in (api.jit(function) if jitted else function)(*arrays)]


# --- The smallest program that still shows a difference ---


PLAIN_CALLS = ("jit", "checkpoint", "custom_jvp", "custom_vjp")


def shrunk(sample: Sample, differs: Callable[[Sample], bool], tries: int = 400) -> Sample:
    """A smaller program for which `differs` holds too; `tries`: how many may be run for it."""
    best = replace(sample, block=without_dead_steps(sample.block))
    if not differs(best):
        return sample
    going = True
    while going:
        going = False
        for block in smaller(best.block):
            candidate = replace(best, block=without_dead_steps(block))
            if candidate.block.size() > best.block.size() or candidate.block == best.block:
                continue
            tries -= 1
            if tries < 0:
                return best
            if differs(candidate):
                best, going = candidate, True
                break
    return best


def smaller(block: Block) -> Iterator[Block]:
    """Blocks with one thing less."""
    if len(block.results) > 1:
        for result in block.results:
            yield replace(block, results=(result,))
    yield from smaller_steps(block)


def smaller_steps(block: Block) -> Iterator[Block]:
    """Blocks of the same type with one step less, or a simpler one."""
    types = block.types()
    first = len(block.captured) + len(block.params)
    number = first
    for position, step in enumerate(block.steps):
        for k, out in enumerate(step.outs if step.name != "constant" else ()):
            for earlier in [n for n in range(number) if types[n] == out][-3:]:
                yield substituted(block, number + k, earlier)
        if len(step.outs) == 1 and step.name != "constant":
            yield with_step(block, position, Step("constant", (), step.outs))
        if step.name in PLAIN_CALLS:
            yield with_step(block, position, replace(step, name="call", options={}))
        for k, inner in enumerate(step.blocks):
            for less in smaller_steps(inner):
                blocks = (*step.blocks[:k], less, *step.blocks[k + 1 :])
                yield with_step(block, position, replace(step, blocks=blocks))
        number += len(step.outs)


def with_step(block: Block, position: int, step: Step) -> Block:
    """The block with another step in a place."""
    return replace(block, steps=(*block.steps[:position], step, *block.steps[position + 1 :]))


def substituted(block: Block, number: int, other: int) -> Block:
    """The block in which another value is read in place of a value."""
    read = lambda n: other if n == number else n
    steps = tuple(
        replace(
            step,
            args=tuple(read(n) for n in step.args),
            blocks=tuple(replace(b, captured=tuple(read(n) for n in b.captured)) for b in step.blocks),
        )
        for step in block.steps
    )
    return replace(block, steps=steps, results=tuple(read(n) for n in block.results))


# --- Running one program on both sides and saying where they differ ---


# Relative to the larger of element and array scale; programs have some twenty operations, and derivatives of them.
TOLERANCES = {"float32": 2e-3, "complex64": 2e-3, "float64": 1e-8, "complex128": 1e-8}
NUDGES = {False: 3e-6, True: 1e-12}  # relative changes of the arguments that rounding may amount to

AGREE, ROUNDING, BOTH_REFUSE, MORE = "agree", "rounding", "both refuse", "only JAX refuses"


@dataclass
class Tally:
    """What came out of many programs."""

    counts: dict[str, int] = field(default_factory=dict)
    reports: list[str] = field(default_factory=list)

    def add(self, verdict: str) -> None:
        self.counts[verdict] = self.counts.get(verdict, 0) + 1


class Comparison:
    """JAX against Tangrad on one backend."""

    def __init__(self, jax: Any, tangrad: Any) -> None:
        self.jax = jax
        self.tangrad = tangrad

    def expected(self, samples: Sequence[Sample]) -> list[Any]:
        """JAX's results for each program, or what it raised. All of one precision are one compilation: that of a
        program by itself would take as long as everything else together."""
        found: dict[int, Any] = {}
        for double in (False, True):
            group = [position for position, sample in enumerate(samples) if sample.double is double]
            found.update(zip(group, self._expected_together([samples[position] for position in group]), strict=True))
        return [found[position] for position in range(len(samples))]

    def _expected_together(self, samples: Sequence[Sample]) -> list[Any]:
        if not samples:
            return []
        refused: dict[int, Exception] = {}

        def every(args: Any) -> list[Any]:
            outs: list[Any] = []
            for position, sample in enumerate(samples):
                try:
                    outs.append(Runner(self.jax, sample.double).function(sample.block)(*args[position]))
                except Exception as error:
                    refused[position] = error
                    outs.append(())
            return outs

        with self.jax.enable_x64(samples[0].double):
            arrays = [[self.jax.numpy.asarray(arg) for arg in arguments(sample)] for sample in samples]
            try:
                results = self.jax.jit(every)(arrays)
            except Exception as error:
                if len(samples) == 1:
                    return [error]
                return [self._expected_together([sample])[0] for sample in samples]
        return [refused.get(position) or [numpy.asarray(out) for out in outs] for position, outs in enumerate(results)]

    def found(self, sample: Sample, args: Sequence[numpy.ndarray], backend: str, jitted: bool) -> list[numpy.ndarray]:
        with contextlib.ExitStack() as settings:
            settings.enter_context(self.tangrad.use_backend(backend))
            settings.enter_context(self.tangrad.enable_x64(sample.double))
            settings.enter_context(numpy.errstate(all="ignore"))
            return outcome(self.tangrad, sample, args, jitted)

    def verdicts(
        self, sample: Sample, runs: Sequence[tuple[str, bool]], expected: Any = None
    ) -> list[tuple[str, bool, str]]:
        """For each run (a backend, and whether jitted) what came out; a text for a difference."""
        if expected is None:
            (expected,) = self.expected([sample])
        args = arguments(sample)
        return [(backend, jitted, self.verdict(sample, args, expected, backend, jitted)) for backend, jitted in runs]

    def verdict(self, sample: Sample, args: Any, expected: Any, backend: str, jitted: bool) -> str:
        try:
            got = self.found(sample, args, backend, jitted)
        except Exception as error:
            if isinstance(expected, Exception):
                return BOTH_REFUSE
            return f"raises {type(error).__name__}: {str(error)[:300]}"
        if isinstance(expected, Exception):
            return MORE
        text = difference(got, expected)
        if text is not None and self.is_rounding(sample, args, got, expected):
            return ROUNDING
        return AGREE if text is None else text

    def is_rounding(self, sample: Sample, args: Any, got: Any, expected: Any) -> bool:
        """Whether JAX's own results move as far when its arguments move by a rounding: they are ill-conditioned."""
        if [(g.shape, g.dtype) for g in got] != [(e.shape, e.dtype) for e in expected]:
            return False
        random = numpy.random.default_rng([sample.seed, 2])
        moved = [numpy.zeros(e.shape, bool) for e in expected]
        with self.jax.enable_x64(sample.double), numpy.errstate(all="ignore"):
            function = self.jax.jit(Runner(self.jax, sample.double).function(sample.block))
            for _ in range(4):
                others = function(*[self.jax.numpy.asarray(_nudged(arg, sample.double, random)) for arg in args])
                for position, (other, e, g) in enumerate(zip(map(numpy.asarray, others), expected, got)):
                    far = numpy.abs(_wide(other) - _wide(e)) * 20 >= numpy.abs(_wide(g) - _wide(e))
                    moved[position] |= far | (numpy.isnan(_wide(other)) != numpy.isnan(_wide(e)))
        return all(bool(numpy.all(close(g, e) | m)) for g, e, m in zip(got, expected, moved))

    def differs(self, backend: str, jitted: bool) -> Any:
        def test(sample: Sample) -> bool:
            ((_, _, verdict),) = self.verdicts(sample, [(backend, jitted)])
            return verdict not in (AGREE, ROUNDING, BOTH_REFUSE, MORE)

        return test


def _nudged(arg: numpy.ndarray, double: bool, random: numpy.random.Generator) -> numpy.ndarray:
    if arg.dtype.kind not in "fc":
        return arg
    return (arg * (1 + NUDGES[double] * random.standard_normal(arg.shape))).astype(arg.dtype)


def _wide(value: numpy.ndarray) -> numpy.ndarray:
    return value.astype(numpy.complex128 if value.dtype.kind == "c" else numpy.float64)


def close(got: numpy.ndarray, expected: numpy.ndarray) -> numpy.ndarray:
    """Where two arrays of one shape agree."""
    tolerance = TOLERANCES.get(expected.dtype.name)
    if tolerance is None:
        return got == expected
    one, other = _wide(got), _wide(expected)
    finite = numpy.abs(other[numpy.isfinite(other)])
    scale = max(float(finite.max()) if finite.size else 1.0, 1e-3)
    return numpy.isclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def difference(got: Sequence[numpy.ndarray], expected: Sequence[numpy.ndarray]) -> str | None:
    """The first difference in words, or None."""
    for position, (one, other) in enumerate(zip(got, expected, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {position} is {one.dtype}{list(one.shape)}, expected {other.dtype}{list(other.shape)}"
        if not numpy.all(close(one, other)):
            return f"result {position} is\n{one}\nexpected\n{other}"
    return None


def sweep(comparison: Comparison, seeds: Sequence[int], every: int, together: int = 25) -> Tally:
    """Many programs: each on NumPy eagerly and jitted, each `every`-th jitted on XLA too. Differences are shrunk."""
    tally = Tally()
    for start in range(0, len(seeds), together):
        samples = [make(seed) for seed in seeds[start : start + together]]
        for sample, expected in zip(samples, comparison.expected(samples), strict=True):
            runs = [("numpy", False), ("numpy", True)] + ([("xla", True)] if every and sample.seed % every == 0 else [])
            for backend, jitted, verdict in comparison.verdicts(sample, runs, expected):
                known = verdict in (AGREE, ROUNDING, BOTH_REFUSE, MORE)
                tally.add(verdict if known else "different")
                if not known:
                    tally.reports.append(report(comparison, sample, backend, jitted, verdict))
    return tally


def report(comparison: Comparison, sample: Sample, backend: str, jitted: bool, verdict: str) -> str:
    """A difference with its seed and a smallest program."""
    small = shrunk(sample, comparison.differs(backend, jitted))
    ((_, _, now),) = comparison.verdicts(small, [(backend, jitted)])
    how = f"seed {sample.seed}, {backend}, {'jitted' if jitted else 'eager'}, {'64' if sample.double else '32'} bits"
    return "\n".join([how, verdict, f"smallest ({small.block.size()} steps): {now}", *lines(small.block)])
