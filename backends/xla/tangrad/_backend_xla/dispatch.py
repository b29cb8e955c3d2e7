"""Eager execution: one primitive at a time on concrete arrays.

Each combination of primitive, parameters, argument types and placements is a program, compiled once and kept in a
dictionary. The kernel has, for each signature, the function that `direct` makes of one: it costs one look-up, XLA's own
call (3.8 µs for one argument, 1.3 µs for each further one) and one new object; so the commonest forms, one and two
arguments and one result on the only device, are written out. What was learnt: a literal's buffer is worth keeping
(making one takes 4 µs); making an object by `object.__new__` and assignments is quicker than by its class; reading the
thread's settings takes 0.1 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import jaxlib_api, sharded
from tangrad._backend_xla.array import Placement, XlaArray
from tangrad._backend_xla.calls import wrapped
from tangrad._backend_xla.executable import Program, device_for
from tangrad._backend_xla.moving import common_placement, moved
from tangrad.core import Literal, Primitive, Tracer, checked_operands, thread
from tangrad.core.backends import carried_program, evaluate, forget_direct_calls
from tangrad.core.caches import JaxprCache, RecentlyUsed, params_key, weak_key
from tangrad.core.programs import compile_program, one_at_a_time
from tangrad.core.transformations import one_equation
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values

ENTRY_LIMIT = 2048  # compiled primitives that are kept, each of some 100 kB
LITERAL_LIMIT = 1024
PLACES_LIMIT = 64  # combinations of placements, for each signature


class _Entry:
    """A compiled primitive for arguments of certain types and placements.

    Attributes:
        program: it, for errors and for the slow path.
        avals: of the results.
        placement: of the results.
        multiple: whether the primitive has several results.
        plain: whether the arguments can go to XLA as they are: none has to be moved, and there are no side effects.
        run, handlers: of the loaded program.
    """

    __slots__ = ("avals", "handlers", "multiple", "placement", "plain", "program", "run")

    def __init__(
        self, program: Program, arguments: Sequence[XlaArray], target: Placement | None, multiple: bool
    ) -> None:
        self.program = program
        if target is None:
            (self.run, self.handlers, self.placement), values = program.runner.gather(arguments)
            elsewhere = [array for array, value in zip(arguments, values) if array.value is not value]
        else:
            self.run, self.handlers, self.placement = program.runner.load(target)
            elsewhere = [array for array in arguments if array.placement.sharding is not target.sharding]
        self.multiple = multiple
        self.avals = program.out_avals
        self.plain = not program.runner.effects and not elsewhere

    def results(self, arrays: Sequence[XlaArray]) -> Any:
        """What it computes, from arrays that can go to XLA as they are."""
        try:
            values = self.run([array.value for array in arrays]).consume_with_handlers(self.handlers)
        except jaxlib_api.XlaRuntimeError as error:
            outs = self.program.runner.recover(error, arrays)
            return tuple(outs) if self.multiple else outs[0]
        if not self.multiple:
            return XlaArray(self.avals[0], values[0], self.placement)
        return tuple(wrapped(self.avals, values, self.placement))


class Dispatcher:
    """What `XlaBackend.apply` is: the tables of compiled primitives."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._several_devices = backend.device_count() > 1
        # Direct calls, which hold programs too, are made again when the generations of entries change, so that what
        # is kept was used lately.
        self._entries = RecentlyUsed(ENTRY_LIMIT, forget_direct_calls)
        # Those of primitives that carry programs, as long as the program lives.
        self._program_entries = JaxprCache()
        self._literals: dict[Any, tuple[Literal, XlaArray]] = {}  # by identity; and placement, of several devices

    def clear(self) -> None:
        """Forget the compiled primitives."""
        forget_direct_calls()
        self._entries.clear()
        self._program_entries.clear()
        self._literals.clear()

    def apply(self, primitive: Primitive, args: Values, params: dict[str, object]) -> Any:
        """Apply a primitive: any number of arguments and results, arguments that must be moved, a default device."""
        by_values = self._by_values(primitive, args, params)
        if by_values is not None:
            return by_values(*args)
        entry, arrays = self._entry(primitive, args, params)
        if entry.plain:
            return entry.results(arrays)
        outs = self._run_moving(entry, arrays)
        return tuple(outs) if entry.multiple else outs[0]

    def direct(self, primitive: Primitive, args: Values, params: Params) -> Callable[..., Any] | None:
        """As `Backend.direct`. With one device no setting and no placement decides where a primitive runs."""
        kinds = [type(arg) for arg in args]
        if not kinds or not all([kind is XlaArray or kind is Literal for kind in kinds]):
            return None
        by_values = self._by_values(primitive, args, params)
        if by_values is not None:
            return by_values
        if params and carried_program(params) is not None:  # whose life the call would prolong
            return None
        if self._several_devices:
            return self._direct_anywhere(primitive, params, kinds.index(XlaArray)) if XlaArray in kinds else None
        entry, _ = self._entry(primitive, args, params)
        if not entry.plain:
            return None
        made = _direct_of_several if entry.multiple else _DIRECT.get(len(args), _direct_of_several)
        array = kinds.index(XlaArray) if XlaArray in kinds else None
        call: Callable[..., Any] = made(primitive, params, entry, self._operand, array, self._backend.home().committed)
        return call

    def _direct_anywhere(self, primitive: Primitive, params: Params, array: int) -> Callable[..., Any]:
        """A direct call on several devices, which has a program for each combination of placements."""
        entries: dict[Any, _Entry] = {}

        def call(*args: Any) -> Any:
            if type(args[array]) is not XlaArray or thread.default_device is not None:
                return evaluate(primitive, args, params)
            arrays: Sequence[Any] = args
            for arg in args:
                if type(arg) is not XlaArray:
                    arrays = self._beside([x if type(x) is XlaArray else self._operand(x) for x in args], args)
                    break
            places = tuple([one.placement for one in arrays])
            entry = entries.get(places)
            if entry is None:
                entry, _ = self._entry(primitive, args, params)
                if not entry.plain:
                    return evaluate(primitive, args, params)
                if len(entries) >= PLACES_LIMIT:
                    entries.clear()
                entries[places] = entry
            return entry.results(arrays)

        return call

    def _by_values(self, primitive: Primitive, args: Values, params: Params) -> Callable[..., Any] | None:
        """The primitive with what would be compiled into it as operands, where it has such a form."""
        if primitive.value_form is None:
            return None
        avals = [arg.aval for arg in checked_operands(self._backend, args)]
        return primitive.value_form(*avals, **params)

    def _entry(self, primitive: Primitive, args: Sequence[Value], params: Params) -> tuple[_Entry, list[XlaArray]]:
        """The compiled primitive, made where there is none, and its arguments as arrays."""
        program = carried_program(params) if params else None
        arrays = [arg if type(arg) is XlaArray else self._operand(arg) for arg in args]
        if self._several_devices:
            arrays = self._beside(arrays, args)
        key = [primitive, weak_key(params) if program is not None else params_key(params) if params else ()]
        for array in arrays:
            key.append(array.aval)
            key.append(array.placement)
        if thread.default_device is not None:
            key.append(thread.default_device)
        found = self._find(program, tuple(key))
        return found or self._make_entry(program, tuple(key), primitive, arrays, params), arrays

    def _run_moving(self, entry: _Entry, arrays: Sequence[XlaArray]) -> list[XlaArray]:
        placement = entry.placement
        if type(placement) is tuple or placement.user_sharding is not None:
            return entry.program.execute(arrays)
        return entry.program.execute([moved(array, placement) for array in arrays])

    # --- the first time ---------------------------------------------------------------------------------------------

    def _find(self, program: object, key: object) -> _Entry | None:
        return self._entries.find(key) if program is None else self._program_entries.find(program, key)

    def _make_entry(
        self, program: object, key: object, primitive: Primitive, arrays: list[XlaArray], params: Params
    ) -> _Entry:
        """Compile a primitive, once however many threads ask for it."""
        with one_at_a_time((id(self), key)):
            entry = self._find(program, key)
            if entry is None and program is None:
                entry = self._compile(primitive, arrays, params)
                self._entries.add(key, entry)
            elif entry is None:
                entry = self._compile(primitive, arrays, params)
                entry.program.runner.forget_program()  # which would keep the key of this very entry alive
                self._program_entries.get(program, key, lambda: entry)
            return entry

    def _compile(self, primitive: Primitive, arrays: list[XlaArray], params: Params) -> _Entry:
        closed = one_equation(primitive, [array.aval for array in arrays], params)
        target: Any = None
        options: dict[str, Any] = {}
        if any([array.placement.user_sharding is not None for array in arrays]):
            options["places"] = tuple([array.placement for array in arrays])
        else:
            target = common_placement(arrays, primitive.name) or device_for(self._backend).uncommitted
            options["extra"] = {"placement": target}
        program = compile_program(closed, self._backend, primitive.name, thin=False, **options)
        return _Entry(program.executable, arrays, target, primitive.multiple_results)

    # --- arguments --------------------------------------------------------------------------------------------------

    def _beside(self, arrays: list[XlaArray], args: Sequence[Value]) -> list[XlaArray]:
        """The arguments; beside arrays over several devices, literals are replicated on these, and kept."""
        place = next((array.placement for array in arrays if array.placement.user_sharding is not None), None)
        if place is None:
            return arrays
        return [
            self._literal_over(arg, array, place) if type(arg) is Literal else array for arg, array in zip(args, arrays)
        ]

    def _literal_over(self, literal: Literal, array: XlaArray, place: Any) -> XlaArray:
        key = (id(literal), place)
        found = self._literals.get(key)
        if found is None:
            if len(self._literals) >= LITERAL_LIMIT:
                self._literals.clear()
            everywhere = sharded.placement_of(place.user_sharding.resharded((), place.devices))
            found = self._literals[key] = (literal, sharded.move(array, everywhere))
        return found[1]

    def _operand(self, value: Any) -> XlaArray:
        """What is no array of this backend, as one. The buffers of literals are kept."""
        found = self._literals.get(id(value))
        if found is not None and found[0] is value and thread.default_device is None:
            return found[1]
        if type(value) is not Literal:
            if isinstance(value, Tracer):
                raise UnexpectedTracerError(value)
            (value,) = checked_operands(self._backend, (value,))
            if type(value) is not Literal:
                return value
        array: XlaArray = self._backend.put(value.ndarray, value.aval)
        if thread.default_device is None:
            if len(self._literals) >= LITERAL_LIMIT:
                self._literals.clear()
            # The table goes by identity, so it holds the literal too.
            self._literals[id(value)] = (value, array)
        return array


