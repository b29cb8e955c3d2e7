"""What LAPACK's functions are called with: jaxlib's wrappers take sizes from some operands, and trust the others.

A module from elsewhere may name any sizes: then a wrapper would write where no array is. So each call is
held against this table before XLA gets the module. A size that is not known yet fits any; the module is looked at again
when all are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._backend_xla.mlir import ir
from tangrad._backend_xla.module_contents import all_operations, call_target

if TYPE_CHECKING:
    from tangrad._backend_xla.mlir import IrModule, IrOperation


# Operands, results, and the letters that its attributes may be. A type is a letter for the elements, those of the
# function's name (T), real (R) or complex ones (C) of the same precision or int32 (I), and one for each size behind the
# common leading ones: r is the lesser of m and n, e one less than n.
_TYPES = {
    "potrf": ("Tnn", "Tnn I", {"uplo": "LU"}),
    "getrf": ("Tmn", "Tmn Ir I", {}),
    "geqrf": ("Tmn", "Tmn Tr", {}),
    "geqp3": ("Tmn In", "Tmn In Tr", {}),
    "orgqr": ("Tmn Tk", "Tmn", {}),
    "ormqr": ("Tak Tk Tmn", "Tmn", {}),
    "trsm": ("Taa Tmn", "Tmn", {"side": "LR", "uplo": "LU", "trans_x": "NTC", "diag": "NU"}),
    "gesdd": ("Tmn", "Tmn Rr Tmu Tvn I", {"mode": "ASN"}),
    "gesvd": ("Tmn", "Tmn Rr Tmu Tvn I", {"mode": "ASN"}),
    "syevd": ("Tnn", "Tnn Rn I", {"mode": "NV", "uplo": "LU"}),
    "sytrd": ("Tnn", "Tnn Rn Re Te I", {"uplo": "LU"}),
    "gehrd": ("Tnn", "Tnn Te I", {}),
    "geev": ("Tnn", "Rn Rn Cnn Cnn I", {"compute_left": "NV", "compute_right": "NV"}),
    "gees": ("Tnn", "Tnn Tnn Tn Tn I I", {"mode": "NV", "sort": "N"}),
    "gtsv": ("Tn Tn Tn Tnk", "Tn Tn Tn Tnk I", {}),
    "tridiagonal_solve_perturbed": ("Tn Tn Tn Tnk", "Tnk", {}),
    # What XLA itself replaces, on CPUs too.
    "LuDecomposition": ("Tmn", "Tmn Ir Im", {}),
    "Qr": ("Tmn", "Tmn Tr", {}),
    "ProductOfElementaryHouseholderReflectors": ("Tmn Tk", "Tmn", {}),
    "Eigh": ("Tnn", "Tnn Rn", {}),
}
_NAME = re.compile(
    r"lapack_([sdcz])([a-z0-9]+)_ffi|(tridiagonal_solve_perturbed)_ffi"
    r"|(LuDecomposition|Qr|ProductOfElementaryHouseholderReflectors|Eigh)"
)
_SAME = {"ungqr": "orgqr", "unmqr": "ormqr", "heevd": "syevd", "hetrd": "sytrd"}  # as complex matrices have them
_COMPLEX = {"geev": "Cn Cnn Cnn I", "gees": "Tnn Tnn Tn I I"}  # results for complex matrices
_ELEMENTS = {
    "s": {"T": "f32", "R": "f32", "C": "complex<f32>"},
    "d": {"T": "f64", "R": "f64", "C": "complex<f64>"},
    "c": {"T": "complex<f32>", "R": "f32", "C": "complex<f32>"},
    "z": {"T": "complex<f64>", "R": "f64", "C": "complex<f64>"},
}
# What XLA itself takes away again, and ends the process over if it has not one operand.
_MARKS = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"})
_TYPED = 4  # the version of custom calls with typed attributes, the one in which these functions are registered
_OLD_CONFIG = "mhlo.backend_config"  # where typed attributes were before StableHLO had them
Sizes = dict[str, "int | None"]


class _Call(NamedTuple):
    """A function's call: its name, that of its elements in LAPACK's names, and what it is given."""

    function: str
    elements: str
    attributes: Mapping[str, Any]


def check_kernels(module: IrModule, name: str) -> None:
    """Raise ValueError where a function of LAPACK is called with other types than it works on.

    Args:
        module: the module.
        name: what messages call the program.
    """
    for operation, _ in all_operations(module.operation):
        target = call_target(operation)
        if target is not None:
            problem = _problem(operation, target)
            if problem is not None:
                raise ValueError(f"{name} calls {target} in a way that would not be safe: {problem}")


def _problem(operation: IrOperation, target: str) -> str | None:
    """What is wrong with a call; None where it is right, or of something else."""
    if target in _MARKS:
        numbers = len(operation.operands), len(operation.results)
        return None if numbers == (1, 1) else f"it has one operand and one result, not {numbers[0]} and {numbers[1]}"
    found = _NAME.fullmatch(target)
    return None if found is None else _wrong_call(operation, found)


def _wrong_call(operation: IrOperation, found: re.Match[str]) -> str | None:
    if not (found[4] or _is_typed(operation.attributes)):
        return f"it is of version {_TYPED} of the interface"
    function = found[4] or found[3] or _SAME.get(found[2], found[2])
    if function not in _TYPES:
        return "there is no such function"
    operands = _without_sizes(operation)
    results = [result.type for result in operation.results]
    elements = found[1] or _precision(operands)
    if elements is None:
        return "its first operand is an array of floating-point or complex numbers"
    call = _Call(function, elements, _attributes(operation))
    return _wrong_letter(call) or _wrong_type(call, operands, results)


def _is_typed(attributes: Any) -> bool:
    if _OLD_CONFIG in attributes:
        return isinstance(attributes[_OLD_CONFIG], ir.DictAttr)
    return "api_version" in attributes and ir.IntegerAttr(attributes["api_version"]).value == _TYPED


def _without_sizes(operation: IrOperation) -> list[object]:
    """The types of the operands, but for those that say how large results are where that is not known yet."""
    attributes = operation.attributes
    sizes: set[int] = set()
    if "indices_of_shape_operands" in attributes:
        sizes = {int(place) for place in ir.DenseIntElementsAttr(attributes["indices_of_shape_operands"])}
    return [operand.type for place, operand in enumerate(operation.operands) if place not in sizes]


def _attributes(operation: Any) -> dict[str, object]:
    for key in (_OLD_CONFIG, "backend_config"):
        if key in operation.attributes and isinstance(operation.attributes[key], ir.DictAttr):
            config = operation.attributes[key]
            return {one.name: one.attr for one in config}
    return {}


def _wrong_letter(call: _Call) -> str | None:
    for attribute, letters in _TYPES[call.function][2].items():
        if _letter(call, attribute) not in letters:
            return f"its attribute {attribute} is one of {', '.join(map(repr, letters))}, as a number of 8 bits"
    if call.function == "ormqr" and not isinstance(call.attributes.get("left"), ir.BoolAttr):
        return "its attribute left is true or false"
    return None


def _letter(call: _Call, attribute: str) -> str:
    found = call.attributes.get(attribute)
    value = found.value if isinstance(found, ir.IntegerAttr) and str(found.type) == "ui8" else 0
    return chr(value) if 0 < value < 128 else " "


def _wrong_type(call: _Call, operands: Sequence[object], results: Sequence[object]) -> str | None:
    expected = _TYPES[call.function]
    stated = expected[0], _COMPLEX.get(call.function, expected[1]) if call.elements in "cz" else expected[1]
    if (len(operands), len(results)) != tuple(len(one.split()) for one in stated):
        numbers = " and ".join([f"{len(one.split())} {what}" for one, what in zip(stated, ("operands", "results"))])
        return f"it has {numbers}, not {len(operands)} and {len(results)}"
    words = " ".join(stated).split()
    types = [*operands, *results]
    sizes: Sizes = {}
    if not all(_fits(call, word, kind, sizes) for word, kind in zip(words, types)) or not _related(call, sizes):
        shown = [", ".join([str(kind) for kind in part]) for part in (operands, results)]
        return f"({shown[0]}) -> ({shown[1]}) is not of the form {_form(stated)}"
    return None


def _form(stated: Sequence[str]) -> str:
    """Types in words: `T[..., m, n], I[...]`."""
    return " -> ".join(
        [
            "(" + ", ".join([f"{word[0]}[{', '.join(['...', *word[1:]])}]" for word in one.split()]) + ")"
            for one in stated
        ]
    )


def _precision(operands: Sequence[object]) -> str | None:
    """The letter for the elements of the first operand; None where LAPACK has none."""
    kind = operands[0] if operands else None
    element = str(kind.element_type) if isinstance(kind, ir.RankedTensorType) else ""
    return next((letter for letter, names in _ELEMENTS.items() if names["T"] == element), None)


def _fits(call: _Call, word: str, kind: object, sizes: Sizes) -> bool:
    """Whether a type is of a form, with the sizes met so far, which those of this one are added to."""
    element = "i32" if word[0] == "I" else _ELEMENTS[call.elements][word[0]]
    if not isinstance(kind, ir.RankedTensorType) or str(kind.element_type) != element:
        return False
    found = [None if kind.is_dynamic_dim(axis) else int(kind.get_dim_size(axis)) for axis in range(kind.rank)]
    leading = len(found) - len(word[1:])
    if leading < 0 or sizes.setdefault("rank", leading) != leading:
        return False
    names = [f"leading {axis}" for axis in range(leading)] + list(word[1:])
    return all([_agrees(name, size, sizes) for name, size in zip(names, found)])


def _agrees(name: str, size: int | None, sizes: Sizes) -> bool:
    if sizes.get(name) is None:
        sizes[name] = size
    return size is None or sizes[name] == size


def _related(call: _Call, sizes: Sizes) -> bool:
    """Whether sizes that are made of others are, as far as they are known."""
    return all([sizes.get(name) is None or size is None or sizes[name] in size for name, size in _derived(call, sizes)])


def _derived(call: _Call, sizes: Sizes) -> Iterator[tuple[str, Sequence[int] | range | None]]:
    """Names of sizes, and what they may be; None where that is not known."""
    m, n = sizes.get("m"), sizes.get("n")
    least = None if m is None or n is None else min(m, n)
    yield "r", _only(least)
    yield "e", None if n is None else (max(n - 1, 0),)
    if call.function == "trsm":
        yield "a", _only(m if _letter(call, "side") == "L" else n)
    elif call.function == "ormqr":
        whole = m if call.attributes["left"].value else n
        yield "a", _only(whole)
        yield "k", None if whole is None else range(whole + 1)
    elif call.function in ("orgqr", "ProductOfElementaryHouseholderReflectors"):
        yield "n", None if m is None else range(m + 1)
        yield "k", None if n is None else range(n + 1)
    elif call.function in ("gesdd", "gesvd"):
        for name, size in (("u", m), ("v", n)):
            known = () if size is None or least is None else (size, least)
            yield name, {"A": known[:1], "S": known[1:], "N": known}[_letter(call, "mode")] or None


def _only(size: int | None) -> tuple[int, ...] | None:
    return None if size is None else (size,)
