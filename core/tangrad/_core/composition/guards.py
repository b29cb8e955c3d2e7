"""What stands between pluggy and the functions of hook objects: one that fails is set aside, and the others go on.

pluggy raises the first exception in the caller, and calls no further hook; and it does not say who gave an answer. So
each function is registered within one of ours, which sets the plugin aside if the function raises or returns what it
may not, and turns what a provider computes into plugins with a provenance.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from typing import Any

import pluggy

from tangrad._core.composition.hook_calls import P, Program, inside
from tangrad._core.composition.hook_names import ARGUMENTS, SPECIFICATIONS
from tangrad._core.composition.outside import from_outside, from_signal_handler, works
from tangrad._core.composition.plugin import (
    BEFORE_APPLY,
    CIRCUMSTANCES,
    FAULTS,
    NAMES,
    OBSERVERS,
    PASS,
    PROGRAM_HOOKS,
    Plugin,
    cell_of,
    flat,
)
from tangrad._core.diagnostics.errors import BrokenPluginError, DeniedPluginError, RefusedError

PASSES_THROUGH = (*CIRCUMSTANCES, RefusedError)  # what a hook raises and is no fault of its plugin


def examined(hook_object: Any) -> list[tuple[str, Any]]:
    """Return hook and implementation (pluggy's `HookImpl`) of every hook function of an object, in the order of calls.

    Raises what pluggy raises for functions that do not fit their hook, and TypeError for what we do not allow beyond.
    """
    probation = pluggy.PluginManager("tangrad")  # what is refused here never comes near the composition's manager
    probation.add_hookspecs(SPECIFICATIONS)
    probation.register(hook_object, "probation")
    _check_names(probation, hook_object)
    probation.check_pending()
    callers = probation.get_hookcallers(hook_object)
    if not callers:
        raise TypeError(
            f"{hook_object!r} implements no hook; expected functions named tangrad_rules, tangrad_jaxpr_pass, ... "
            "that are marked with tangrad.core.hookimpl"
        )
    found = [(caller.name, one) for caller in callers for one in reversed(caller.get_hookimpls())]
    for hook, one in found:
        _check_form(hook, one, hook_object)
    return found


def _check_names(probation: pluggy.PluginManager, hook_object: Any) -> None:
    """Raise TypeError for hooks that are never called: misspelt ones, and functions that are not marked."""
    callers = probation.get_hookcallers(hook_object) or []
    known = list(ARGUMENTS)
    for caller in callers:
        if not caller.has_spec() and not all([one.optionalhook for one in caller.get_hookimpls()]):
            from difflib import get_close_matches  # only to explain an error

            near = get_close_matches(caller.name, known, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise TypeError(f"unknown hook {caller.name!r} of {hook_object!r}; {meant}")
    implemented = {caller.name for caller in callers}
    for name in known:
        function = getattr(hook_object, name, None)
        if name not in implemented and inspect.isroutine(function) and not _is_declared(function):
            raise TypeError(f"{name} of {hook_object!r} is not marked: write @tangrad.core.hookimpl above it")


def _is_declared(function: Any) -> bool:
    """Whether a function is one of ours: a specification, or what a protocol says of a hook."""
    return str(getattr(function, "__module__", None)).startswith(
        ("tangrad._core.composition.", "tangrad._core.kernel.")
    )


def _check_form(hook: str, one: Any, hook_object: Any) -> None:
    """Raise TypeError for implementations of a form that we do not call."""
    if one.wrapper and hook in (NAMES, *PROGRAM_HOOKS):
        raise TypeError(f"{hook} is a wrapper; only hooks that contribute have wrappers")
    if one.hookwrapper:
        raise TypeError(f"{hook} is a wrapper of pluggy's old form; write hookimpl(wrapper=True)")
    code = getattr(one.function, "__code__", None)  # of a function that is not bound to anything
    if isinstance(hook_object, type) and not inspect.ismethod(one.function) and code is not None:
        if code.co_varnames[: code.co_argcount][:1] == ("self",):
            name = hook_object.__name__
            raise TypeError(
                f"{name} is a class, and its hook {hook} takes 'self': what is wanted is an object of it. Write "
                f"{name.lower()} = {name}() in {hook_object.__module__}, and name that: "
                f"'{hook_object.__module__}:{name.lower()}'"
            )


def guarded(manager: Any, plugin: Plugin, implementation: tuple[str, Any]) -> tuple[str, Callable[..., Any]]:
    """Return the hook, and the function that pluggy is to call: with the hook's arguments, all of them."""
    hook, one = implementation
    names = ARGUMENTS[hook]

    def call(*arguments: Any) -> Any:
        values = dict(zip(names, arguments, strict=True))
        try:
            return one.function(*[values[name] for name in one.argnames])
        except RefusedError as refusal:
            raise _signed(refusal, plugin) from refusal.__cause__

    kinds = {PASS: _pass, BEFORE_APPLY: _policy, NAMES: _lister, **dict.fromkeys(OBSERVERS, _observer)}
    function = (_wrapper if one.wrapper else kinds.get(hook, _provider))(manager, plugin, hook, call)
    # So that pluggy, which reads the signature, hands over every argument.
    function.__wrapped__, least = getattr(SPECIFICATIONS, hook), getattr(one.function, "least_equations", 0)
    function.least_equations = least
    options = {"tryfirst": one.tryfirst, "trylast": one.trylast, "wrapper": one.wrapper}
    return hook, pluggy.HookimplMarker("tangrad")(function, specname=hook, **options)


def _signed(refusal: RefusedError, plugin: Plugin) -> RefusedError:
    """The refusal of a hook, with the name of the plugin that is first to raise it."""
    if refusal.plugin is None:
        refusal.plugin = f"{plugin.identity}, {plugin.version}" if plugin.version else plugin.identity
    return refusal


# --- contributions --------------------------------------------------------------------------------------------------


def _provider(manager: Any, plugin: Plugin, hook: str, call: Callable[..., Any]) -> Any:
    def answered(*arguments: Any) -> Any:
        answer = call(*arguments)
        return None if answer is None else _contributions(manager, plugin, hook, arguments, answer)

    def provide(*arguments: Any) -> list[Plugin] | None:
        try:
            return answered(*arguments)  # type: ignore[no-any-return]
        except PASSES_THROUGH:
            raise
        except FAULTS as error:
            if _is_interrupted(error) or works(answered, *arguments):
                raise (error.__cause__ or error) if isinstance(error, _Unusable) else error  # noqa: B904 - itself
            if isinstance(error, _Unusable):
                manager.withdraw(plugin, error.__cause__ or error, f"its hook {hook} returned what cannot be used")
            else:
                manager.withdraw(plugin, error, f"its hook {hook} raised")
            return None

    return provide


class _Unusable(Exception):
    """What a hook returned is at fault; the cause says how."""


def _is_interrupted(error: BaseException) -> bool:
    return from_signal_handler(error.__cause__ if isinstance(error, _Unusable) and error.__cause__ else error)


def _contributions(manager: Any, plugin: Plugin, hook: str, arguments: tuple[Any, ...], answer: Any) -> list[Plugin]:
    try:
        return [manager.computed(plugin, *one) for one in _objects(hook, cell_of(hook, arguments), answer)]
    except PASSES_THROUGH:
        raise
    except Exception as error:
        raise _Unusable from error


def _lister(manager: Any, plugin: Plugin, hook: str, call: Callable[..., Any]) -> Any:
    def listed(group: str) -> list[str]:
        answer = list(call(group) or ())
        if not all(isinstance(name, str) for name in answer):
            raise TypeError(f"expected names, got {answer!r}")
        return answer

    def names(group: str) -> list[str] | None:
        try:
            return listed(group)
        except PASSES_THROUGH:
            raise
        except FAULTS as error:
            if from_signal_handler(error) or works(listed, group):
                raise
            manager.withdraw(plugin, error, f"its hook {hook} raised, or returned no names")
            return None

    return names


def _objects(hook: str, cell: tuple[str, str | None], answer: Any) -> list[tuple[str, str, Any]]:
    """Group, name and object of everything that an answer holds."""
    group, name = cell
    if name is None:
        if not isinstance(answer, dict):
            raise TypeError(f"expected a dictionary by names, got {answer!r} of type {type(answer).__name__}")
        return [(group, own_name, obj) for own_name, obj in answer.items()]
    several = hook == "tangrad_rules" and isinstance(answer, (list, tuple))
    return [(group, name, obj) for obj in (answer if several else [answer])]


def _wrapper(manager: Any, plugin: Plugin, hook: str, call: Callable[..., Any]) -> Any:
    def wrap(*arguments: Any) -> Generator[None, Any, Any]:
        generator, words = None, None
        try:
            generator = call(*arguments)
            next(generator)
        except RefusedError as refusal:
            raise _signed(refusal, plugin) from refusal.__cause__
        except CIRCUMSTANCES:
            raise
        except DeniedPluginError as veto:
            generator, words = None, f": {veto}"
        except FAULTS as error:
            if from_outside(error, lambda: next(call(*arguments))):
                raise
            generator = None
            manager.withdraw(plugin, _explained(error, "it did not yield"), f"its wrapper of {hook} raised")
        try:
            given = flat((yield))
        except BaseException as error:  # Ctrl-C, no memory: not the wrapper's to keep
            if generator is not None:
                _throw_into(generator, error)
            raise
        kept = given if words is None else []
        if generator is not None:
            kept, words = _resumed(manager, plugin, hook, generator, given)
        for contribution in given:
            if not any(contribution is one for one in kept):
                contribution.withhold(
                    f"withheld by the hook wrapper of {plugin.identity}{words or ''}; "
                    f"TANGRAD_DENY='{plugin.identity}' composes without that wrapper"
                )
        return kept

    return wrap


def _resumed(
    manager: Any, plugin: Plugin, hook: str, generator: Any, given: list[Plugin]
) -> tuple[list[Plugin], str | None]:
    """What a wrapper makes of the contributions, and in which words it withholds some."""
    try:
        generator.send(list(given))
    except StopIteration as stop:
        if isinstance(stop.value, (list, tuple)) and all(any(one is other for other in given) for one in stop.value):
            return list(stop.value), None
        error: BaseException = TypeError(
            f"a wrapper returns the list that yield gave it, or a part of that; this one returned {stop.value!r}"
        )
        manager.withdraw(plugin, error, f"its wrapper of {hook} swallowed what others contribute")
    except RefusedError as refusal:
        raise _signed(refusal, plugin) from refusal.__cause__
    except CIRCUMSTANCES:
        raise
    except DeniedPluginError as veto:
        return [], f": {veto}"
    except FAULTS as raised:
        if from_signal_handler(raised):
            raise
        manager.withdraw(plugin, raised, f"its wrapper of {hook} raised")
    else:
        generator.close()
        manager.withdraw(plugin, TypeError("it yielded twice"), f"its wrapper of {hook} is not valid")
    return given, None


def _explained(error: BaseException, words: str) -> BaseException:
    return TypeError(words) if isinstance(error, StopIteration) else error


def _throw_into(generator: Any, error: BaseException) -> None:
    """Let a wrapper clean up; whatever it does, the error goes on."""
    try:
        generator.throw(error)
    except BaseException:
        return
    generator.close()


# --- programs -------------------------------------------------------------------------------------------------------


def _observer(manager: Any, plugin: Plugin, hook: str, call: Callable[..., Any]) -> Any:
    def observe(*arguments: Any) -> None:
        try:
            inside.call(call, *arguments)
        except RefusedError:
            raise
        except Exception as error:
            if from_outside(error, inside.call, call, *arguments):
                raise
            manager.withdraw(plugin, error, f"its hook {hook} raised", observed=True)

    return observe


def _policy(manager: Any, plugin: Plugin, hook: str, call: Callable[..., Any]) -> Any:
    """Without it what it forbids would be done: its faults stop what was to be done."""

    def ask(primitive: Any, avals: Any, params: Any, context: Any) -> None:
        try:
            inside.call(call, primitive, avals, params, context)
        except RefusedError:
            raise
        except Exception as error:
            if from_outside(error, inside.call, call, primitive, avals, params, context):
                raise
            raise _failed(plugin, f"hook {hook}", f"primitive {primitive.identity!r}", error) from error

    return ask


def _pass(manager: Any, plugin: Plugin, hook: str, call: Callable[..., Any]) -> Any:
    def rewritten(closed_jaxpr: P, context: Any) -> P:
        result = call(closed_jaxpr, context)
        if result is None:
            return closed_jaxpr
        Program.check_pass(closed_jaxpr, result)
        return result  # type: ignore[no-any-return]

    def run(program: Program[Any], context: Any) -> None:
        try:
            program.closed_jaxpr = inside.call(rewritten, program.closed_jaxpr, context)
        except RefusedError:
            raise
        except Exception as error:
            if from_signal_handler(error) or works(inside.call, rewritten, program.closed_jaxpr, context):
                raise
            raise _failed(plugin, "jaxpr pass", repr(context.function_name), error) from error

    return run


def _failed(plugin: Plugin, what: str, where: str, error: Exception) -> BrokenPluginError:
    return BrokenPluginError(
        f"the {what} of plugin {plugin.identity} ({plugin.value}, {plugin.distribution} {plugin.version}) failed on "
        f"{where}: {type(error).__name__}: {error}. A policy that refuses on purpose raises tangrad.core.RefusedError. "
        f"To go on without the plugin: TANGRAD_DENY='{plugin.identity}'"
    )
