"""Running a program against an api: what the steps that take functions do, and the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .blocks import BOOL, FLOAT, INT, Block, Sample, Step
from .operations import DTYPES, FIXED, SHAPED, SIMPLE, constant

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
