"""Whose fault it is: the line of a rule that raised, or a lowering that gives something else than the others do."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

from tangrad import use_backend
from tangrad._conformance.comparison import Mismatch, as_numpy, check_edges, check_shapes
from tangrad._conformance.point import doubled
from tangrad._conformance.samples import Sample, truth_of
from tangrad.core import Primitive, backend_names, get_backend, rule_table
from tangrad.core.tools import rule_kinds
from tangrad.errors import MissingRuleError

# What a failing check is about: rule kinds, "lower" for those of all backends. Of others: the kind of that name.
ABOUT = {
    "abstract": ("abstract_eval",),
    "refusals": ("abstract_eval",),
    "dtypes": ("abstract_eval",),
    "jvp": ("jvp",),
    "second": ("jvp",),
    "points": ("jvp",),
    "transpose": ("transpose", "jvp"),
    "batch": ("batch",),
    "usage": ("jvp", "transpose", "batch"),
    "dce": ("dce",),
    "axis_subst": ("axis_subst",),
    "split_axis": ("split_axis", "axis_subst", "batch"),
    "decomposition": ("decompose", "lower"),
    "effects": ("decompose", "jvp", "batch", "lower"),
    "edges": ("lower", "decompose"),
    "special": ("lower", "decompose"),
    "layouts": ("lower",),
    "sizes": ("lower", "decompose"),
    "jit": ("lower",),
    "backends": ("lower",),
}


def place_of(primitive: Primitive, check: str, error: BaseException, about: tuple[str, ...] = ()) -> str:
    """Where to look: the rules of the kinds that it is `about`, where these are known; or `file:line, in function` of
    the innermost frame that is in the primitive's own code, where the error has passed such a frame; otherwise where
    what the check is about is written. Empty where nothing is known.
    """
    written = {kind: list(_codes(rule)) for kind, rule in _rules(primitive)}
    files = {code.co_filename for codes in written.values() for code in codes}
    for frame in () if about else reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in files:
            return f"{_short(frame.filename)}:{frame.lineno}, in {frame.name}"
    kinds = [kind for kind in written if (kind in about if about else _concerns(check, kind))]
    found = [
        f"{kind}: {_short(codes[-1].co_filename)}:{codes[-1].co_firstlineno}"
        for kind in kinds
        if (codes := written[kind])
    ]
    return "; ".join(found)


def _concerns(check: str, kind: str) -> bool:
    return any([kind == one or kind.startswith(one + ".") for one in ABOUT.get(check, (check,))])


def _rules(primitive: Primitive) -> Iterator[tuple[str, Any]]:
    yield "abstract_eval", primitive.abstract_eval
    if primitive.decompose is not None:
        yield "decompose", primitive.decompose
    for kind in rule_kinds():
        cell = rule_table(kind).cell(primitive)
        if cell.status == "rule":
            yield kind, cell.rule


def _codes(rule: object, depth: int = 4) -> Iterator[CodeType]:
    """The code of a rule; of one that a helper has made, that of the functions which it was made of, too, and last."""
    function = getattr(rule, "emit", getattr(rule, "func", rule))  # rules for NumPy that specialise; partial
    code = getattr(function, "__code__", None)
    if code is not None:
        yield code
    for part in getattr(function, "__closure__", None) or () if depth else ():
        values = part.cell_contents if isinstance(_contents(part), tuple) else (_contents(part),)
        for value in values:
            if callable(value) and not isinstance(value, (type, Primitive)):
                yield from _codes(value, depth - 1)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _short(path: str) -> str:
    try:
        relative = os.path.relpath(path)
    except ValueError:  # on another drive
        return path
    return min(path, relative, key=len)


ABSTRACT, DECOMPOSITION, REFERENCE = "abstract_eval", "decompose", "reference"
# Checks that say themselves what is wrong, or that are of something else than what a primitive computes.
APART = ("refusals", "params", "pickle", "axis_subst", "split_axis", "replication", "effects", "samples")

Results = list[np.ndarray]
Given = dict[str, Results]


@contextmanager
def blaming(*kinds: str) -> Iterator[None]:
    """What does not match within is about rules of these kinds."""
    try:
        yield
    except Mismatch as error:
        error.about = kinds
        raise


@contextmanager
def measured_with(sample: Sample) -> Iterator[None]:
    """What goes wrong within was tried with another sample than the check's own: this one's lowerings are looked at."""
    try:
        yield
    except Exception as error:
        vars(error)["about"] = suspects(sample, "")
        raise


def lowering_of(primitive: Primitive, backend: str) -> str:
    """The kind of the rule by which a backend runs a primitive, or "decompose" where it has none of its own."""
    with use_backend(backend):
        found = get_backend()
    for kind in (f"{found.lowering_kind}.{found.platform}", found.lowering_kind):
        if kind in rule_kinds() and rule_table(kind).cell(primitive).status == "rule":
            return kind
    return DECOMPOSITION


def suspects(sample: Sample, check: str) -> tuple[str, ...]:
    """The rules that give something else for the sample's arguments than the others do; none if all are alike."""
    if check in APART or sample.axes or sample.raises is not None:
        return ()
    for one in (sample, doubled(sample)):
        found = _suspects(one) if one is not None else ()
        if found:
            return found
    return ()


