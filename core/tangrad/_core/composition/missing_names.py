"""The part of an error about what is missing, or moved; who knows more than the kernel is asked only then.

That is the entry `missing` of the group `tangrad.explanations`: an instance of a class below `Explanations`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType, TracebackType
from typing import Any

from tangrad._core.composition.plugin import check_type
from tangrad._core.composition.registry import composition
from tangrad._core.diagnostics.errors import MissingDistributionImportError, PluginError

EXPLANATIONS_GROUP = "tangrad.explanations"
_ROOT = "tangrad."
_CURE = "pip install tangrad brings the usual ones; where tangrad-console is installed, this names the distribution"


class Explanations:
    """The explanations of the kernel alone. A subclass may give longer ones, of everything or of some."""

    def missing_name(self, module_name: str, name: str, installed: set[str]) -> AttributeError:
        """Return the error for a public name; `installed`: the others of its package."""
        entry = f"{module_name}.{name}".removeprefix(_ROOT)
        return AttributeError(
            f"module {module_name!r} has no attribute {name!r}: no entry {entry!r} of the group 'tangrad.api', "
            f"and no such module ({_CURE}){composition().manager.not_asked()}",
            name=name,
            obj=sys.modules.get(module_name),
        )

    def missing_module(self, full_name: str) -> ImportError | None:
        """Return the error for a module that no finder has, or None, where Python's own is all there is to say."""
        if full_name == "tangrad.__main__":
            return MissingDistributionImportError("python -m tangrad", "tangrad-console")
        return None

    def missing_array_attribute(self, name: str, known: Callable[[], set[str]], version: int) -> AttributeError:
        """Return the error for an operator, method or property of arrays; `known()`: what there is, in a `version`."""
        return AttributeError(
            f"an array has no attribute {name!r}: there is no such entry of the group 'tangrad.array' ({_CURE})",
            name=name,
        )

    def missing_setting(self, name: str, known: Sequence[str]) -> AttributeError:
        """Return the error for a setting; `known`: those that there are."""
        return AttributeError(f"there is no setting {name!r}; the settings are: {', '.join(known)}")

    def backends_to_install(self, name: str | None = None) -> str:
        """Return how to get a missing backend or platform, or, without a name, any: a part of the error about it."""
        return " Backends are entries of the group 'tangrad.backends', of distributions such as tangrad-backend-numpy"

    def missing_rule(self, kind_name: str, primitive: Any, shipped_by: str) -> str:
        """Return the words of the error for a primitive without a rule of a kind; `shipped_by`: its distribution."""
        return (
            f"primitive {primitive.identity!r}, shipped by {shipped_by}, has no rule of kind {kind_name!r}: there is "
            f"none in the group of entry points 'tangrad.rules.{kind_name}' (where tangrad-console is installed, this "
            "explains how to add one)"
        )

    def rule_failed(
        self, error: BaseException, traceback: TracebackType, sites: Mapping[CodeType, tuple[str, str]]
    ) -> None:
        """Add to an error whose rule it comes from; `sites`: the code that calls rules -> their kind, a variable."""

    def tracer(self, tracer: Any) -> str:
        """Return the `repr` of a tracer, in whatever state that is."""
        aval = getattr(tracer, "aval", None)
        return type(tracer).__name__ + ("" if aval is None else f"<{aval.str_short()}>")

    def leak(self, trace: Any, leaked: Sequence[Any]) -> str:
        """Return the words of the error for tracers that are still held after their trace has ended."""
        return (
            f"{type(trace).__name__} has ended and {len(leaked)} of its tracers are still held (where tangrad-console "
            "is installed, this names what holds them)"
        )

    def distribution_of(self, name: str) -> str | None:
        """Return the distribution of a public name, written without the leading `tangrad.`; None: it is not known."""
        return None


_PLAIN = Explanations()
_asked: list[Explanations] = []  # the answer, until the composition changes


def explanations() -> Explanations:
    """Return the object that explains what is missing."""
    if not _asked:
        _asked.append(_PLAIN)  # while it is looked for: it may lack something itself
        try:
            plugin = composition().find(EXPLANATIONS_GROUP, "missing")
            found = _PLAIN if plugin is None else plugin.load()
        except PluginError:  # whose owner hears of it elsewhere: this is about another error
            found = _PLAIN
        except BaseException:
            _asked.clear()
            raise
        _asked[:] = [found]
    return _asked[0]


