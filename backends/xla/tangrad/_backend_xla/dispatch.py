"""Eager execution: one primitive at a time on concrete arrays.

Each combination of primitive, parameters, argument types and placements is a program, compiled once and kept in a
dictionary. The kernel has, for each signature, the function that `direct` makes of one: it costs one look-up, XLA's own
call (3.8 µs for one argument, 1.3 µs for each further one) and one new object. What was learnt: a literal's buffer is
worth keeping (making one takes 4 µs); `object.__new__` and assignments make an object sooner than its class does;
reading the thread's settings takes 0.1 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import jaxlib_api, sharded
from tangrad._backend_xla.array import Placement, XlaArray
from tangrad._backend_xla.calls import wrapped
from tangrad._backend_xla.executable import Program, device_for
from tangrad._backend_xla.moving import common_placement, moved
from tangrad._backend_xla.partitioned import is_default
from tangrad.core import Literal, Primitive, Sharding, Tracer, checked_operands, thread
from tangrad.core.backends import carried_program, evaluate, forget_direct_calls
from tangrad.core.caches import JaxprCache, RecentlyUsed, params_key, weak_key
from tangrad.core.programs import compile_program, one_at_a_time
from tangrad.core.transformations import one_equation
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad._backend_xla.clients import XlaDevice
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

    def results(self, arrays: Sequence[XlaArray]) -> XlaArray | tuple[XlaArray, ...]:
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
        self._literals: dict[object, tuple[Literal, XlaArray]] = {}  # by identity; and placement, of several devices

    def clear(self) -> None:
        """Forget the compiled primitives."""
        forget_direct_calls()
        self._entries.clear()
        self._program_entries.clear()
        self._literals.clear()

    def apply(self, primitive: Primitive, args: Values, params: dict[str, object]) -> XlaArray | tuple[XlaArray, ...]:
        """Apply a primitive: any number of arguments and results, arguments that must be moved, a default device."""
        entry, arrays = self._entry(primitive, args, params)
        if entry.plain:
            return entry.results(arrays)
        outs = self._run_moving(entry, arrays)
        return tuple(outs) if entry.multiple else outs[0]

    def direct(self, primitive: Primitive, args: Values, params: Params) -> Callable[..., object] | None:
        """As `Backend.direct`. With one device no setting and no placement decides where a primitive runs."""
        kinds = [type(arg) for arg in args]
        if not kinds or not all([kind is XlaArray or kind is Literal for kind in kinds]):
            return None
        if primitive.value_form is not None:
            by_values = primitive.value_form(*[arg.aval for arg in args], **params)
            if by_values is not None:
                return by_values
        if params and carried_program(params) is not None:  # whose life the call would prolong
            return None
        if self._several_devices:
            return self._direct_anywhere(primitive, params, kinds.index(XlaArray)) if XlaArray in kinds else None
        entry, _ = self._entry(primitive, args, params)
        if not entry.plain:
            return None
        make = _maker(len(args), kinds.index(XlaArray) if XlaArray in kinds else None, entry.multiple)
        call: Callable[..., object] = make(primitive, params, entry, self._operand, self._backend.home().committed)
        return call

    def _direct_anywhere(self, primitive: Primitive, params: Params, array: int) -> Callable[..., object]:
        """A direct call on several devices, which has a program for each combination of placements."""
        entries: dict[tuple[Placement, ...], _Entry] = {}

        def call(*args: Value) -> object:
            arrays: Sequence[Any] = args
            if type(args[array]) is not XlaArray or (thread.default_device is not None and not _is_over(arrays[array])):
                return evaluate(primitive, args, params)
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
        target: Placement | None = None
        options: Params = {}
        places = tuple([array.placement for array in arrays])
        over = self._backend.default_sharding()
        if is_default(over, places) or any([place.user_sharding is not None for place in places]):
            options["places"] = places
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

    def _literal_over(self, literal: Literal, array: XlaArray, place: Placement) -> XlaArray:
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
        chosen = thread.default_device
        anywhere = chosen is None or isinstance(chosen, Sharding)  # over a mesh they are brought beside other operands
        if found is not None and found[0] is value and anywhere:
            return found[1]
        if type(value) is not Literal:
            if isinstance(value, Tracer):
                raise UnexpectedTracerError(value)
            (value,) = checked_operands(self._backend, (value,))
            if type(value) is not Literal:
                return value
        home: XlaDevice = self._backend.home()
        array: XlaArray = self._backend.put(value.ndarray, value.aval, home if isinstance(chosen, Sharding) else None)
        if anywhere:
            array = XlaArray(array.aval, array.value, home.uncommitted)
            if len(self._literals) >= LITERAL_LIMIT:
                self._literals.clear()
            # The table goes by identity, so it holds the literal too.
            self._literals[id(value)] = (value, array)
        return array


def _is_over(array: XlaArray) -> bool:
    """Whether an array is over several devices, where what is computed from it stays."""
    return array.placement.user_sharding is not None


# --- direct calls ---------------------------------------------------------------------------------------------------


@lru_cache(128)
def _maker(count: int, array: int | None, several: bool) -> Callable[..., Callable[..., object]]:
    """The function that makes direct calls of `count` operands, as text: a loop over them takes a tenth of XLA's call.

    Args:
        array: the position of one that is no literal; None: all are.
        several: there is a tuple of results.
    """
    names = [f"x{position}" for position in range(count)]
    operands = f"({', '.join(names)},)"
    others = [f"if type({name}) is not XlaArray: {name} = operand({name})" for name in names if name != f"x{array}"]
    same = " is ".join([f"{name}.placement" for name in names])
    result = "result = new(XlaArray); result.aval = aval; (result.value,) = values; result.placement = place"
    astray = "False" if array is None else f"type(x{array}) is not XlaArray"
    text = f"""\
def make(primitive, params, entry, operand, committed):
    run, handlers, avals, recover = entry.run, entry.handlers, entry.avals, entry.program.runner.recover
    {"" if several else "(aval,) = avals"}
    def call({", ".join(names)}):
        if {astray}: return evaluate(primitive, {operands}, params)
        {(chr(10) + 8 * " ").join(others)}
        try:
            values = run([{", ".join([f"{name}.value" for name in names])}]).consume_with_handlers(handlers)
        except XlaRuntimeError as error:
            outs = recover(error, {operands})
            return {"tuple(outs)" if several else "outs[0]"}
        place = {"x0.placement" if count == 1 else f"x0.placement if {same} else committed"}
        {"return tuple(wrapped(avals, values, place))" if several else f"{result}; return result"}
    return call
"""
    namespace: Params = {
        "XlaArray": XlaArray,
        "XlaRuntimeError": jaxlib_api.XlaRuntimeError,
        "evaluate": evaluate,
        "new": XlaArray.__new__,
        "wrapped": wrapped,
    }
    exec(compile(text, "<tangrad xla direct call>", "exec"), namespace)
    made: Callable[..., Callable[..., object]] = namespace["make"]
    return made
