"""A backend that writes down what it does. It computes by the lowerings for NumPy, one equation after the other."""

import numpy

from tangrad.core import (
    Array,
    Backend,
    ClosedJaxpr,
    Device,
    Executable,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    checked_operands,
    eval_jaxpr,
    get_backend,
)


class LogbookArray(Array):
    """An array of this backend: a NumPy array that is never written to."""

    __slots__ = ("contents",)

    def __init__(self, aval, contents):
        self.aval = aval
        self.contents = numpy.asarray(contents, aval.dtype)
        self.contents.flags.writeable = False

    def to_numpy(self):
        return self.contents


class LogbookExecutable(Executable):
    """A program that is run equation by equation, so that each one is logged."""

    __slots__ = ("closed",)

    def __init__(self, closed):
        self.closed = closed

    def execute(self, arrays):
        outs = eval_jaxpr(self.closed.jaxpr, self.closed.consts, *arrays)
        return [logbook.put(out.ndarray, out.aval) if isinstance(out, Literal) else out for out in outs]

    def as_text(self):
        return str(self.closed)


class Lowered:
    def __init__(self, closed):
        self.closed = closed

    def as_text(self):
        return str(self.closed)

    def compile(self):
        return LogbookExecutable(self.closed)


class Logbook(Backend):
    name = "logbook"
    platform = "cpu"
    lowering_kind = "lower.numpy"
    array_type = LogbookArray
    api = 1

    def __init__(self):
        self.log = []
        self._devices = (Device(self, 0, "cpu"),)

    def devices(self):
        return self._devices

    def put(self, value, aval, device=None):
        return LogbookArray(aval, numpy.array(value))

    def get(self, array):
        return array.contents

    def apply(self, primitive, args, params):
        args = checked_operands(self, args)
        avals = tuple(arg.aval for arg in args)
        out = primitive.infer(avals, params)
        out_avals = out if primitive.multiple_results else (out,)
        invars, outvars = [Var(aval) for aval in avals], [Var(aval) for aval in out_avals]
        program = ClosedJaxpr(Jaxpr([], invars, outvars, [JaxprEqn(primitive, invars, outvars, params)]))
        function = get_backend("numpy").array_function(program)
        self.log.append(primitive.name)
        results = function(*[arg.ndarray if isinstance(arg, Literal) else arg.contents for arg in args])
        arrays = tuple(LogbookArray(aval, result) for aval, result in zip(out_avals, results, strict=True))
        return arrays if primitive.multiple_results else arrays[0]

    def compile(self, closed_jaxpr, options):
        return LogbookExecutable(closed_jaxpr)

    def lower(self, closed_jaxpr, options):
        return Lowered(closed_jaxpr)


logbook = Logbook()
LogbookArray.backend = logbook