def how_to_install(name: str) -> str:
    """Return what to install for the public name `name`, written without the leading `tangrad.`, as a command.

    >>> from tangrad.core.tools import how_to_install
    >>> how_to_install("export.symbolic_shape")
    'pip install tangrad-lax'
    """
    return f"pip install {explanations().distribution_of(name) or 'tangrad'}"


composition().set_check(EXPLANATIONS_GROUP, partial(check_type, expected=Explanations))
composition().on_change(lambda _: _asked.clear())


class LastFinder:
    """The last finder on `sys.meta_path`: finds a module of ours that moved, or names the owner of a missing one.

    It is asked only when no other finder knows the module, so imports that succeed never reach it.
    """

    @classmethod
    def find_spec(
        cls, full_name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise the error for a module that no other finder has, where there is more to say than Python does."""
        if not full_name.startswith(_ROOT):
            return None
        for later in sys.meta_path[sys.meta_path.index(cls) + 1 :] if cls in sys.meta_path else ():
            spec = later.find_spec(full_name, path, target)
            if spec is not None:
                return spec
        moved = _moved_spec(full_name)
        error = explanations().missing_module(full_name) if moved is None else None
        if error is None:
            return moved
        # A `from` import swallows an error that bears the name of the module it tried, and reports one that explains
        # nothing.
        error.name = None
        raise error


def install_finder() -> None:
    """Have imports of what is not installed say so, from now on."""
    if LastFinder not in sys.meta_path:
        sys.meta_path.append(LastFinder)


# --- modules that moved ---
# Under the names that they had before extension API 1 was final they import, with a DeprecationWarning. The modules of
# the distribution `tangrad-x` are in `tangrad._x`; before, each had a package with a name of its own. Distributions
# state the names that theirs had.

# An entry of this group is called as a package was, without `tangrad.`, and its value is the package of today. What
# stayed public is found before this is asked (`tangrad.numpy`); only what was in it and moved gets here
# (`tangrad.numpy.shapes`).
OLD_NAMES_GROUP = "tangrad.old_names"


def new_name(name: str) -> str | None:
    """Return where the module `name` is today, or None where nothing of that name ever moved.

    >>> new_name("tangrad.jitting.functions"), new_name("tangrad.jit")
    ('tangrad._jit.functions', None)
    """
    parts = name.removeprefix(_ROOT).split(".")
    for length in range(min(len(parts), 2), 0, -1):  # packages of backends have two parts
        for plugin in composition().entries(OLD_NAMES_GROUP, ".".join(parts[:length])):
            if plugin.denial is None:
                return ".".join([plugin.value, *parts[length:]])
    return None


def _moved_spec(name: str) -> ModuleSpec | None:
    """Return the spec of a module that moved, asked for by a finder; None where it did not."""
    if name == "tangrad.backends":  # the old parent of two packages, itself none
        return ModuleSpec(name, _former(ModuleType(name)), is_package=True)
    new = new_name(name)
    if new is None:
        return None
    try:
        module = import_module(new)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{new}.".startswith(f"{error.name}."):
            raise  # it is there, and what it imports is not
        return None
    warnings.warn(
        f"{name} is deprecated since tangrad-core 0.1, and goes with extension API 2: what other distributions may use "
        f"is in the public modules that the page on the extension API lists; the module itself is {new} now",
        DeprecationWarning,
        stacklevel=3,  # the import
    )
    return ModuleSpec(name, _former(module), is_package=hasattr(module, "__path__"))


class _Former:
    """Loads a module under an old name: the one of today.

    Of a package, one of the old name without a folder, so that what is in it comes through the finder as well.
    """

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        if not hasattr(module, "__path__"):
            sys.modules[module.__name__] = self.module
            return
        module.__doc__, module.__dict__["__getattr__"] = self.module.__doc__, partial(getattr, self.module)


_former: Any = _Former  # importlib's abstract class would be one import more
