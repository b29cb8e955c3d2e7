"""What stands between pluggy and the functions of hook objects: one that fails is set aside, and the others go on.

pluggy raises the first exception in the caller, and calls no further hook; and it does not say who gave an answer. So
each function is registered within one of ours, which sets the plugin aside if the function raises or returns what it
may not, and turns what a provider computes into plugins with a provenance.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeAlias, TypeVar

import pluggy

from tangrad._core.composition.hook_names import (
    ARGUMENTS,
    HOOKS,
    NAMES,
    OBSERVERS,
    PASS,
    PROGRAM_HOOKS,
    Program,
    call_inside,
    specifications,
)
from tangrad._core.composition.plugin import CIRCUMSTANCES, FAULTS, Plugin, flat, own_fault
from tangrad._core.diagnostics.errors import BrokenPluginError, DeniedPluginError, RefusedError

T = TypeVar("T")
Wrapper: TypeAlias = Generator[None, Any, Any]
DECLARED = ("tangrad._core.composition.", "tangrad._core.kernel.")  # where specifications are, and hooks in protocols
PASSES_THROUGH = (*CIRCUMSTANCES, RefusedError)  # what a hook raises and is no fault of its plugin


def examined(hook_object: object) -> list[tuple[str, pluggy.HookImpl]]:
    """Return hook and implementation (pluggy's `HookImpl`) of every hook function of an object, in the order of calls.

    Raises what pluggy raises for functions that do not fit their hook, and TypeError for what we do not allow beyond.
    """
    probation = pluggy.PluginManager("tangrad")  # what is refused here never comes near the composition's manager
    probation.add_hookspecs(specifications())
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


def _check_names(probation: pluggy.PluginManager, hook_object: object) -> None:
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
        module = str(getattr(function, "__module__", None))
        if name not in implemented and inspect.isroutine(function) and not module.startswith(DECLARED):
            raise TypeError(f"{name} of {hook_object!r} is not marked: write @tangrad.core.hookimpl above it")


def _check_form(hook: str, one: pluggy.HookImpl, hook_object: object) -> None:
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


def guarded(manager: Any, plugin: Plugin, implementation: tuple[str, pluggy.HookImpl]) -> tuple[str, Any]:
    """Return the hook, and the function that pluggy is to call: with the hook's arguments, all of them."""
    hook, one = implementation
    names = ARGUMENTS[hook]

    def call(*arguments: object) -> Any:
        values = dict(zip(names, arguments, strict=True))
        return _signing(plugin, one.function, *[values[name] for name in one.argnames])

    make = _wrapper if one.wrapper else _program_hook if hook in PROGRAM_HOOKS else _provider
    function = make(manager, plugin, hook, call)
    # So that pluggy, which reads the signature, hands over every argument.
    function.__wrapped__, least = HOOKS[hook], getattr(one.function, "least_equations", 0)
    function.least_equations = least
    options = {"tryfirst": one.tryfirst, "trylast": one.trylast, "wrapper": one.wrapper}
    return hook, pluggy.HookimplMarker("tangrad")(function, specname=hook, **options)


def _signing(plugin: Plugin, function: Callable[..., T], *arguments: object) -> T:
    """Call a function of a plugin; a refusal gets the name of the plugin that is first to raise it."""
    try:
        return function(*arguments)
    except RefusedError as refusal:
        if refusal.plugin is None:
            refusal.plugin = f"{plugin.identity}, {plugin.version}" if plugin.version else plugin.identity
        raise


# --- contributions ---


def _provider(manager: Any, plugin: Plugin, hook: str, call: Callable[..., Any]) -> Any:
    def provide(*arguments: Any) -> list[Plugin] | list[str] | None:
        fault = ""

        def answered() -> list[Plugin] | list[str] | None:
            nonlocal fault
            fault = "raised"
            answer = call(*arguments)
            fault = "returned what cannot be used"
            if hook == NAMES:
                return _names(answer)
            objects = [] if answer is None else _objects(hook, manager.cell_of(hook, arguments), answer)
            return [manager.computed(plugin, *one) for one in objects] or None

        try:
            return answered()
        except PASSES_THROUGH:
            raise
        except own_fault(*FAULTS, again=answered) as error:
            manager.withdraw(plugin, error, f"its hook {hook} {fault}")
            return None

    return provide


def _names(answer: Iterable[str] | None) -> list[str]:
    names = list(answer or ())
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"expected names, got {names!r}")
    return names


