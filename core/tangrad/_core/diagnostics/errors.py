"""The errors of the framework: what went wrong, the code that does it, and the code to write instead.

Each error is also one of Python's own kinds, so that a program which catches TypeError goes on working. Messages are
put together when an error is raised, never before, and an error keeps its text alone: a tracer kept by an error would
outlive its trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class TangradError(Exception):
    """Base class of the errors that are the framework's own."""


class ArgumentError(TangradError, TypeError, ValueError):
    """An argument of a kind or structure that is not taken, which programs expect as either of Python's classes."""


class TypePromotionError(ArgumentError):
    """Dtypes have no common type that they are promoted to without being asked."""


# --- tracers ---


class TracerError(TangradError):
    """Base class of the errors of values that are being traced. Takes the tracer, or a finished message."""

    explanation = "{subject} was used in a way that is not possible while it is traced.\n{origin}"

    def __init__(self, tracer: Any, what: str = "") -> None:
        super().__init__(tracer if isinstance(tracer, str) else self.message(tracer, what))

    @classmethod
    def message(cls, tracer: object, what: str = "") -> str:
        """The text about one tracer; `what` names what its value is needed for: "the argument `stop` of arange"."""
        needed = f" (for {what})" if what else ""
        return cls.explanation.format(subject=_subject(tracer), origin=_origin(tracer), needed=needed)


def _subject(tracer: object) -> str:
    aval = getattr(tracer, "aval", None)
    return "a traced value" if aval is None else f"a traced array of type {aval.str_short()}"


def _origin(tracer: object) -> str:
    """Of which transformation a tracer is, and on which line it was made, as far as its trace knows."""
    origin = getattr(tracer, "origin", None)
    lines = [f"It is {origin()}."] if origin is not None else []
    source = getattr(tracer, "source_info", None)
    if source is not None:
        lines.append(f"It was made at {source.summarize()}.")
    return "\n".join(lines)


class TracerTypeError(TracerError, TypeError):
    """Base class of the errors of traced values that are TypeErrors."""


class TracerIndexError(TracerError, IndexError):
    """Base class of the errors of traced values that are IndexErrors."""


