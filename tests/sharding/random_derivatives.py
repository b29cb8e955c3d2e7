"""Random cases: a program, a map over devices, transformations around it; and the same of whole arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Any, NamedTuple

import numpy

import tangrad
import tangrad.numpy as np
from tangrad.experimental.maps import xmap
from tangrad.sharding import AxisType
from tangrad.sharding import PartitionSpec as P
from tests.sharding.random_operations import SIZE
from tests.sharding.random_programs import (
    Axes,
    Derivatives,
    Maker,
    Program,
    chain,
    from_outside,
    on_devices,
    shape_of,
    whole,
)

MESHES = ({"x": 2, "y": 2}, {"x": 2}, {"x": 4}, {"x": 1, "y": 4})

OUTSIDE = "shard_map, from outside"  # a checked map of programs that were traced where nothing is mapped

WITHIN = "shard_map, within another"
CUT = "shard_map, examples cut along an axis"
CHECKED = ("shard_map", OUTSIDE, WITHIN, CUT)


class Case(NamedTuple):
    """A program, what its arguments differ along, how it is mapped, and the transformations around the map."""

    map: str
    mesh: dict[str, int]
    arguments: tuple[Axes, ...]
    program: Program
    around: tuple[str, ...]

    def __str__(self) -> str:
        given = ["".join(sorted(axes)) for axes in self.arguments]
        return (
            f"{self.map} over {self.mesh}, {' of '.join(reversed(self.around))}, of arguments {given}\n{self.program}"
        )


def case(seed: int, maps: Sequence[str]) -> Case:
    """The case of a seed."""
    random = Random(seed)
    name = random.choice(maps)
    mesh = random.choice(MESHES)
    forward = random.random() < 0.75
    maker = Maker(random, mesh, name in CHECKED, forward)
    arguments = tuple([Maker(random, mesh, True, forward).axes() for _ in range(random.randint(1, 3))])
    inputs = [maker.shown(axes) for axes in arguments]
    program = maker.program(inputs, random.randint(2, 7), 2, list(mesh), random.randint(1, 2))
    if name == OUTSIDE:
        program = from_outside(program)
    return Case(name, mesh, arguments, program, maker.names(random.randint(1, 3)))


# --- maps ----------------------------------------------------------------------------------------------------------


def _on_parts(case: Case) -> Callable[..., Any]:
    """The program, of parts that have a dimension for each axis of the mesh."""

    def run(*parts: Any) -> Any:
        outs = on_devices(case.program, [part.reshape(SIZE) for part in parts])
        return tuple([out.reshape(*[1] * len(case.mesh), SIZE) for out in outs])

    return run


def _sharded(case: Case, check_vma: bool, mesh: Any = None) -> Callable[..., Any]:
    def spec(axes: Axes) -> P:
        return P(*[name if name in axes else None for name in case.mesh])

    return tangrad.shard_map(  # type: ignore[no-any-return]
        _on_parts(case),
        mesh=tangrad.make_mesh(tuple(case.mesh.values()), tuple(case.mesh)) if mesh is None else mesh,
        in_specs=tuple([spec(axes) for axes in case.arguments]),
        out_specs=tuple([spec(axes) for axes in case.program.outputs]),
        check_vma=check_vma,
    )


def _cut(case: Case) -> Callable[..., Any]:
    """Mapped again, along one more axis of the mesh: examples differ along it, and the arguments do not."""
    sizes = tuple(case.mesh.values())
    names = (*case.mesh, "cut")  # of type Auto: rows that are cut are taken apart
    mesh = tangrad.make_mesh((*sizes, 1 if prod(sizes) > 2 else 2), names, (AxisType.Auto,) * len(names))
    mapped = tangrad.vmap(_sharded(case, True, mesh), spmd_axis_name="cut")
    return lambda *values: tuple([out[0] - out[1] for out in mapped(*[np.stack([x, 0.5 * x]) for x in values])])


def _within(case: Case) -> Callable[..., Any]:
    """A map over one axis of the mesh within one over another, which says the mesh."""
    mesh = tangrad.make_mesh(tuple(case.mesh.values()), tuple(case.mesh))
    *outer, inner = list(case.mesh)
    function = _over(case, [inner], mesh if not outer else None, _on_parts(case))
    return _over(case, outer, mesh, function) if outer else function


def _over(case: Case, names: Sequence[str], mesh: Any, function: Any) -> Callable[..., Any]:
    def spec(axes: Axes) -> P:
        return P(*[name if name in axes and name in names else None for name in case.mesh])

    return tangrad.shard_map(  # type: ignore[no-any-return]
        function,
        mesh=mesh,
        in_specs=tuple([spec(axes) for axes in case.arguments]),
        out_specs=tuple([spec(axes) for axes in case.program.outputs]),
        axis_names=set(names),
    )


def _squeezed(case: Case, values: Sequence[Any]) -> list[Any]:
    """Arrays without the dimensions of axes along which they are the same."""
    return [
        value.reshape([size for name, size in case.mesh.items() if name in axes] + [SIZE])
        for value, axes in zip(values, case.arguments, strict=True)
    ]


def _nested(case: Case, mapping: Callable[..., Any]) -> Callable[..., Any]:
    """One map within another."""

    def run(*values: Any) -> Any:
        function: Any = lambda *args: tuple(on_devices(case.program, args))
        for name, size in reversed(case.mesh.items()):
            in_axes = tuple([0 if name in axes else None for axes in case.arguments])
            function = mapping(function, axis_name=name, in_axes=in_axes, axis_size=size)
        return function(*_squeezed(case, values))

    return run


def _by_xmap(case: Case) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        in_axes = tuple([[*[name for name in case.mesh if name in axes], ...] for axes in case.arguments])
        function = xmap(
            lambda *args: tuple(on_devices(case.program, args)),
            in_axes=in_axes,
            out_axes=[*case.mesh, ...],
            axis_sizes=case.mesh,
            axis_resources={name: f"by {name}" for name in case.mesh},
        )
        with tangrad.make_mesh(tuple(case.mesh.values()), tuple([f"by {name}" for name in case.mesh])):
            return function(*_squeezed(case, values))

    return run


MAPS: dict[str, Callable[[Case], Callable[..., Any]]] = {
    "shard_map": lambda case: _sharded(case, True),
    OUTSIDE: lambda case: _sharded(case, True),
    WITHIN: _within,
    CUT: _cut,
    "shard_map, not checked": lambda case: _sharded(case, False),
    "pmap": lambda case: _nested(case, tangrad.pmap),
    "vmap": lambda case: _nested(case, tangrad.vmap),
    "xmap": _by_xmap,
}


# --- comparison ----------------------------------------------------------------------------------------------------


def _vector(number: int, value: Any) -> Any:
    return np.cos(np.arange(float(value.size)) + number).reshape(value.shape)


def results(case: Case) -> tuple[list[Any], list[Any]]:
    """What the map gives and what is expected, as arrays."""
    arguments = [
        numpy.cos(1.7 * numpy.arange(numpy.prod(shape_of(axes, case.mesh))) + number).reshape(shape_of(axes, case.mesh))
        for number, axes in enumerate(case.arguments)
    ]
    seen = Derivatives(_vector, lambda out, axes: out)
    expected_of = lambda *values: tuple(whole(case.program, case.mesh, values))
    sides = [MAPS[case.map](case), _difference_of(expected_of) if case.map == CUT else expected_of]
    found, expected = [
        [numpy.asarray(out) for out in chain(case.around, side, seen, case.arguments, case.program.outputs)(*arguments)]
        for side in sides
    ]
    return found, expected


def _difference_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """What `_cut` makes of the two examples."""
    half = lambda values: [0.5 * value for value in values]
    return lambda *values: tuple([a - b for a, b in zip(function(*values), function(*half(values)), strict=True)])


def difference(case: Case) -> float | None:
    """The greatest difference, as part of the greatest value; None where the values expected are out of bounds."""
    found, expected = results(case)
    worst = 0.0
    for one, other in zip(found, expected, strict=True):
        size = numpy.abs(other).max(initial=0.0)
        if not size < 1e8:
            return None
        assert one.shape == other.shape, f"shape {one.shape} where {other.shape} is expected"
        error = numpy.abs(one - other).max(initial=0.0)
        worst = max(worst, float("inf") if numpy.isnan(error) else error / (1 + size))
    return worst


class Tally(NamedTuple):
    """What a sweep found: how many cases were compared, how many were out of bounds, and those that differ."""

    compared: int
    beyond: int
    wrong: list[str]


def sweep(
    seeds: Sequence[int], maps: Sequence[str] = tuple(MAPS), report: Callable[[str], None] = lambda text: None
) -> Tally:
    """Compare the cases of seeds; `report` is given each that differs."""
    compared, beyond, wrong = 0, 0, []
    with tangrad.enable_x64():
        for seed in seeds:
            made = case(seed, maps)
            try:
                error = difference(made)
                found = None if error is None or error < 1e-7 else f"differs by {error:.2g}"
                compared, beyond = compared + (error is not None), beyond + (error is None)
            except Exception as raised:  # which is as wrong as a wrong number
                found = f"{type(raised).__name__}: {raised}"
            if found is not None:
                wrong.append(f"seed {seed}: {found}\n{made}")
                report(wrong[-1])
    return Tally(compared, beyond, wrong)


# --- `python -m tests.sharding.random_derivatives FIRST COUNT [MAP ...]` ---
# Four devices are needed: `TANGRAD_NUM_CPU_DEVICES=4`.


def main(first: int, count: int, maps: list[str]) -> int:
    tally = sweep(range(first, first + count), maps or tuple(MAPS), report=lambda text: print(text, flush=True))
    print(f"{tally.compared} compared, {tally.beyond} out of bounds, {len(tally.wrong)} wrong")
    return bool(tally.wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
