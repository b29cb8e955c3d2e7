"""A distribution, declared once: of the record are made its functions, their signatures and documentation."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import tangrad.numpy as tnp
from tangrad._scipy.definitions import Weakness, reals, written_out
from tangrad._scipy.special_functions.gamma_functions import betaln
from tangrad.core import Array
from tangrad.extend.nn import log1mexp
from tangrad.extend.numpy import as_one

if TYPE_CHECKING:
    from tangrad.typing import Value


# --- What the formulas of several distributions need ------------------------------------------------------------------


HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def log1p_square(x: Array) -> Array:
    """log(1 + x²), also where the square would overflow."""
    large = abs(x) > 1
    far, near = tnp.where(large, abs(x), 1.0), tnp.where(large, 0.0, x)
    inverse = 1 / far
    return tnp.where(large, 2 * tnp.log(far) + tnp.log1p(inverse * inverse), tnp.log1p(near * near))


def log_complement(exponent: Array) -> Array:
    """log(1 - exp(-exponent)), -inf where the exponent is not positive."""
    positive = exponent > 0
    return tnp.where(positive, log1mexp(tnp.where(positive, exponent, 1.0)), -math.inf)


def is_whole(k: Array) -> Array:
    """Whether each number is an integer."""
    return k == tnp.floor(k)


def log_choices(n: Array, k: Array) -> Array:
    """The logarithm of the binomial coefficient; 0 exactly where nothing is chosen of nothing."""
    return tnp.where((n == 0) & (k == 0), 0.0, -betaln(n - k + 1, k + 1) - tnp.log1p(n))


def of_positive(function: Callable[[Array, Array], Array], a: Array, z: Array, at_infinity: float) -> Array:
    """A function of the positive part, held back from infinity, where infinite `a` have no limit."""
    endless = z == math.inf
    return tnp.where(endless, at_infinity, function(a, tnp.where(endless, 1.0, tnp.maximum(z, 0))))


# ----------------------------------------------------------------------------------------------------------------------
# A distribution, declared once: of the record are made its functions, their signatures, documentation and examples.
# A record has formulas of the standardised variable z = (x - loc) / scale and of the parameters of shape. What location
# and scale do to them, what is outside of the support, and that parameters which are none give NaN, is the same for all
# distributions and is in `Distribution._value`. What follows from another function is written so (`exp_of("logpdf")`).
#
# Tests take names, parameters and examples from the records; `make dev-refresh` writes of them the entry points and the
# stubs of the public modules, such as `tangrad.scipy.stats.norm`.


Formula: TypeAlias = Callable[..., Array]
Condition: TypeAlias = Callable[..., Any]


# --- what a record consists of ---------------------------------------------------------------------------------------


class Domain(NamedTuple):
    """What a parameter can be: in words, as a condition (None: any number), and some numbers for tests."""

    words: str
    contains: Condition | None
    samples: tuple[float, ...]


ANY = Domain("", None, (-0.5, 2.0))
POSITIVE = Domain(", positive", lambda value: value > 0, (0.4, 1.0, 6.0))
NOT_NEGATIVE = Domain(", not negative", lambda value: value >= 0, (0.0, 0.7, 33.0))
COUNT = Domain(", a whole number", lambda value: is_whole(value) & (value >= 0), (5.0, 40.0))
PROBABILITY = Domain(", from 0 to 1", lambda value: (value >= 0) & (value <= 1), (0.0, 0.3, 1.0))
CHANCE = Domain(", above 0 and up to 1", lambda value: (value > 0) & (value <= 1), (0.2, 0.9))
FRACTION = Domain(", between 0 and 1", lambda value: (value > 0) & (value < 1), (0.1, 0.9))
REQUIRED = object()


class Parameter(NamedTuple):
    """A parameter of a distribution.

    Args:
        meaning: what it is, for the documentation; what its domain is follows.
        default: of the functions' argument.
        only: the functions that have it; (): all.
        samples: numbers for tests; None: those of the domain.
        type: of the functions' argument.
    """

    name: str
    meaning: str
    domain: Domain = ANY
    default: object = REQUIRED
    only: tuple[str, ...] = ()
    samples: tuple[float, ...] | None = None
    type: str = "ArrayLike"

    def declared(self) -> str:
        """The parameter as a signature has it."""
        default = "" if self.default is REQUIRED else f" = {self.default!r}"
        return f"{self.name}: {self.type}{default}"


def location(meaning: str, only: tuple[str, ...] = ()) -> Parameter:
    """The parameter `loc`, by which the variable is shifted."""
    return Parameter("loc", meaning, default=0, only=only)


def scale(meaning: str) -> Parameter:
    """The parameter `scale`, in units of which the variable is measured."""
    return Parameter("scale", meaning, POSITIVE, default=1)


class Support(NamedTuple):
    """Where a density is not 0: in words, as a condition on z and the shapes, and a number that is always in it.

    Outside of it formulas get that number: derivatives of branches that are not taken are no NaN.
    """

    words: str
    contains: Condition
    inner: float


class Derived(NamedTuple):
    """A function that follows from another of the distribution."""

    source: str
    way: Formula
    words: str


class Unstandardised(NamedTuple):
    """A formula of all arguments, by their names, which does itself what location and scale do."""

    formula: Formula


def exp_of(source: str) -> Derived:
    """What the logarithm is known of."""
    return Derived(source, tnp.exp, f"exp({source})")


def log_of(source: str) -> Derived:
    """The logarithm of what is known itself."""
    return Derived(source, tnp.log, f"log({source})")


def complement_of(source: str) -> Derived:
    """One less a probability of which the logarithm is known."""
    return Derived(source, lambda value: -tnp.expm1(value), f"1 - exp({source})")


def log_complement_of(source: str) -> Derived:
    """The logarithm of one less a probability, of the logarithm of that."""
    return Derived(source, lambda value: log_complement(-value), f"log(1 - exp({source}))")


# --- which functions there are ---------------------------------------------------------------------------------------

Effect: TypeAlias = Literal["log density", "density", "probability", "quantile", "entropy"]


class Part(NamedTuple):
    """A function that distributions have: what it is at x (or k), and what location and scale do to its formula."""

    summary: str
    effect: Effect


PARTS = {
    "logpdf": Part("The logarithm of the density at {x}", "log density"),
    "pdf": Part("The density at {x}", "density"),
    "logpmf": Part("The logarithm of the probability of {x}", "log density"),
    "pmf": Part("The probability of {x}", "density"),
    "cdf": Part("The probability of values up to {x}", "probability"),
    "logcdf": Part("The logarithm of the probability of values up to {x}", "probability"),
    "sf": Part("The probability of values above {x}", "probability"),
    "logsf": Part("The logarithm of the probability of values above {x}", "probability"),
    "ppf": Part("The quantile function, the inverse of `cdf`", "quantile"),
    "isf": Part("The inverse of `sf`", "quantile"),
    "entropy": Part("The entropy, in nats", "entropy"),
}

_RETURNS = (
    "An array of the shape to which the arguments broadcast; integers count as floats.\n"
    "    NaN where an argument is NaN, or a parameter none of the distribution's."
)


class Distribution:
    """The record of a distribution; the functions are its attributes, made when they are first asked for.

    Args:
        name: that of the module in `tangrad.scipy.stats`.
        title: what it is called, and what the density is, for the documentation.
        parameters: those of shape first, then `location` and `scale`, where it has them.
        at: the examples' arguments: a place, and the parameters of shape.
        results: for each function, in the order of `PARTS`, what the examples show: the number, to four digits.
        formulas: `name(z, *shapes)` or, for the inverses, `name(q, *shapes)`; or what they follow from. The density is
            by default `exp_of` its logarithm.
        support: where the density is not 0; None: everywhere.
        together: a condition on the parameters of shape that is not of one alone.
        source: where more is to be read.
        discrete: whether values are whole numbers; the first argument is then `k`.
        place: what the first argument is, for the documentation.
        returns: what the functions return, for the documentation.
        probabilities: what the inverses call theirs.
        never_weak: the functions of which Python numbers give arrays that are not weakly typed, as in JAX.
        weak_as_promoted: those of which an array of booleans beside Python numbers gives weakly typed ones.
    """

    _raises = "    TypeError: for what is no array or number, and for complex numbers.\n"

    def __init__(
        self,
        name: str,
        title: str,
        *parameters: Parameter,
        at: Sequence[float | str],
        results: dict[str, float],
        support: Support | None = None,
        together: Condition | None = None,
        source: str,
        discrete: bool = False,
        place: str = "where",
        returns: str = _RETURNS,
        probabilities: str = "q",
        never_weak: Sequence[str] = (),
        weak_as_promoted: Sequence[str] = (),
        **formulas: Formula | Derived | Unstandardised,
    ) -> None:
        self.name, self.title, self.source = name, title, source
        self.place, self.returns = place, returns
        self.parameters, self.support, self.together = parameters, support, together
        self.shapes = [one for one in parameters if one.name not in ("loc", "scale")]
        self.at, self.results = tuple(at), results
        self.first, self.probabilities = "k" if discrete else "x", probabilities
        self.never_weak, self.weak_as_promoted = never_weak, weak_as_promoted
        follows = {new: exp_of(log) for log, new in (("logpdf", "pdf"), ("logpmf", "pmf")) if log in formulas}
        self.formulas = follows | formulas
        if unknown := results.keys() - self.formulas.keys() | self.formulas.keys() - results.keys():
            raise ValueError(f"{name}: functions with a formula or a result, not both: {', '.join(sorted(unknown))}")
        self.module: str = sys._getframe(1).f_globals["__name__"]

    def __getattr__(self, part: str) -> Callable[..., Array]:
        if part.startswith("_") or part not in self.results:
            raise AttributeError(f"the distribution {self.__dict__.get('name', '')} has no function {part!r}")
        static = [one.name for one in self.arguments(part) if one.type == "None"]
        function = as_one(*static)(self._general(part))
        self.__dict__[part] = function
        return function

    def arguments(self, part: str) -> list[Parameter]:
        """The parameters of one of its functions, the first argument among them."""
        effect = PARTS[part].effect
        found = [one for one in self.parameters if part in (one.only or (part,))]
        if effect == "entropy":
            return found
        quantile = effect == "quantile"
        first = (self.probabilities, "probabilities") if quantile else (self.first, self.place)
        return [Parameter(*first), *found]

    def signature(self, part: str) -> str:
        """The typed signature of one of its functions."""
        return f"({', '.join([one.declared() for one in self.arguments(part)])}) -> Array"

    def made_functions(self) -> dict[str, tuple[str, str]]:
        """The functions by name, each with its typed signature and its summary: what entry points and stubs need."""
        return {part: (self.signature(part), self.summary(part)) for part in self.results}

    def _general(self, part: str) -> FunctionType:
        """The function as users would write it. To tools that look for its source it is where its formula is."""
        names = [one.name for one in self.arguments(part)]
        called = lambda given: self._called(part, given)
        function = written_out(part, names, self.signature(part), called, self._followed(part))
        function.__module__ = self.module
        function.__qualname__, function.__doc__ = f"{self.name}.{part}", self.documentation(part)
        return function

    def _followed(self, part: str) -> Formula:
        """The formula of a function, or of the one that it follows from."""
        formula = self.formulas[part]
        if isinstance(formula, Derived):
            return self._followed(formula.source)
        return formula.formula if isinstance(formula, Unstandardised) else formula

    # --- values --------------------------------------------------------------------------------------------------

    def _called(self, part: str, given: dict[str, object]) -> Array:
        weak: Weakness = "never" if part in self.never_weak else "usual"
        weak = "as promoted" if part in self.weak_as_promoted else weak
        arrays = reals(f"{self.name}.{part}", *given.values(), weak=weak)
        return self._value(part, dict(zip(given, arrays)))

    def _value(self, part: str, given: dict[str, Array]) -> Array:
        """A function, of arrays of one shape and dtype; NaN where parameters are none, or a number is NaN."""
        effect = PARTS[part].effect
        place = self._place(effect, given)
        conditions = self._conditions(given)
        if effect == "quantile":  # comparisons with NaN give False, so that the others need no look
            conditions += [given["loc"] == given["loc"]] if "loc" in given else []
        elif effect != "entropy":
            conditions.append(place == place)
        value = self._formula(part, given, place)
        return tnp.where(reduce(and_, conditions), value, math.nan) if conditions else value

    def _formula(self, part: str, given: dict[str, Array], place: Array) -> Array:
        formula = self.formulas[part]
        if isinstance(formula, Derived):
            return formula.way(self._formula(formula.source, given, place))
        if isinstance(formula, Unstandardised):
            return formula.formula(**given)
        return _EFFECTS[PARTS[part].effect](self, formula, given, place)

    def _place(self, effect: Effect, given: dict[str, Array]) -> Array:
        """The first argument: standardised, unless it is a probability."""
        x = next(iter(given.values()))
        if effect in ("quantile", "entropy"):
            return x
        if "loc" in given:
            x = x - given["loc"]
        return x / given["scale"] if "scale" in given else x

    def _shapes(self, given: dict[str, Array]) -> list[Array]:
        return [given[one.name] for one in self.shapes]

    def _conditions(self, given: dict[str, Array]) -> list[Value]:
        """What is true of parameters that are in their domains."""
        known = [one for one in self.parameters if one.name in given and one.domain.contains is not None]
        found = [one.domain.contains(given[one.name]) for one in known if one.domain.contains is not None]
        return found if self.together is None else [*found, self.together(*self._shapes(given))]

    def _log_density(self, formula: Formula, given: dict[str, Array], z: Array) -> Array:
        shapes, support = self._shapes(given), self.support
        inside = True if support is None else support.contains(z, *shapes)
        value = formula(z if support is None else tnp.where(inside, z, support.inner), *shapes)
        value = value - tnp.log(given["scale"]) if "scale" in given else value
        return value if support is None else tnp.where(inside, value, -math.inf)

    def _probability(self, formula: Formula, given: dict[str, Array], z: Array) -> Array:
        return formula(z, *self._shapes(given))

    def _quantile(self, formula: Formula, given: dict[str, Array], q: Array) -> Array:
        value = formula(q, *self._shapes(given))
        value = given["scale"] * value if "scale" in given else value
        value = given["loc"] + value if "loc" in given else value
        return tnp.where((q >= 0) & (q <= 1), value, math.nan)

    def _entropy(self, formula: Formula, given: dict[str, Array], _: Array) -> Array:
        value = formula(*self._shapes(given))
        return value + tnp.log(given["scale"]) if "scale" in given else value

    # --- documentation -------------------------------------------------------------------------------------------

    def summary(self, part: str) -> str:
        """The first line of the documentation of one of its functions."""
        return PARTS[part].summary.format(x=self.first) + "."

    def documentation(self, part: str) -> str:
        """The docstring of one of its functions."""
        formula, support = self.formulas[part], self.support
        follows = f" This is {formula.words}." if isinstance(formula, Derived) else ""
        where = f" The support is {support.words}." if support is not None else ""
        arguments = "".join([f"    {one.name}: {one.meaning}{one.domain.words}.\n" for one in self.arguments(part)])
        return (
            f"{self.summary(part)}\n\n{self.title}.{where}{follows}\n\nArgs:\n{arguments}\n"
            f"Returns:\n    {self.returns}\n\nRaises:\n{self._raises}"
            f"    ValueError: for shapes that do not fit.\n\n{self.example(part)}\n{self.source}.\n"
        )

    def example(self, part: str) -> str:
        """The example of one of its functions, as a docstring has it."""
        place = {"quantile": (0.25,), "entropy": ()}.get(PARTS[part].effect, self.at[:1])
        kept = {one.name for one in self.arguments(part)}
        shapes = [value for one, value in zip(self.shapes, self.at[1:]) if one.name in kept]
        call = f"{self.name}.{part}({', '.join(map(str, [*place, *shapes]))})"
        home = "tangrad.scipy.stats" if self.module.startswith("tangrad._") else self.module
        arrays = ">>> import tangrad.numpy as np\n" if "np." in call else ""
        return f"{arrays}>>> from {home} import {self.name}\n>>> f\"{{{call}:.4f}}\"\n'{self.results[part]:.4f}'\n"


_EFFECTS: dict[Effect, Callable[[Distribution, Formula, dict[str, Array], Array], Array]] = {
    "log density": Distribution._log_density,
    "probability": Distribution._probability,
    "quantile": Distribution._quantile,
    "entropy": Distribution._entropy,
}
