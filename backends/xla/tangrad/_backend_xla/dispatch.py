"""Eager execution: one primitive at a time on concrete arrays.

Each combination of primitive, parameters, argument types and placements is a program, compiled once and kept in a
dictionary. A hit costs one look-up, XLA's own call (3.8 µs for one argument, 1.3 µs for each further one) and one new
object; so the commonest forms, one and two arguments and one result on the only device, are written out in a function
of their own. What was learnt: a literal's buffer is worth keeping (making one takes 4 µs); making an object by
`object.__new__` and assignments is quicker than by its class; reading the thread's settings takes 0.1 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._backend_xla import jaxlib_api, sharded
from tangrad._backend_xla.array import XlaArray
from tangrad._backend_xla.calls import wrapped
from tangrad._backend_xla.executable import Program, device_for
from tangrad._backend_xla.moving import common_placement, moved
from tangrad.core import (
    FixedParams,
    JaxprCache,
    Literal,
    RecentlyUsed,
    Tracer,
    carried_program,
    checked_operands,
    compile_program,
    evaluate,
    forget_direct_calls,
    one_at_a_time,
    one_equation,
    params_key,
    thread,
    value_key,
    weak_key,
)
from tangrad.errors import UnexpectedTracerError

ENTRY_LIMIT = 2048  # compiled primitives that are kept, each of some 100 kB
LITERAL_LIMIT = 1024


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

    def __init__(self, program: Program, arguments: Sequence[XlaArray], target: Any, multiple: bool) -> None:
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


class Dispatcher:
    """What `XlaBackend.apply` is: the tables of compiled primitives."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._several_devices = False
        # The short way: primitive, parameters and types of the arguments (with several devices, placements too) ->
        # (run, handlers, aval, entry) of a primitive with one result whose arguments can go to XLA as they are.
        self._fast: dict[Any, tuple[Any, ...]] = {}
        # The short way is filled again from the entries when their generations change, so that what it has was used
        # lately.
        self._entries = RecentlyUsed(ENTRY_LIMIT, self._turn)
        # Those of primitives that carry programs, as long as the program lives.
        self._program_entries = JaxprCache()
        self._literals: dict[Any, tuple[Literal, XlaArray]] = {}  # by identity; and placement, of several devices

    def _turn(self) -> None:
        self._fast.clear()
        forget_direct_calls()  # which hold programs too

    def clear(self) -> None:
        """Forget the compiled primitives."""
        self._fast.clear()
        self._entries.clear()
        self._program_entries.clear()
        self._literals.clear()

    def make_apply(self) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]:
        """The function that applies a primitive to arrays and literals, made for the number of devices there is."""
        self._several_devices = self._backend.device_count() > 1
        return self._apply_anywhere if self._several_devices else self._made_for_one_device()

    def _made_for_one_device(self) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]:
        """With one device no setting and no placement decides where a primitive runs: keys need not hold them."""
        fast, operand, apply_any = self._fast, self._operand, self._apply_any
        recover, new, committed = _recover, object.__new__, self._backend.home().committed

        def apply(primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            if len(args) == 2:
                a, b = args
                if type(a) is not XlaArray:
                    a = operand(a)
                if type(b) is not XlaArray:
                    b = operand(b)
                if not params:
                    key: Any = (primitive, a.aval, b.aval)
                elif type(params) is FixedParams:
                    key = (primitive, params.key, a.aval, b.aval)
                else:
                    key = (primitive, params_key(params), a.aval, b.aval)
                found = fast.get(key)
                if found is None:
                    return apply_any(primitive, (a, b), params, key)
                run, handlers, aval, entry = found
                try:
                    (value,) = run([a.value, b.value]).consume_with_handlers(handlers)
                except jaxlib_api.XlaRuntimeError as error:
                    return recover(entry, error, (a, b))
                placement = a.placement
                if placement is not b.placement:
                    placement = committed
            elif len(args) == 1:
                (a,) = args
                if type(a) is not XlaArray:
                    a = operand(a)
                if not params:
                    key = (primitive, a.aval)
                elif type(params) is FixedParams:
                    key = (primitive, params.key, a.aval)
                else:
                    key = (primitive, params_key(params), a.aval)
                found = fast.get(key)
                if found is None:
                    return apply_any(primitive, (a,), params, key)
                run, handlers, aval, entry = found
                try:
                    (value,) = run([a.value]).consume_with_handlers(handlers)
                except jaxlib_api.XlaRuntimeError as error:
                    return recover(entry, error, (a,))
                placement = a.placement
            elif not args:
                return apply_any(primitive, args, params)
            else:
                arrays = [arg if type(arg) is XlaArray else operand(arg) for arg in args]
                avals = [array.aval for array in arrays]
                key = (primitive, params_key(params) if params else None, *avals)
                found = fast.get(key)
                if found is None:
                    return apply_any(primitive, arrays, params, key)
                run, handlers, aval, entry = found
                try:
                    (value,) = run([array.value for array in arrays]).consume_with_handlers(handlers)
                except jaxlib_api.XlaRuntimeError as error:
                    return recover(entry, error, arrays)
                placement = arrays[0].placement
                for array in arrays:
                    if array.placement is not placement:
                        placement = committed
            result = new(XlaArray)  # 0.08 µs less than calling the class
            result.aval = aval
            result.value = value
            result.placement = placement
            return result

        return apply

    def direct(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Callable[..., Any] | None:
        """As `Backend.direct`: of what goes the short way on one device."""
        kinds = [type(arg) for arg in args]
        if self._several_devices or XlaArray not in kinds or not all([k is XlaArray or k is Literal for k in kinds]):
            return None
        avals = [arg.aval for arg in args]
        plain = (primitive,) if len(args) < 3 else (primitive, None)
        found = self._fast.get((*plain, *avals) if not params else (primitive, params_key(params), *avals))
        if found is None:
            return None
        made = _DIRECT.get(len(args), _direct_of_several)
        committed = self._backend.devices()[0].committed
        call: Callable[..., Any] = made(primitive, params, found, self._operand, kinds.index(XlaArray), committed)
        return call

    def _apply_anywhere(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """As above, where there are several devices."""
        if len(args) > 2 or thread.default_device is not None:
            return self._apply_any(primitive, args, params)
        arrays = self._beside([arg if type(arg) is XlaArray else self._operand(arg) for arg in args], args)
        key = (primitive, params_key(params) if params else None, *[(x.aval, x.placement) for x in arrays])
        found = self._fast.get(key)
        if found is None:
            return self._apply_any(primitive, arrays, params, key)
        run, handlers, aval, entry = found
        try:
            (value,) = run([array.value for array in arrays]).consume_with_handlers(handlers)
        except jaxlib_api.XlaRuntimeError as error:
            return _recover(entry, error, arrays)
        return XlaArray(aval, value, entry.placement)

    def _apply_any(self, primitive: Any, args: Sequence[Any], params: dict[str, Any], fast_key: Any = None) -> Any:
        """Any number of arguments and results, arguments that must be moved, a default device.

        `fast_key`: under what the short way will look next time.
        """
        if primitive.value_form is not None:
            by_values = primitive.value_form(
                *[arg.aval for arg in checked_operands(self._backend, tuple(args))], **params
            )
            if by_values is not None:
                return by_values(*args)
        program = carried_program(params) if params else None
        if program is not None:
            fast_key = None
            params_part = weak_key(params)
        else:
            params_part = value_key(params) if params else ()
        arrays = [arg if type(arg) is XlaArray else self._operand(arg) for arg in args]
        if self._several_devices:
            arrays = self._beside(arrays, args)
        key = [primitive, params_part]
        for array in arrays:
            key.append(array.aval)
            key.append(array.placement)
        if thread.default_device is not None:
            key.append(thread.default_device)
        entry = self._find(program, tuple(key)) or self._make_entry(program, tuple(key), primitive, arrays, params)
        if fast_key is not None and entry.plain and not entry.multiple:
            self._fast[fast_key] = (entry.run, entry.handlers, entry.avals[0], entry)
        if not entry.plain:
            outs = self._run_moving(entry, arrays)
            return tuple(outs) if entry.multiple else outs[0]
        try:
            values = entry.run([array.value for array in arrays]).consume_with_handlers(entry.handlers)
        except jaxlib_api.XlaRuntimeError as error:
            outs = entry.program.runner.recover(error, arrays)
            return tuple(outs) if entry.multiple else outs[0]
        placement = entry.placement
        if not entry.multiple:
            return XlaArray(entry.avals[0], values[0], placement)
        return tuple(wrapped(entry.avals, values, placement))

    def _run_moving(self, entry: _Entry, arrays: Sequence[XlaArray]) -> list[XlaArray]:
        placement = entry.placement
        if type(placement) is tuple or placement.user_sharding is not None:
            return entry.program.execute(arrays)  # type: ignore[no-any-return]
        return entry.program.execute([moved(array, placement) for array in arrays])  # type: ignore[no-any-return]

    # --- the first time ---------------------------------------------------------------------------------------------

    def _find(self, program: Any, key: Any) -> _Entry | None:
        return self._entries.find(key) if program is None else self._program_entries.find(program, key)

    def _make_entry(
        self, program: Any, key: Any, primitive: Any, arrays: list[XlaArray], params: dict[str, Any]
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

    def _compile(self, primitive: Any, arrays: list[XlaArray], params: dict[str, Any]) -> _Entry:
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

    def _beside(self, arrays: list[XlaArray], args: Sequence[Any]) -> list[XlaArray]:
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
                return value  # type: ignore[no-any-return]
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


def _direct_of_one(primitive: Any, params: Any, found: Any, operand: Any, array: int, committed: Any) -> Any:
    run, handlers, aval, entry = found

    def call(a: Any) -> Any:
        if type(a) is not XlaArray:
            return evaluate(primitive, (a,), params)
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


def _direct_of_two(primitive: Any, params: Any, found: Any, operand: Any, array: int, committed: Any) -> Any:
    run, handlers, aval, entry = found

    def call(a: Any, b: Any) -> Any:
        if type(b if array else a) is not XlaArray:
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


def _direct_of_several(primitive: Any, params: Any, found: Any, operand: Any, array: int, committed: Any) -> Any:
    run, handlers, aval, entry = found

    def call(*args: Any) -> Any:
        if type(args[array]) is not XlaArray:
            return evaluate(primitive, args, params)
        arrays = [arg if type(arg) is XlaArray else operand(arg) for arg in args]
        try:
            (value,) = run([one.value for one in arrays]).consume_with_handlers(handlers)
        except jaxlib_api.XlaRuntimeError as error:
            return _recover(entry, error, arrays)
        placement = arrays[0].placement
        for one in arrays:
            if one.placement is not placement:
                placement = committed
        return XlaArray(aval, value, placement)

    return call


_DIRECT = {1: _direct_of_one, 2: _direct_of_two}
