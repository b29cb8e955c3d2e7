"""Programs as Python text, and the text as a function.

The text is made here of names made here: values reach it through the function's namespace. It is registered with
`linecache`, so that tracebacks show the line at which a kernel failed.
"""

from __future__ import annotations

import keyword
import linecache
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

from tangrad._backend_numpy.blocks import BlockLoop
from tangrad._backend_numpy.functions import VIEW, on_scalars
from tangrad._backend_numpy.program import Program, Step, Stored
from tangrad._backend_numpy.simplify import Plan
from tangrad._backend_numpy.size_text import lines_of_sizes
from tangrad.core.caches import free_after_fork, register_cache

LARGE = 1 << 14  # bytes: arrays from here on are released as soon as they are not needed
CODE_CACHE_LIMIT = 1024
_BUILTIN_NAMES = frozenset(("range", "len", "slice", "max", "min"))


class Names:
    """The names of a function's values, and its namespace. Values are a0, v1, t2, …; what is bound has other names."""

    def __init__(self) -> None:
        # `view` of the dtypes of ml_dtypes imports a module of NumPy's.
        builtins = {"range": range, "len": len, "max": max, "min": min, "__import__": __import__}
        self.namespace: dict[str, object] = {"__builtins__": builtins}
        self._bound: dict[int, str] = {}
        self._taken: set[str] = set(_BUILTIN_NAMES)
        self._counts: Counter[str] = Counter()

    def take(self, name: str) -> None:
        """Keep a name from objects."""
        self._taken.add(name)

    def bind(self, thing: object, hint: str) -> str:
        """A name for an object."""
        found = self._bound.get(id(thing))
        if found is None:
            hint = _ascii_word(hint)
            if not re.match(r"[A-Za-z]\w*[A-Za-z_]|[A-Za-z]{2}", hint) or keyword.iskeyword(hint):
                hint = f"f_{hint}_"
            found = hint
            while found in self._taken:
                self._counts[hint] += 1
                found = f"{hint}_{self._counts[hint]}"
            self._taken.add(found)
            self._bound[id(thing)] = found
            self.namespace[found] = thing
        return found


class Source:
    """The text of one program, and the namespace that it needs.

    `typed`: whether comments say the types. Without them programs that differ in sizes alone mostly share one text.
    """

    def __init__(self, program: Program, name: str, single: bool, typed: bool = True) -> None:
        self.program = program
        self.typed = typed
        self.names = Names()
        self.plan = Plan(program)
        self.title = _identifier(name)
        self._lines: list[tuple[str, str]] = []  # statement, comment
        self._name_of: dict[Stored, str] = {}
        self._owned: list[str] = []
        self._count = 0
        parameters = [self._parameter(position, stored) for position, stored in enumerate(program.arguments)]
        for size, value in () if program.plan is None else lines_of_sizes(program.plan):
            self.names.take(size)
            self.add(f"{size} = {value}")
        for step in program.steps:
            self._emit(step)
        results = [self._result(stored) for stored in program.outputs]
        self._let_go(results)
        text = "\n".join([f"    {line}  # {comment}" if comment else f"    {line}" for line, comment in self._lines])
        returned = results[0] if single else "(" + "".join([f"{result}, " for result in results]).rstrip() + ")"
        header = f"def {self.title}({', '.join([*parameters, *self._owned])}):"
        self.text = f"{header}\n{text}\n    return {returned}\n" if text else f"{header}\n    return {returned}\n"

    @property
    def owned_positions(self) -> list[int]:
        """The donated arguments for which the function takes one more: the array if it may overwrite it, else None."""
        return [int(name[1:]) for name in self._owned]

    # --- names ---

    def _parameter(self, position: int, stored: Stored) -> str:
        name = self._name_of[stored] = f"a{position}"
        if stored in self.program.donated and stored in self.plan.into.values():
            self._owned.append(f"d{position}")
        return name

    def fresh_name(self, letter: str = "v") -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def name(self, stored: Stored) -> str:
        """The name of an array that exists."""
        found = self._name_of.get(stored)
        if found is None:
            if stored.constant is None:
                raise AssertionError(f"{stored!r} is used before it is made")
            found = self._name_of[stored] = self.names.bind(stored.constant, f"k_{stored.dtype.name}_")
        return found

    def set_name(self, stored: Stored, name: str) -> None:
        self._name_of[stored] = name

    def add(self, line: str, comment: str = "") -> None:
        """Append a statement; one of several lines, such as a loop, must be whole."""
        self._lines.append((line, comment))

    # --- statements ---

    def _emit(self, step: Step) -> None:
        function, bind = step.function, self.names.bind
        comment = _comment(step) if self.typed else ""
        if isinstance(function, BlockLoop):
            function.emit(self, comment)
            return
        operands = [self.name(stored) for stored in step.inputs]
        if step.several:
            results = [self.fresh_name() for _ in step.outputs]
            for stored, name in zip(step.outputs, results):
                self.set_name(stored, name)
            call = function.text(operands, bind, False)
            self.add(f"{''.join([f'{name}, ' for name in results])}= {call}" if results else call, comment)
            return
        (result,) = step.outputs
        target = self.plan.into.get(result)
        if target is None:
            self.set_name(result, self.fresh_name())
            self.add(f"{self.name(result)} = {function.text(operands, bind, result.shape == ())}", comment)
        elif target in self.program.donated:
            out = "d" + self.name(target)[1:]
            self.set_name(result, self.fresh_name())
            (call,) = function.text_into(out, operands, bind)
            self.add(f"{self.name(result)} = {call}", comment)
        else:
            out = self.name(target)
            self.set_name(result, out)
            for line in function.text_into(out, operands, bind):
                self.add(line, comment)
                comment = ""

    def _result(self, stored: Stored) -> str:
        """The text of a result. A view of a small part of something large is copied, so that the rest can go."""
        name = self.name(stored)
        memories = self.plan.memories.get(stored, ())
        total = sum([memory.base.nbytes for memory in memories])
        return f"{name}.copy()" if stored.constant is None and _shows_a_small_part(stored, total) else name

    def _let_go(self, results: Sequence[str]) -> None:
        """Append `del` behind the last use of names that stand for large arrays."""
        names = {
            name
            for stored, name in self._name_of.items()
            if stored.constant is None
            and sum([memory.base.nbytes for memory in self.plan.memories.get(stored, ())]) >= LARGE
        }
        names -= set(_words(" ".join(results)))
        lines = []
        for line, comment in reversed(self._lines):
            last = [word for word in dict.fromkeys(_words(line)) if word in names]
            if last:
                lines.append((f"del {', '.join(last)}", ""))
                names.difference_update(last)
            lines.append((line, comment))
        self._lines = lines[::-1]


