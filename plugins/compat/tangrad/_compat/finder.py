"""The alias: its modules, what `import jax.numpy` finds, and how it is put in the way of that and taken away."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import tangrad.autodiff
from tangrad._compat.module_names import HELD, NAMES_OF, OWN
from tangrad._compat.primitives import primitive_called
from tangrad.core import Array, ClosedJaxpr, Primitive, ShapedArray, class_boundary, composition, jaxpr_as_function
from tangrad.errors import MissingDistributionError

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, DTypeLike, Params, Value

_of_shape = ShapedArray.__new__


def stated_type(
    cls: type[ShapedArray],
    shape: Dimensions,
    dtype: DTypeLike,
    weak_type: bool = False,
    named_shape: Any = (),
    *,
    sharding: Any = None,
    **options: object,
) -> ShapedArray:
    """`ShapedArray(shape, dtype, weak_type)` with the arguments that jax's class takes, too.

    Args:
        sharding: along Explicit axes of a mesh it is part of the type; one by the shape of a mesh is for the mesh in
            use, or one of the first devices.

    Raises ValueError for a shape that it cannot cut, and where there are fewer devices.
    """
    aval = _of_shape(cls, shape, dtype, weak_type, named_shape)
    if sharding is None or not any(part is not None for part in getattr(sharding, "spec", ())):
        return aval
    stated = import_module("tangrad.core.backends").as_sharding(sharding, "ShapedArray")
    stated.check_shape(aval.shape, "an array")
    return aval.update(sharding=stated)


class _CallOfFunctions(Primitive):
    """One that interpreters of programs bind with the functions `bind_params` gave them, which it has as a program."""

    __slots__ = ()

    def bind(self, *args: Value, subfuns: object = None, **params: object) -> object:
        return super().bind(*args, **params)


def bind_params(primitive: Primitive, params: Params) -> Params:
    """What an equation's primitive is bound with, as `primitive.get_bind_params(params)` gives it.

    Of a function with a jvp rule also `subfuns`: the function and its rule, of flat values, each as a `WrappedFun`.
    """
    program = params.get("jaxpr")
    if primitive.identity != "custom_rules.custom_jvp_call" or type(program) is not ClosedJaxpr:
        return params
    primitive.__class__ = _CallOfFunctions

    def rule(*values: Value) -> list[Value]:
        half, consts = len(values) // 2, params["num_consts"]
        outs, tangents = params["rule"](values[consts:half], values[half + consts :])
        return [*outs, *map(tangrad.autodiff.instantiate, tangents)]

    wrap = import_module(f"{OWN}.linear_util").wrap_init
    return {**params, "subfuns": (wrap(jaxpr_as_function(program)), wrap(rule))}


# What programs, libraries' rules and interpreters of programs ask for by JAX's names.
METHODS: tuple[tuple[type, str, object], ...] = (
    (Array, "format", property(lambda self: import_module(f"{OWN}.sharding").format_of(self))),
    (ShapedArray, "at_least_vspace", lambda self: self.to_tangent_aval()),
    (ShapedArray, "__new__", staticmethod(stated_type)),
    (Primitive, "get_bind_params", bind_params),
)

# --- The modules of the alias: what `import jax.numpy` finds, and where each name in it comes from --------------------
# A module of the alias has two sources: what it has of its own by a table (`HELD`), which Tangrad calls
# otherwise or has no public name for, and Tangrad's public module of the same name, for those of jax that are in
# `FOLLOWED`. Private modules have those of public ones that their names are of, too (`NAMES_OF`). Names are looked up
# when they are first used, so that an alias costs nothing but what a program takes from it; `vars(jax.numpy)` looks all
# of them up.


# The top of what is aliased.
ROOTS = ("jax", "jaxlib")

# The public modules of jax that are Tangrad's of the same names, with all that is below them.
FOLLOWED = frozenset(
    [
        "ad",
        "ad_checkpoint",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "distributed",
        "dlpack",
        "dtypes",
        "errors",
        "example_libraries",
        "experimental",
        "export",
        "ffi",
        "flatten_util",
        "image",
        "lax",
        "monitoring",
        "nn",
        "numpy",
        "ops",
        "profiler",
        "random",
        "ref",
        "scipy",
        "sharding",
        "stages",
        "test_util",
        "tree",
        "tree_util",
        "typing",
    ]
)


_WITH_PRIMITIVES = ("_src.", "custom_derivatives", "extend.core.primitives", "lax", "random")
_HELD_BY = "names of "
_own_dict: Any = vars(ModuleType)["__dict__"].__get__  # what was looked up so far


class HeldNames(ModuleType):
    """The names that a module of the alias has of its own, where they stand in several modules or beside others."""

    def __init__(self, full_name: str, table: dict[str, str]) -> None:
        super().__init__(full_name, f"`{full_name}`, as far as Tangrad has it.")
        self.__file__ = __file__
        pairs = [(name.partition("="), module) for module, names in table.items() for name in names.split()]
        self.__owners__ = {alias: (module, own or alias) for (alias, _, own), module in pairs}
        self.__all__ = sorted(self.__owners__)

    def __getattr__(self, name: str) -> Any:
        if name not in self.__owners__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        module, own = self.__owners__[name]
        return getattr(import_module(module), own)


class AliasModule(ModuleType):
    """A module of the alias. Attributes are looked up in its sources, and kept.

    Attributes:
        __sources__: the modules that its names come from, the first that has one wins.
    """

    __sources__: tuple[ModuleType, ...] = ()

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All names with their values: packages walk `vars(jax.numpy)`."""
        found = _own_dict(self)
        for name in dir(self):
            if name not in found:
                with suppress(AttributeError, ImportError):  # of distributions that are not installed
                    getattr(self, name)
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            return self._special(name)
        cause = None
        for source in self.__sources__:
            if source.__name__ == "tangrad" and composition().entries("tangrad.old_names", name):
                continue  # a module, here or before: looking would warn of its old name
            try:
                value = getattr(source, name)
            except MissingDistributionError:
                raise
            except AttributeError as error:
                cause = error
            else:
                # Modules are found as modules of the alias: Tangrad's `core` is not what jax calls so.
                if not isinstance(value, ModuleType):
                    _own_dict(self)[name] = value
                    return value
        if name.endswith("_p") and self.__name__.removeprefix("jax.").startswith(_WITH_PRIMITIVES):
            with suppress(AttributeError):
                return primitive_called(self.__name__, name)
        module = self._submodule(name)
        if module is None:
            raise AttributeError(_missing(f"{self.__name__}.{name}"), name=name, obj=self) from cause
        return module

    def __setattr__(self, name: str, value: object) -> None:
        """Keep what a name means that is that of a module below, too, where that is imported: `jax.config` is none."""
        kept = [source for source in self.__sources__ if not isinstance(vars(source).get(name, value), ModuleType)]
        if not isinstance(value, AliasModule) or not kept:
            super().__setattr__(name, value)

    def _special(self, name: str) -> object:
        if name == "__all__":
            return [each for each in dir(self) if not each.startswith("_")]
        for source in self.__sources__[:1]:
            if name in (
                "__file__",
                "__version__",
                "__version_info__",
                "__array_api_version__",
                "__array_namespace_info__",
            ):
                return getattr(source, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)

    def _submodule(self, name: str) -> ModuleType | None:
        full_name = f"{self.__name__}.{name}"
        if full_name in sys.modules or _sources(full_name):
            return import_module(full_name)
        return None

    def __dir__(self) -> list[str]:
        below = f"{self.__name__}.".removeprefix("jax.")
        beneath = {name.removeprefix(below).partition(".")[0] for name in HELD if name.startswith(below)}
        names = {name for source in self.__sources__ for name in _public(source)}
        return sorted({*_own_dict(self), *names, *beneath - {"", "jaxlib"}})

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}: alias of Tangrad>"


