"""How jaxprs are printed: `{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }`.

Works on anything with the attributes of a jaxpr, so that jaxpr.py can import it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from tangrad._core.kernel.array import Literal

LINE_WIDTH = 100
INDENT = "  "


class Names:
    """Hands out variable names: a, b, …, z, aa, ab, … in the order of first appearance; `_` to unused results.

    One object serves a whole text: a name means one variable in it, in nested jaxprs too.
    """

    __slots__ = ("_names", "_numbers")

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._numbers: Iterator[int] = itertools.count()

    def leave_unread(self, jaxpr: Any) -> None:
        """Have the results of equations that nothing in `jaxpr` reads printed as `_`."""
        read = {id(atom) for eqn in jaxpr.eqns for atom in eqn.invars}
        read.update([id(atom) for atom in jaxpr.outvars])
        for eqn in jaxpr.eqns:
            for var in eqn.outvars:
                if id(var) not in read:
                    self._names[id(var)] = "_"

    def of(self, var: object) -> str:
        name = self._names.get(id(var))
        if name is None:
            name = self._names[id(var)] = _letters(next(self._numbers))
        return name

    def typed(self, var: Any) -> str:
        return f"{self.of(var)}:{var.aval.str_short()}"

    def atom(self, atom: object) -> str:
        return repr(atom) if type(atom) is Literal else self.of(atom)


def _letters(number: int) -> str:
    text = ""
    while True:
        text = chr(ord("a") + number % 26) + text
        number = number // 26 - 1
        if number < 0:
            return text


def jaxpr_text(jaxpr: object, *, source_info: bool = False, name_stack: bool = False, use_color: object = None) -> str:
    """The text of a jaxpr. `source_info` appends where each equation was written, `name_stack` its named scopes."""
    return _Printer(source_info, name_stack).jaxpr(jaxpr, Names(), "")


def equation_text(eqn: object) -> str:
    """The text of one equation, with variables named by their order in it."""
    return _Printer(False, False).equation(eqn, Names(), "")


def jaxpr_html(jaxpr: object) -> str:
    """The text of a jaxpr as an HTML fragment, for notebooks."""
    import html  # only for notebooks

    return f'<pre style="line-height:1.3">{html.escape(jaxpr_text(jaxpr))}</pre>'


class _Printer:
    __slots__ = ("name_stack", "source_info")

    def __init__(self, source_info: bool, name_stack: bool) -> None:
        self.source_info = source_info
        self.name_stack = name_stack

    def jaxpr(self, jaxpr: Any, names: Names, indent: str) -> str:
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        names.leave_unread(jaxpr)
        constants = "".join([f" {names.typed(var)}" for var in jaxpr.constvars])
        inputs = "".join([f" {names.typed(var)}" for var in jaxpr.invars])
        head = f"{{ lambda{constants} ;{inputs}. let"
        equations = [self.equation(eqn, names, indent + INDENT * 2) for eqn in jaxpr.eqns]
        outputs = ", ".join([names.atom(atom) for atom in jaxpr.outvars]) + ("," if len(jaxpr.outvars) == 1 else "")
        one_line = f"{head}{''.join(' ' + text for text in equations)} in ({outputs}) }}"
        if len(equations) <= 1 and len(one_line) + len(indent) <= LINE_WIDTH and "\n" not in one_line:
            return one_line
        body = "".join([f"\n{indent}{INDENT * 2}{text}" for text in equations])
        return f"{head}{body}\n{indent}{INDENT}in ({outputs}) }}"

    def equation(self, eqn: Any, names: Names, indent: str) -> str:
        # Operands first: they are named by where they were defined, results after them.
        operands = "".join([f" {names.atom(atom)}" for atom in eqn.invars])
        results = " ".join([names.typed(var) for var in eqn.outvars])
        head = f"{results} = " if results else ""
        text = f"{head}{eqn.primitive.name}{self.params(eqn.params, names, indent)}{operands}"
        source = eqn.source_info
        if self.name_stack and source is not None and source.name_stack:
            text += f" # {source.name_stack}"
        if self.source_info and source is not None:
            text += f" # {source.summarize()}"
        return text

    def params(self, params: dict[str, Any], names: Names, indent: str) -> str:
        if not params:
            return ""
        items = [f"{name}={self.value(params[name], names, indent + INDENT)}" for name in sorted(params)]
        one_line = f"[{' '.join(items)}]"
        if len(one_line) + len(indent) <= LINE_WIDTH and "\n" not in one_line:
            return one_line
        return "[" + "".join([f"\n{indent}{INDENT}{item}" for item in items]) + f"\n{indent}]"

    def value(self, value: Any, names: Names, indent: str) -> str:
        if hasattr(value, "eqns"):
            return self.jaxpr(value, names, indent)
        if isinstance(value, tuple) and any(hasattr(item, "eqns") for item in value):
            inside = "".join([f"\n{indent}{INDENT}{self.value(item, names, indent + INDENT)}" for item in value])
            return f"({inside}\n{indent})"
        if hasattr(value, "kind") and hasattr(value, "itemsize"):
            return str(getattr(value, "name", value))
        return str(getattr(value, "__name__", value) if callable(value) else value)