def _shows_a_small_part(stored: Stored, total: int) -> bool:
    return total >= LARGE and stored.nbytes * 2 <= total


def _words(line: str) -> list[str]:
    return re.findall(r"\b[avdtk]\d+\b", line)


def _comment(step: Step) -> str:
    types = ", ".join([f"{stored.dtype.name}[{','.join(map(str, stored.shape))}]" for stored in step.outputs])
    text = f"{step.primitive} {types}" if step.primitive is not None else types
    return re.sub(r"[^ -~]", "?", text)  # a line break would end the comment


def _ascii_word(name: str) -> str:
    """A name from elsewhere without what identifiers must not have, or what the compiler would normalise."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def _identifier(name: str) -> str:
    cleaned = _ascii_word(name)
    return cleaned if cleaned.isidentifier() and not keyword.iskeyword(cleaned) else f"f_{cleaned}"


# --- text to function ---

_codes: dict[str, CodeType] = {}
_lock = free_after_fork(threading.RLock())
_numbers = iter(range(1 << 62))


def function_from(source: Source) -> Callable[..., Any]:
    """The function that the text defines. Equal texts share one code object: only their namespaces differ."""
    return text_function(source.text, source.names.namespace, source.title)


def text_function(text: str, namespace: dict[str, object], name: str) -> FunctionType:
    """The function that a text made here defines, with `namespace` as its globals."""
    code = _codes.get(text)
    if code is None:
        code = _compile(text)
    return FunctionType(code, namespace, name)


def _compile(text: str) -> CodeType:
    filename = f"<tangrad numpy program {next(_numbers)}>"
    module = compile(text, filename, "exec")
    code = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    with _lock:
        if len(_codes) >= CODE_CACHE_LIMIT:
            clear_code_cache()
        # mtime None: linecache keeps the lines though there is no such file
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        return _codes.setdefault(text, code)


@register_cache
def clear_code_cache() -> None:
    """Forget generated code. Functions that are in use keep theirs; their tracebacks lose the text."""
    for code in tuple(_codes.values()):
        linecache.cache.pop(code.co_filename, None)
    _codes.clear()


def program_function(program: Program, name: str, single: bool) -> tuple[Callable[..., Any], Source | None]:
    """A program as a function of arrays that returns its result (`single`) or the tuple of them.

    A program of one call needs no text: then the second result is None.
    """
    program.drop_dead_steps()
    program.rewrite()
    if single:
        direct = _direct(program)
        if direct is not None:
            return direct, None
    source = Source(program, name, single, typed=False)
    return function_from(source), source


def _direct(program: Program) -> Callable[..., Any] | None:
    (output,) = program.outputs
    if output.constant is not None:
        constant = output.constant
        return lambda *_: constant
    if not program.steps and len(program.arguments) == 1:
        return lambda x: x
    if len(program.steps) != 1:
        return None
    (step,) = program.steps
    if step.several or tuple(step.inputs) != tuple(program.arguments) or isinstance(step.function, BlockLoop):
        return None
    if step.function.nature is VIEW and _shows_a_small_part(output, sum([stored.nbytes for stored in step.inputs])):
        return None
    return on_scalars(step.function, step.inputs) or step.function.direct(output.shape == ())