class AliasFinder:
    """The finder on `sys.meta_path` while the alias is installed, and the loader of what it finds."""

    @classmethod
    def find_spec(
        cls, full_name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of the alias. Raises ModuleNotFoundError for one that is not in it."""
        root = full_name.partition(".")[0]
        if root not in ROOTS or _is_real(root):
            return None
        if not _sources(full_name):
            error = ModuleNotFoundError(_missing(full_name))
            # `from jax.lax import f` tries the attribute, then a module: an error that bears the module's name is
            # swallowed there, and Python's own message explains nothing.
            error.name = None
            raise error
        loader: Any = cls
        # Any of them may have modules below it.
        origin = f"tangrad.compat.jax: {' and '.join(_sources(full_name))}"
        return ModuleSpec(full_name, loader, origin=origin, is_package=True)

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        return AliasModule(spec.name)

    @staticmethod
    def exec_module(module: Any) -> None:
        sources = tuple([_source(name) for name in _sources(module.__name__)])
        module.__sources__ = sources
        module.__doc__ = sources[-1].__doc__


def _sources(full_name: str) -> tuple[str, ...]:
    """The names of the modules behind a module of the alias (`_source`); none where it is not in it."""
    root, _, rest = full_name.partition(".")
    held = HELD.get(rest if root == "jax" else full_name)
    own = [] if held is None else [held if isinstance(held, str) else _HELD_BY + full_name]
    if root != "jax" or not rest:
        return (*own, "tangrad") if root == "jax" else tuple(own)
    found = [f"tangrad.{rest}"] if rest.partition(".")[0] in FOLLOWED else []
    if rest.startswith("_src.lib.") and _is_real("jaxlib"):
        found.append(f"jaxlib.{rest.removeprefix('_src.lib.')}")
    own += [name for name in found if _exists(name)]
    return (*own, *[name for module in NAMES_OF.get(rest, ()) for name in _sources(f"jax.{module}".rstrip("."))])


def _source(name: str) -> ModuleType:
    """The module of a name in `_sources`: an ordinary one, or the names that a module of the alias has of its own."""
    if not name.startswith(_HELD_BY):
        return import_module(name)
    full_name = name.removeprefix(_HELD_BY)
    held = HELD[full_name.removeprefix("jax.")]
    assert isinstance(held, dict)
    return HeldNames(full_name, held)


def _exists(name: str) -> bool:
    """Whether a module can be imported; those of distributions that are not installed count: importing one names it."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError as error:
        return error.name is None


def _is_real(root: str) -> bool:
    """Whether a root is to be what it is without the alias: a jaxlib that is installed."""
    return root == "jaxlib" and PathFinder.find_spec(root) is not None


def _public(module: ModuleType) -> list[str]:
    return [name for name in getattr(module, "__all__", None) or dir(module) if not name.startswith("_")]


def _missing(name: str) -> str:
    """What to say of a name that is not in the alias."""
    private = (
        " Of jax's private modules it has only what packages of the field commonly take." if "._src" in name else ""
    )
    alias = "'jax' is an alias of Tangrad here (tangrad.compat.jax), which has no such name."
    return f"there is no {name!r}: {alias}{private}"


# --- Puts the alias in the way of `import jax`, and takes it away again -----------------------------------------------


@class_boundary
class Installation:
    """What `install` returns; as a context manager it takes the alias away at the end of the block."""

    __slots__ = ("_undone",)

    def __init__(self, undone: bool = False) -> None:
        self._undone = undone

    def undo(self) -> None:
        """Take the alias away, if this call of `install` put it there; a second call does nothing."""
        if not self._undone:
            self._undone = True
            uninstall()

    def __enter__(self) -> Installation:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<alias of jax, {'installed' if is_installed() else 'not installed'}>"


def install() -> Installation:
    """Have `import jax` mean Tangrad, in this process, from now on.

    A jax that is installed beside it is not touched, and not found while the alias is there. A real `jaxlib` stays what
    it is; where none is installed, `import jaxlib` gives a module that knows its version.

    Returns:
        An object whose `undo()` takes the alias away, also as a context manager. Where the alias was there before, it
        does nothing.

    Raises:
        ImportError: jax itself is imported already.

    Example:
        >>> import tangrad.compat.jax
        >>> with tangrad.compat.jax.install():
        ...     import jax.numpy as jnp
        ...     from jax import grad
        >>> grad(jnp.sin)(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    if is_installed():
        return Installation(undone=True)
    theirs = [name for name in sys.modules if name.partition(".")[0] == "jax" and not _is_alias(name)]
    if theirs:
        where = getattr(sys.modules[min(theirs, key=len)], "__file__", None)
        raise ImportError(
            f"jax itself is imported already (from {where}), and what holds its functions would not see the alias: "
            "call tangrad.compat.jax.install() before anything imports jax",
            name="jax",
        )
    sys.meta_path.insert(0, AliasFinder)
    for owner, name, method in METHODS:
        setattr(owner, name, method)
    return Installation()


def uninstall() -> None:
    """Take the alias away: `import jax` means again what it meant before. Without an alias it does nothing.

    Modules that imported names of the alias keep them.

    >>> import tangrad.compat.jax
    >>> installation = tangrad.compat.jax.install()
    >>> tangrad.compat.jax.uninstall()
    >>> tangrad.compat.jax.is_installed()
    False
    """
    if AliasFinder in sys.meta_path:
        sys.meta_path.remove(AliasFinder)
    for name in [name for name in sys.modules if name.partition(".")[0] in ROOTS and _is_alias(name)]:
        del sys.modules[name]


def is_installed() -> bool:
    """Whether `import jax` means Tangrad now.

    >>> import tangrad.compat.jax
    >>> tangrad.compat.jax.is_installed()
    False
    """
    return AliasFinder in sys.meta_path


def _is_alias(name: str) -> bool:
    return isinstance(sys.modules[name], AliasModule)