def _objects(hook: str, cell: tuple[str, str | None], answer: Any) -> list[tuple[str, str, object]]:
    """Group, name and object of everything that an answer holds."""
    group, name = cell
    if name is None:
        if not isinstance(answer, dict):
            raise TypeError(f"expected a dictionary by names, got {answer!r} of type {type(answer).__name__}")
        return [(group, own_name, obj) for own_name, obj in answer.items()]
    several = hook == "tangrad_rules" and isinstance(answer, (list, tuple))
    return [(group, name, obj) for obj in (answer if several else [answer])]


def _wrapper(manager: Any, plugin: Plugin, hook: str, call: Callable[..., Any]) -> Any:
    def begun(*arguments: object) -> Wrapper:
        generator: Wrapper = call(*arguments)
        try:
            _signing(plugin, next, generator)
        except StopIteration:
            raise TypeError("it did not yield") from None
        return generator

    def wrap(*arguments: object) -> Wrapper:
        generator, withheld = None, None
        try:
            generator = begun(*arguments)
        except PASSES_THROUGH:
            raise
        except DeniedPluginError as veto:
            withheld = f": {veto}"
        except own_fault(*FAULTS, again=lambda: begun(*arguments)) as error:
            manager.withdraw(plugin, error, f"its wrapper of {hook} raised")
        try:
            given = flat((yield))
        except BaseException as error:  # Ctrl-C, no memory: not the wrapper's to keep
            _throw_into(generator, error)
            raise
        kept = given if withheld is None else []
        try:
            if generator is not None:
                kept = _signing(plugin, _ended, generator, given)
        except PASSES_THROUGH:
            raise
        except DeniedPluginError as veto:
            kept, withheld = [], f": {veto}"
        except own_fault(*FAULTS) as error:
            manager.withdraw(plugin, error, f"its wrapper of {hook} raised")
        for contribution in given:
            if contribution.denial is None and not any(contribution is one for one in kept):
                contribution.denial = (  # until the composition changes
                    f"withheld by the hook wrapper of {plugin.identity}{withheld or ''}; "
                    f"TANGRAD_DENY='{plugin.identity}' composes without that wrapper"
                )
        return kept

    return wrap


def _ended(generator: Wrapper, given: list[Plugin]) -> list[Plugin]:
    """What a wrapper makes of the contributions."""
    try:
        generator.send(list(given))
    except StopIteration as stop:
        kept = stop.value
    else:
        generator.close()
        raise TypeError("it yielded twice")
    if isinstance(kept, (list, tuple)) and all(any(one is other for other in given) for one in kept):
        return list(kept)
    raise TypeError(f"a wrapper returns the list that yield gave it, or a part of that; this one returned {kept!r}")


def _throw_into(generator: Wrapper | None, error: BaseException) -> None:
    """Let a wrapper that has begun clean up; whatever it does, the error goes on."""
    if generator is not None:
        with contextlib.suppress(BaseException):
            generator.throw(error)
            generator.close()


# --- programs ---


def _program_hook(manager: Any, plugin: Plugin, hook: str, call: Callable[..., Any]) -> Any:
    def rewrite(program: Program[object], context: object) -> None:
        result = call(program.closed_jaxpr, context)
        if result is not None:
            Program.check_pass(program.closed_jaxpr, result)
            program.closed_jaxpr = result

    work = rewrite if hook == PASS else call

    def run(*arguments: object) -> None:
        try:
            call_inside(work, *arguments)
        except RefusedError:
            raise
        except own_fault(Exception, again=lambda: call_inside(work, *arguments)) as error:
            if hook not in OBSERVERS:  # what a policy forbids would be done without it: its faults stop that
                raise _failed(plugin, hook, arguments, error) from error
            manager.withdraw(plugin, error, f"its hook {hook} raised", observed=True)

    return run


def _failed(plugin: Plugin, hook: str, arguments: tuple[Any, ...], error: Exception) -> BrokenPluginError:
    """The error for a pass, whose arguments are program and context, or a policy, which gets a primitive first."""
    if hook == PASS:
        what = f"jaxpr pass of plugin {plugin.identity}"
        where = repr(arguments[1].function_name)
    else:
        what = f"hook {hook} of plugin {plugin.identity}"
        where = f"primitive {arguments[0].identity!r}"
    return BrokenPluginError(
        f"the {what} ({plugin.value}, {plugin.distribution} {plugin.version}) failed on "
        f"{where}: {type(error).__name__}: {error}. A policy that refuses on purpose raises tangrad.core.RefusedError. "
        f"To go on without the plugin: TANGRAD_DENY='{plugin.identity}'"
    )
