"""Signatures as the reference shows them: the parameters that are the user's, with annotations as they were written."""

from __future__ import annotations

import enum
import inspect
from types import ModuleType
from typing import Any

MAKERS = ("__init__", "__new__")
STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
WIDTH = 92  # of a signature on one line


def signature(name: str, value: Any) -> tuple[list[str], str]:
    """Return the names of the parameters, and the signature as Python shows it, in several lines where it is long."""
    if not callable(value) or isinstance(value, enum.EnumMeta) or is_an_error(value):
        return [], ""
    if isinstance(value, type) and not is_ours(value):
        return [], ""
    if isinstance(value, type) and all(getattr(value, made) is getattr(object, made) for made in MAKERS):
        return [], ""  # takes nothing: users never call it
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return [], ""
    parts = _parameters(found)
    result = _annotation(found.return_annotation)
    arrow = f" -> {result}" if result else ""
    line = f"{name}({', '.join(parts)}){arrow}"
    if len(line) > WIDTH:
        line = "\n".join([f"{name}(", *[f"    {part}," for part in parts], f"){arrow}"])
    return list(found.parameters), line


def is_an_error(value: Any) -> bool:
    """Whether it is a class of errors."""
    return isinstance(value, type) and issubclass(value, BaseException)


def _parameters(found: inspect.Signature) -> list[str]:
    parts: list[str] = []
    kinds = inspect.Parameter
    before: Any = None
    for one in found.parameters.values():
        if one.name.startswith("_"):
            continue  # between parts of the house
        if before is kinds.POSITIONAL_ONLY and one.kind is not kinds.POSITIONAL_ONLY:
            parts.append("/")
        if one.kind is kinds.KEYWORD_ONLY and before not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
            parts.append("*")
        parts.append(_parameter(one))
        before = one.kind
    return [*parts, "/"] if before is kinds.POSITIONAL_ONLY else parts


def _parameter(one: inspect.Parameter) -> str:
    stars = STARS.get(one.kind, "")
    annotation = _annotation(one.annotation)
    text = f"{stars}{one.name}: {annotation}" if annotation else stars + one.name
    if one.default is inspect.Parameter.empty:
        return text
    return f"{text} = {_default(one.default)}" if annotation else f"{text}={_default(one.default)}"


def _annotation(annotation: Any) -> str:
    """The annotation as it was written; nothing for `Any` and `None`, which say nothing."""
    if annotation is inspect.Parameter.empty or annotation is Any:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return "" if text in ("Any", "typing.Any", "None") else text.replace("typing.", "")


def _default(value: Any) -> str:
    if isinstance(value, (type, ModuleType)) or inspect.isroutine(value):
        return str(getattr(value, "__name__", value))
    return without_address(value)


def without_address(value: Any) -> str:
    """The `repr`, unless it holds an address, which would change with every build."""
    text = repr(value)
    return "..." if " at 0x" in text else text


def is_ours(value: Any) -> bool:
    """Whether a module of ours defines it."""
    return str(getattr(value, "__module__", "")).startswith("tangrad")