def _recover(entry: _Entry, error: Exception, arrays: Sequence[XlaArray]) -> Any:
    return entry.program.runner.recover(error, arrays)[0]


# --- direct calls ---------------------------------------------------------------------------------------------------
# `array`: the position of an operand that is no literal; None: all are.


def _direct_of_one(
    primitive: Primitive, params: Any, entry: _Entry, operand: Any, array: object, committed: Placement
) -> Any:
    run, handlers, (aval,) = entry.run, entry.handlers, entry.avals

    def call(a: Any) -> Any:
        if type(a) is not XlaArray:
            if array is not None:
                return evaluate(primitive, (a,), params)
            a = operand(a)
        try:
            (value,) = run([a.value]).consume_with_handlers(handlers)
        except jaxlib_api.XlaRuntimeError as error:
            return _recover(entry, error, (a,))
        result = XlaArray.__new__(XlaArray)
        result.aval = aval
        result.value = value
        result.placement = a.placement
        return result

    return call


def _direct_of_two(
    primitive: Primitive, params: Any, entry: _Entry, operand: Any, array: object, committed: Any
) -> Any:
    run, handlers, (aval,) = entry.run, entry.handlers, entry.avals

    def call(a: Any, b: Any) -> Any:
        if array is not None and type(b if array else a) is not XlaArray:
            return evaluate(primitive, (a, b), params)
        if type(a) is not XlaArray:
            a = operand(a)
        if type(b) is not XlaArray:
            b = operand(b)
        try:
            (value,) = run([a.value, b.value]).consume_with_handlers(handlers)
        except jaxlib_api.XlaRuntimeError as error:
            return _recover(entry, error, (a, b))
        placement = a.placement
        result = XlaArray.__new__(XlaArray)
        result.aval = aval
        result.value = value
        result.placement = placement if placement is b.placement else committed
        return result

    return call


def _direct_of_several(
    primitive: Primitive, params: Any, entry: _Entry, operand: Any, array: Any, committed: Placement
) -> Any:
    run, handlers, avals, multiple = entry.run, entry.handlers, entry.avals, entry.multiple

    def call(*args: Any) -> Any:
        if array is not None and type(args[array]) is not XlaArray:
            return evaluate(primitive, args, params)
        arrays = [arg if type(arg) is XlaArray else operand(arg) for arg in args]
        try:
            values = run([one.value for one in arrays]).consume_with_handlers(handlers)
        except jaxlib_api.XlaRuntimeError as error:
            outs = entry.program.runner.recover(error, arrays)
            return tuple(outs) if multiple else outs[0]
        placement = arrays[0].placement
        for one in arrays:
            if one.placement is not placement:
                placement = committed
        return tuple(wrapped(avals, values, placement)) if multiple else XlaArray(avals[0], values[0], placement)

    return call


_DIRECT = {1: _direct_of_one, 2: _direct_of_two}
