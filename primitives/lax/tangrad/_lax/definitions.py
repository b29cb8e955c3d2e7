"""What is stated of an operation once: public functions, their documentation, samples and tests are made of it.

An operation is a primitive, or a formula in other operations, or a primitive with such a formula for its decomposition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from tangrad._lax.checks import COMPLEX, unary
from tangrad.core import Primitive, PrimitiveSet

_NO_MEANINGS: Mapping[str, str] = MappingProxyType({})


class Definition(NamedTuple):
    """An operation on arrays of one shape and dtype, element by element.

    Args:
        name: its name.
        module: the module that defines it.
        summary: the first line of the docstrings.
        arguments: the names of its operands.
        accepted: the kinds of dtype that it takes.
        at: the arguments of the example.
        gives: what they give: as arrays are printed, or the digits that are shown.
        returns: what there is to say of the result beyond its shape.
        meanings: of arguments of which there is more to say than what kind of numbers they are.
        source: where the method is from.
        smooth: the interval in which it has derivatives; None: everywhere.
        numpy: its name in `tangrad.numpy`; None: it is not there.
        formula: `(library, x) -> result` by the names that NumPy and mpmath have in common (`library.exp`), for tests.
        primitive: None where it is a formula alone.
    """

    name: str
    module: str
    summary: str
    arguments: tuple[str, ...]
    accepted: tuple[str, ...]
    at: tuple[object, ...]
    gives: str
    returns: str = ""
    meanings: Mapping[str, str] = _NO_MEANINGS
    source: str = ""
    smooth: tuple[float, float] | None = None
    numpy: str | None = None
    formula: Callable[..., object] | None = None
    primitive: Primitive | None = None

    @property
    def complex_too(self) -> bool:
        """Whether it takes complex numbers."""
        return COMPLEX in self.accepted

    def documentation(self, package: str, name: str = "", *, promotes: bool = True, further: str = "") -> str:
        """The docstring of a public function in `package`.

        Args:
            package: where users find it.
            name: under which name; by default its own.
            promotes: whether the function converts integers and takes operands of several shapes and dtypes.
            further: lines on arguments that are no operands.
        """
        source = f"Source: {self.source}.\n\n" if self.source else ""
        return (
            f"{self.summary}\n\nArgs:\n{self._meanings(promotes)}{further}\n"
            f"Returns:\n    {self._returned(promotes)}\n\nRaises:\n{self._raised(promotes)}\n"
            f"{source}{self.example(package, name or self.name)}\n"
        )

    def _meanings(self, promotes: bool) -> str:
        kind = "real or complex" if self.complex_too else "real"
        converted = "; integers become floats" if promotes else ", floating"
        alone = [name for name in self.arguments if name not in self.meanings]
        several = f"arrays or numbers, {kind}, broadcast against each other{converted}."
        one = f"an array or number, {kind}{converted}."
        lines = [f"    {', '.join(alone)}: {several if len(alone) > 1 else one}\n"] if alone else []
        return "".join(lines + [f"    {name}: {meaning}.\n" for name, meaning in self.meanings.items()])

    def _returned(self, promotes: bool) -> str:
        one = (
            f"of the shape of `{self.arguments[0]}`" if promotes else f"of the shape and dtype of `{self.arguments[0]}`"
        )
        shape = "of their common shape" if len(self.arguments) > 1 else one
        return f"An array {shape}{'; ' + self.returns if self.returns else ''}."

    def _raised(self, promotes: bool) -> str:
        if not promotes:
            return "    TypeError: for other dtypes.\n"
        numbers = "for what is no array or number" if self.complex_too else "for complex numbers"
        shapes = "    ValueError: for shapes that do not fit.\n" if len(self.arguments) > 1 else ""
        return f"    TypeError: {numbers}.\n{shapes}"

    def example(self, package: str, name: str) -> str:
        """The example, as a docstring has it: printed as an array, or to as many digits as are stated."""
        last = package.rpartition(".")[2]
        short = {"numpy": "np"}.get(last, last)
        ours = package.startswith("tangrad.")
        found = f"import {package} as {short}" if ours else f"from {package} import {name}"
        call = f"{f'{short}.' if ours else ''}{name}({', '.join(map(repr, self.at))})"
        if self.gives.startswith("Array"):
            return f">>> {found}\n>>> {call}\n{self.gives}"
        digits = len(self.gives.partition("e")[0].partition(".")[2])
        form = f".{digits}{'e' if 'e' in self.gives else 'f'}"
        return f'>>> {found}\n>>> f"{{{call}:{form}}}"\n{self.gives!r}'


definitions: dict[str, dict[str, Definition]] = {}  # family -> primitive -> what was declared
_SAME_NAME = "\0"


def declare(
    family: PrimitiveSet,
    name: str,
    accepted: tuple[str, ...],
    summary: str,
    example: tuple[float, str],
    *,
    smooth: tuple[float, float] | None = None,
    numpy: str | None = _SAME_NAME,
    formula: Callable[..., object] | None = None,
    **options: Callable[..., object],
) -> Primitive:
    """A primitive of one inexact operand from which public functions are made.

    `example`: an argument, and the result as float32 is printed. `options`: those of `Primitive`. The others: see
    `Definition`.
    """
    made = unary(family, name, accepted, summary, **options)
    definitions.setdefault(family.name, {})[name] = Definition(
        name,
        __name__,
        summary,
        ("x",),
        accepted,
        example[:1],
        f"Array({example[1]}, dtype=float32, weak_type=True)",
        smooth=smooth,
        numpy=name if numpy == _SAME_NAME else numpy,
        formula=formula,
        primitive=made,
    )
    return made