def _suspects(sample: Sample) -> tuple[str, ...]:
    given, raising = _given(sample)
    if raising and given:
        return tuple(raising)
    return _of_other_types(given, _inferred(sample)) or _of_other_values(sample, given)


def _given(sample: Sample) -> tuple[Given, list[str]]:
    """What the lowerings and the decomposition give; and those that raise."""
    found: Given = {}
    raising: list[str] = []
    for name in backend_names():
        if sample.backends is None or name in sample.backends or "backends" not in sample.without:
            _note(found, raising, lowering_of(sample.primitive, name), partial(_on, sample, name))
    if sample.primitive.decompose is not None and DECOMPOSITION not in found and _is_comparable(sample):
        _note(found, raising, DECOMPOSITION, lambda: _decomposed(sample))
    return found, [kind for kind in raising if kind not in found]


def _is_comparable(sample: Sample) -> bool:
    return "decomposition" not in sample.without


def _note(found: Given, raising: list[str], kind: str, run: Callable[[], Results]) -> None:
    try:
        found[kind] = run()
    except MissingRuleError:  # a backend may lack what it likes
        return
    except Exception:
        raising.append(kind)


def _on(sample: Sample, name: str) -> Results:
    with use_backend(name):
        result = sample.primitive.bind(*sample.operands(*sample.args), **sample.params)
        return as_numpy(tuple(result) if sample.primitive.multiple_results else (result,))


def _decomposed(sample: Sample) -> Results:
    decompose: Any = sample.primitive.decompose
    result = decompose(*sample.operands(*sample.args), **sample.params)
    return as_numpy(tuple(result) if sample.primitive.multiple_results else (result,))


def _inferred(sample: Sample) -> Results | None:
    """Arrays of the types that the abstract evaluation promises, of no memory."""
    try:
        return [np.broadcast_to(np.zeros((), aval.dtype), aval.shape) for aval in sample.inferred()]
    except Exception:
        return None


def _of_other_types(given: Given, inferred: Results | None) -> tuple[str, ...]:
    """Of lowerings that do not hold to what is inferred; of the abstract evaluation, if they all agree against it."""
    if inferred is None:
        return ()
    wrong = {kind: found for kind, found in given.items() if not _passes(check_shapes, found, inferred)}
    if not wrong:
        return ()
    first = next(iter(wrong.values()))
    alike = all([_passes(check_shapes, found, first) for found in wrong.values()])
    if len(wrong) < len(given) or not alike:
        return tuple(wrong)
    if len(wrong) > 1:
        return (ABSTRACT,)
    return (*wrong, ABSTRACT)  # one word against the other: a lowering has to hold to what is promised


def _of_other_values(sample: Sample, given: Given) -> tuple[str, ...]:
    truth = None
    for found in given.values():
        try:
            truth = truth_of(sample, found)
        except Exception:
            return ()
        break
    if truth is not None:
        return tuple([kind for kind, found in given.items() if not _alike(sample, found, truth)])
    if len(given) < 2:
        return ()
    support = {kind: sum([_alike(sample, found, other) for other in given.values()]) for kind, found in given.items()}
    most = max(support.values())
    if most == len(given):
        return ()
    # Two that differ, and no third: the decomposition is what its author has written down as right.
    trusted = [kind for kind, count in support.items() if count == most] if most > 1 else [DECOMPOSITION]
    return tuple([kind for kind in given if kind not in trusted])


def _alike(sample: Sample, found: Results, other: Results) -> bool:
    return _passes(check_edges, found, other, sample.tolerance, "", frozenset(["zeros", "size"]))


def _passes(check: Callable[..., None], *args: object) -> bool:
    names = ("",) if check is check_shapes else ()
    try:
        check(*args, *names)
    except Mismatch:
        return False
    return True
