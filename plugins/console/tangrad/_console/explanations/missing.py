"""What errors say of what is missing, with what to install or to write, and of what is left behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CellType, CodeType, FrameType, FunctionType, GeneratorType, ModuleType, TracebackType
from typing import Any

from tangrad._console.explanations import catalogue
from tangrad._console.explanations.rules import explain, missing_rule
from tangrad._console.explanations.suggestions import for_array, for_module
from tangrad._console.explanations.value_texts import tracer_text
from tangrad.core import Primitive, Trace, Tracer, composition
from tangrad.core.tools import Explanations
from tangrad.errors import MissingDistributionError, MissingDistributionImportError

_SHOWN = 5  # tracers of one trace that are described; the first ones show the mistake as well as all
_DEPTH = 3  # how far from a tracer a holder is looked for: an element of a list in an attribute of an object
_PASSING: tuple[type, ...] = (
    FrameType,
    GeneratorType,
    type(iter(())),
    type(iter([])),
)  # hold a value only while code runs

_ADVICE = """\
A function under jit, grad, vmap must hand on what it computes by returning it; what it puts elsewhere is useless
afterwards. Return the value instead, or keep a copy that is made outside of the function."""


def describe_leak(trace: Trace, leaked: Sequence[Tracer]) -> str:
    """The text about the `leaked` tracers of the ended `trace`: what each is, where it was made, what holds it."""
    kind = type(trace).__name__
    if not leaked:
        return f"{kind} has ended and something still holds it, though none of its tracers.\n{_ADVICE}"
    lines = [f"{kind} has ended and {len(leaked)} of its tracers are still held:"]
    for index in range(min(len(leaked), _SHOWN)):
        lines.append(f"  {_described(leaked[index])}: held by {_holders(leaked[index], {id(leaked), id(trace)})}")
    if len(leaked) > _SHOWN:
        lines.append(f"  and {len(leaked) - _SHOWN} more")
    return "\n".join([*lines, _ADVICE])


def _described(tracer: object) -> str:
    aval = getattr(tracer, "aval", None)
    source = getattr(tracer, "source_info", None)
    what = aval.str_short() if aval is not None else type(tracer).__name__
    return f"{what}, made at {source.summarize()}" if source is not None else what


def _holders(tracer: object, ignored: set[int]) -> str:
    names: list[str] = []
    _name_holders(tracer, ignored, _DEPTH, "", names)
    return "; ".join(dict.fromkeys(names)) or "an object that the garbage collector does not see"


# Plain loops below, and no comprehension or generator: those would hold `obj` in cells and frames that then show up
# among its holders.


def _name_holders(obj: object, ignored: set[int], depth: int, path: str, names: list[str]) -> None:
    """Append names for what refers to `obj`, followed outwards until something has a name in the program."""
    referrers = gc.get_referrers(obj)
    ignored = {*ignored, id(referrers), id(obj)}
    for holder in referrers:
        if id(holder) in ignored or isinstance(holder, _PASSING):
            continue
        known = len(names)
        if isinstance(holder, CellType):
            names.append(_closure(holder, ignored) + path)
        elif isinstance(holder, (list, tuple, set, frozenset, dict)):
            if isinstance(holder, dict) and (owner := _owner_of_namespace(holder, ignored)) is not None:
                names.append(_attribute(owner, holder, obj) + path)
            elif depth:
                _name_holders(holder, ignored, depth - 1, f"{path} (in a {type(holder).__name__})", names)
            if len(names) == known:
                names.append(f"a {type(holder).__name__} of {len(holder)}{path}")
        else:
            names.append(_attribute(holder, _namespace(holder), obj) + path)


def _owner_of_namespace(namespace: Mapping[object, object], ignored: set[int]) -> object:
    """The module or object whose `__dict__` is `namespace`, or None for an ordinary dictionary."""
    for owner in gc.get_referrers(namespace):
        if id(owner) not in ignored and getattr(owner, "__dict__", None) is namespace:
            return owner
    return None


def _namespace(owner: object) -> dict[str, object]:
    """The attributes of an object, slots included."""
    found = dict(getattr(owner, "__dict__", {}))
    for base in type(owner).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if hasattr(owner, slot):
                found[slot] = getattr(owner, slot)
    return found


def _attribute(owner: object, namespace: Mapping[Any, object], value: object) -> str:
    for key, held in namespace.items():
        if held is value:
            if isinstance(owner, ModuleType):
                return f"the global {key!r} of module {owner.__name__}"
            return f"the attribute {key!r} of an object of type {type(owner).__name__}"
    return f"an object of type {type(owner).__name__}"


def _closure(cell: CellType, ignored: set[int]) -> str:
    for closure in gc.get_referrers(cell):
        if isinstance(closure, tuple) and id(closure) not in ignored:
            for function in gc.get_referrers(closure):
                if isinstance(function, FunctionType) and function.__closure__ is closure:
                    name = function.__code__.co_freevars[closure.index(cell)]
                    return f"the variable {name!r} that function {function.__qualname__!r} closes over"
    return "a variable that a function closes over"


_ROOT = "tangrad."
# Backend or platform -> what to install; a backend that is not here is installed as its distribution.
_PLATFORMS = ("cuda", "gpu")
_REQUIREMENTS = {"xla": '"tangrad[xla]"', **dict.fromkeys(_PLATFORMS, '"tangrad[cuda]"')}
_DRIVERS = ("jax-cuda13-plugin", "jax-cuda12-plugin")


def is_installed(distribution: str) -> bool:
    """Return whether a distribution is installed."""
    return composition().index.has_distribution(distribution)


def not_installed(what: str, distribution: str | None) -> MissingDistributionError | None:
    """Return the error for what a distribution ships, or None if that is installed, or in no distribution."""
    if distribution is None or is_installed(distribution):
        return None
    return MissingDistributionError(what, distribution, comes_with_tangrad(distribution))


def comes_with_tangrad(distribution: str) -> bool:
    """Return whether `pip install tangrad` would bring a distribution."""
    return distribution in catalogue.USUAL["tangrad"].split() and not is_installed("tangrad")


HINTS_LIMIT = 256
_hints: dict[tuple[str, int], str] = {}  # attribute of arrays, version of the composition -> the end of the error


class CatalogueExplanations(Explanations):
    """Explanations from the catalogue."""

    def missing_name(self, module_name: str, name: str, installed: set[str]) -> AttributeError:
        """Return the error for a public name; `installed`: the others of its package."""
        prefix = (module_name + ".").removeprefix(_ROOT)
        error = not_installed(f"{module_name}.{name}", catalogue.distribution_of(prefix + name))
        if error is not None:
            return error
        known = {other[len(prefix) :] for other in catalogue.public_names() if other.startswith(prefix)}
        hint = for_module(module_name, name, {other for other in known | installed if "." not in other})
        return AttributeError(
            f"module {module_name!r} has no attribute {name!r}{hint}{composition().manager.not_asked()}",
            name=name,
            obj=sys.modules.get(module_name),
        )

    def missing_module(self, full_name: str) -> ImportError | None:
        """Return the error for a module that the catalogue knows."""
        distributions = _distributions_of_module(full_name)
        if not distributions:
            return None
        return MissingDistributionImportError(full_name, distributions[0], comes_with_tangrad(distributions[0]))

    def missing_array_attribute(self, name: str, known: Callable[[], set[str]], version: int) -> AttributeError:
        """Return the error for an attribute of arrays, with what to write instead."""
        text = _hints.get((name, version))  # libraries ask arrays for what these do not have, again and again
        if text is None:
            owner = catalogue.owner_in(catalogue.ARRAY_ATTRIBUTES, name)
            error = not_installed(f"the array attribute {name!r}", owner)
            if error is not None:
                return error
            if len(_hints) >= HINTS_LIMIT:
                _hints.clear()
            text = _hints[name, version] = for_array(name, known) if owner is None else ""
        return AttributeError(f"an array has no attribute {name!r}{text}", name=name)

    def missing_setting(self, name: str, known: Sequence[str]) -> AttributeError:
        """Return the error for a setting; `known`: those that there are."""
        owner = catalogue.owner_in(catalogue.SETTINGS, name)
        by_prefix = catalogue.owner_in(catalogue.SETTING_NAMES, name.partition("_")[0])
        return not_installed(f"the setting {name!r}", owner or by_prefix) or super().missing_setting(name, known)

    def backends_to_install(self, name: str | None = None) -> str:
        """Return how to get a missing backend or platform; empty where nothing that could be installed brings it."""
        driver = next((one for one in _DRIVERS if is_installed(one)), None)
        if name in _PLATFORMS and is_installed("tangrad-backend-xla") and driver is not None:
            return f" {driver} is installed and finds no such device: nvidia-smi shows whether the system has one"
        owners = {one: owner for owner, backends in catalogue.BACKENDS.items() for one in backends.split()}
        named = [_REQUIREMENTS.get(name, owners.get(name, ""))] if name in _REQUIREMENTS or name in owners else []
        others = [_REQUIREMENTS.get(backend, owner) for backend, owner in owners.items() if not is_installed(owner)]
        return f" Install one: pip install {' or '.join(named or others)}" if named or others else ""

    def missing_rule(self, kind_name: str, primitive: Primitive, shipped_by: str) -> str:
        """Return the words for a primitive without a rule, with the lines that add one."""
        return missing_rule(kind_name, primitive, shipped_by)

    def rule_failed(
        self, error: BaseException, traceback: TracebackType, sites: Mapping[CodeType, tuple[str, str]]
    ) -> None:
        """Say whose rule an error comes from, and what was expected of it."""
        explain(error, traceback, sites)

    def tracer(self, tracer: Tracer) -> str:
        """Return the class of a tracer with what is known of it."""
        return tracer_text(tracer)

    def leak(self, trace: Trace, leaked: Sequence[Tracer]) -> str:
        """Return the words for tracers of an ended trace, with what holds them."""
        return describe_leak(trace, leaked)

    def distribution_of(self, name: str) -> str | None:
        """Return the distribution of a public name; None if none of ours ships it."""
        return catalogue.distribution_of(name)


def _distributions_of_module(full_name: str) -> list[str]:
    """Return the distributions that would provide a module, or the public name that a `from` import tried as a module.

    Only for the tops of a distribution's tree: below them the distribution is installed, and the module does not exist.
    """
    distributions = [
        distribution
        for distribution, tops in catalogue.MODULES.items()
        if any(top == full_name or top.startswith(full_name + ".") for top in tops.split())
    ]
    distributions.sort(key=lambda one: one != catalogue.distribution_of_module(full_name))  # whose the names are, first
    if not distributions:
        # `from tangrad import grad` tries the attribute, then a module of that name, and reports only the latter.
        public = full_name.removeprefix(_ROOT)
        owner = catalogue.distribution_of(public) if public in catalogue.public_names() else None
        distributions = [owner] if owner is not None and not is_installed(owner) else []
    return distributions


explanations = CatalogueExplanations()