class ConcretizationTypeError(TracerTypeError):
    """A Python number was needed where there is only a tracer."""

    explanation = """\
the concrete value of {subject} is needed{needed}, but it is unknown while the function is traced.
{origin}

While a function is traced its arrays stand for every value they may take. float(), int(), complex(), .item() and
.tolist() need one value, and so do arguments that decide the shape or the structure of a program.

    @jit
    def f(x, n):
        return x.reshape(int(n), -1)        # n is traced

Make the argument static, so that each of its values is compiled for itself:

    f = jit(f, static_argnames="n")

or stay within arrays: to change the dtype write x.astype(float) in place of float(x)."""

    @classmethod
    def of_known_number(cls, tracer: Any, kind: str) -> ConcretizationTypeError:
        """The error for a number that is known, and whose derivative `kind`, "float" or "complex", would lose."""
        return cls(
            f"{kind}() of {_subject(tracer)}, {tracer.origin()}: the number is known, but its derivative would be "
            f"lost. Compute with tangrad.numpy in place of math, or say that no derivative is wanted: "
            f"{kind}(lax.stop_gradient(x)), x.item()"
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """Python asked whether a tracer is true: `if`, `while`, `and`, `or`, `not`, `assert`, `in`."""

    explanation = """\
the truth of {subject} is needed{needed}, but it is unknown while the function is traced.
{origin}

`if`, `while`, `and`, `or`, `not`, `assert`, `in` and chains such as a < b < c ask an array whether it is true.

    @jit
    def f(x):
        if x > 0:                           # x is traced
            return x
        return -x

Choose between values with tangrad.numpy.where(x > 0, x, -x); combine conditions with & | ~ (numpy.logical_and, ...);
or, where the condition hangs on an argument that takes few values, make that static: jit(f, static_argnames=...)."""


class TracerIntegerConversionError(TracerTypeError):
    """A tracer was used where Python takes an integer only: range(), an index into a list, a repetition."""

    explanation = """\
{subject} cannot be used as a Python integer{needed}: its value is unknown while the function is traced.
{origin}

range(), indexing a list or tuple, and repeating a sequence need an integer.

    layers = [1.0, 2.0, 3.0]

    @jit
    def f(i):
        return layers[i]                    # i is traced

Index an array instead of a list, tangrad.numpy.array(layers)[i], or make the argument static:

    f = jit(f, static_argnames="i")"""


class TracerArrayConversionError(TracerTypeError):
    """A tracer was given to a function of NumPy, or of another library that makes NumPy arrays of its arguments."""

    explanation = """\
{subject} cannot become a NumPy array{needed}: its contents are unknown while the function is traced.
{origin}

NumPy's functions, and those of libraries built on NumPy, need the contents of their arguments. Indexing a NumPy array
with a traced index asks for them too.

    @jit
    def f(x):
        return numpy.sin(x)                 # NumPy, and x is traced

Write tangrad.numpy.sin(x), and tangrad.numpy.asarray(table)[i] in place of table[i]. A function that exists in NumPy
only can be applied to static arguments: jit(f, static_argnames=...)."""


class NonConcreteBooleanIndexError(TracerIndexError):
    """A traced boolean array was used as an index: the shape of the result would depend on its contents."""

    explanation = """\
{subject} cannot be used as a boolean index{needed}:
how many elements it selects is not known while the function is traced.
{origin}

    @jit
    def f(x):
        return x[x > 0].sum()               # the shape of x[x > 0] depends on the contents of x

Keep the shape and blank out the rest: tangrad.numpy.where(x > 0, x, 0).sum(), x.sum(where=x > 0), x.at[mask].set(0); or
state the size: x[tangrad.numpy.nonzero(x > 0, size=n)]."""


class UnexpectedTracerError(TracerTypeError):
    """A tracer was used after its transformation had ended, or in a thread that does not run it."""

    explanation = """\
{subject} was used{needed} outside of the transformation that it belongs to.
{origin}

A function under jit, grad, vmap must hand on what it computes by returning it. A value that it puts into a global, a
list, an attribute of an object or a closure is a tracer, which is good for nothing once the transformation has ended.

    seen = []

    @jit
    def f(x):
        y = x + 1
        seen.append(y)                      # y leaves the function by the side
        return y * 2

    f(1.0); seen[0] + 1                     # this error

Return y beside the result: `return y * 2, y`. To see where the tracer is kept, run with
TANGRAD_CHECK_TRACER_LEAKS=1, or within `with tangrad.checking_leaks():`."""


class LeakedTracerError(TangradError, RuntimeError):
    """With the setting `check_tracer_leaks`: a transformation has ended and something still holds its tracers."""


# --- sizes ---


class InconclusiveDimensionOperation(ValueError):
    """A question about symbolic dimensions whose answer depends on the sizes; it names a constraint that decides it."""


# --- jaxprs and backends ---


class JaxprTypeError(TangradError, TypeError):
    """The IR checker found a jaxpr that is not well-formed: a fault of the rule or transformation that made it."""


class BackendError(TangradError, RuntimeError):
    """A backend is not there, cannot be used, or cannot do what was asked."""


def mixed_backends(backend: Any, array: Any) -> ValueError:
    """The error for an array beside those of another backend: nothing is moved implicitly."""
    other = type(array).backend
    return ValueError(
        f"arguments are on different backends, {backend.name!r} and {other.name!r}; "
        f"move one of them: tangrad.device_put(x, tangrad.devices({backend.name!r})[0])"
    )


class CallbackError(TangradError, RuntimeError):
    """A Python function that a program calls has raised (its cause), or returned something else than was declared."""


class KeyReuseError(TangradError, RuntimeError):
    """A random key is used a second time; looked for where `tangrad.debug_key_reuse` is on."""


def unhashable_parameters(primitive: str, params: Mapping[str, object]) -> TypeError:
    """The error for parameters that cannot be a key, naming the first that is to blame."""
    for name, value in params.items():
        try:
            hash(value)
        except TypeError:
            must, cure = "hashable and comparable", f" of type {type(value).__name__}"
            if _is_traced(value):
                must, cure = "known when it is applied", _CURE_OF_TRACED
            return TypeError(f"parameter {name!r} of primitive {primitive!r} must be {must}, got {value!r}{cure}")
    return TypeError(f"the parameters of primitive {primitive!r} must be hashable, got {params!r}")


def _is_traced(value: object) -> bool:
    """Whether a parameter is a tracer, or holds one."""
    if isinstance(value, (tuple, list)):
        return any([_is_traced(item) for item in value])
    return hasattr(type(value), "_trace")


_CURE_OF_TRACED = (
    ", which is traced: an argument that a parameter is made of is static (tangrad.jit(f, static_argnums=...), or "
    "static_argnames), and is neither differentiated (argnums=) nor mapped (in_axes=)"
)


# --- rules ---


class MissingRuleError(TangradError, NotImplementedError, TypeError):
    """A primitive met a transformation or backend for which it has no rule.

    NotImplementedError, because programs catch that to try another way; TypeError too, because the kinds of the two do
    not fit, which is what TypeError means everywhere else in this package.

    Attributes:
        primitive: the identity, 'family.name', of the primitive without a rule; None where not one alone is meant.
        kind: the rule kind.
    """

    def __init__(self, message: str, primitive: str | None = None, kind: str | None = None) -> None:
        super().__init__(message)
        self.primitive = primitive
        self.kind = kind

    def needed_by(self, primitive: str) -> MissingRuleError:
        """The same error, for a primitive whose decomposition has met it: that one is what the user has applied."""
        what = f"{self.kind!r} of {primitive!r}, which has no rule of its own, is made of its decomposition"
        return MissingRuleError(f"{what}, and cannot be: {self}", self.primitive, self.kind)


# --- plugins and distributions ---


class PluginError(TangradError, RuntimeError):
    """Base class of the errors of plugins; the message names the distribution, its version and the entry."""


class PluginConflictError(PluginError):
    """Two plugins claim one name or one rule, and neither has `override=True`, or both do.

    Attributes:
        cell: what is claimed, as preferences write it: `kind:primitive`, `group:name`. Empty where no preference helps.
        claimants: the distributions that claim it; those registered by hand, which no preference names, are left out.
    """

    def __init__(self, message: str, cell: str = "", claimants: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.cell = cell
        self.claimants = tuple(claimants)

    @classmethod
    def between(
        cls, what: str, cell: str, claimants: Iterable[str], more: str = "", owner: str | None = None
    ) -> PluginConflictError:
        """The error for a cell that several distributions claim, with the lines that decide it.

        The choice that they show is who had the cell before another one came: its `owner`, else a part of Tangrad.
        """
        named = [name for name in dict.fromkeys(claimants) if name[0] != "("]
        named.sort(key=lambda one: (one != owner, not one.startswith("tangrad-")))
        if not named:
            return cls(f"{what}. Take one of them back: what `register` returned has undo(){more}", cell)
        return cls(
            f"{what}. Choose one: TANGRAD_PREFER='{cell}={named[0]}' in the environment, or "
            f"tangrad.core.tools.configure_plugins(prefer={{{cell!r}: {named[0]!r}}}){more}",
            cell,
            named,
        )


class BrokenPluginError(PluginError):
    """A plugin that is needed could not be loaded, now or earlier; the original error is its cause."""


class ApiVersionError(PluginError):
    """A plugin was written for a version of the extension API that this core does not provide."""


class DeniedPluginError(PluginError):
    """A plugin that is needed is excluded by an allow or deny list."""


class RefusedError(TangradError, RuntimeError):
    """A policy refuses: raised by a hook on purpose, it reaches the caller as it is, with the plugin's name.

    Whatever else a hook raises is a fault of its plugin. Authors raise this one, or a class of their own below it, from
    any hook: an operation, a program, a composition is not to be.

    Attributes:
        plugin: which plugin refused: `distribution:group:name` and its version; None until the error has left the hook.
    """

    plugin: str | None = None

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.plugin is None else f"{text} (refused by plugin {self.plugin})"


class PluginWarning(UserWarning):
    """A plugin was set aside; what does not need it goes on working."""


class _Missing(TangradError):
    def __init__(self, name: str, distribution: str | None = None, is_usual: bool = False) -> None:
        # `is_usual`: whether `pip install tangrad` would bring it.
        more = "   (or everything that is usual with: pip install tangrad)" if is_usual else ""
        cure = f"which is not installed. Install it with: pip install {distribution}{more}"
        super().__init__(name if distribution is None else f"{name} is in the distribution {distribution}, {cure}")


class MissingDistributionError(_Missing, AttributeError):
    """A public name such as `tangrad.grad` was used, and the distribution that ships it is not installed.

    `import tangrad.numpy` raises MissingDistributionImportError with the same words: Python wants ImportError there,
    and no class can be both.
    """


class MissingDistributionImportError(_Missing, ModuleNotFoundError):
    """`import tangrad.numpy`, or another module of ours whose distribution is not installed."""

    def __init__(self, name: str, distribution: str | None = None, is_usual: bool = False) -> None:
        super().__init__(name, distribution, is_usual)
        if distribution is not None:
            self.name = name


for _class in [value for value in globals().values() if getattr(value, "__module__", None) == __name__]:
    if isinstance(_class, type):
        _class.__module__ = "tangrad.errors"  # as users catch them, and read them in tracebacks

# What JAX raises when a program fails while it runs is one of several classes here, with this one in common.
JaxRuntimeError = RuntimeError
