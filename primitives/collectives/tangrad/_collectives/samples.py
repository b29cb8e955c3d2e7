"""Samples of the collectives, for the conformance kit: their arguments have the mapped axes in front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._collectives import primitives as p
from tangrad.conformance import Sample, draw

if TYPE_CHECKING:
    from tangrad.typing import Params

BY_MAP = "its result depends on along which axes its operands are mapped"
TOTALS = "its cotangents are totals over the axes, which its tangents are not"

ONE = {"i": 4}
TWO = {"i": 2, "j": 3}
PAIRS = ((0, 3), (2, 1))
UNEVEN = ((2,), (0, 3, 1))
ACROSS = ((0, 5), (4, 1), (3, 2))  # groups of the joint indices of two axes


def samples() -> list[Sample]:
    """All of them."""
    return [
        *_reductions(),
        *_gathers(),
        *_scatters(),
        *_exchanges(),
        *_senders(),
        *_marks(),
        *_sums_of_cotangents(),
        *_indices(),
    ]


def _reductions() -> list[Sample]:
    found = []
    for primitive in (p.psum_p, p.pmax_p, p.pmin_p):
        for axes, shape, around, groups in (
            ((0, 2), (2, 3, 2), {}, None),
            (("i", 0), (4, 3, 2), ONE, None),
            (("j",), (2, 3, 2), TWO, None),
            (("j", 1, "i"), (2, 3, 2, 4), TWO, None),
            (("i",), (4, 2), ONE, UNEVEN),
            (("i", "j"), (2, 3, 2), TWO, ACROSS),
        ):
            params = {"axes": axes, "axis_index_groups": groups}
            found.append(Sample(primitive, (draw(*shape),), params, axes=around))
        for kind in ("int32", "bfloat16"):
            params = {"axes": ("i",), "axis_index_groups": None}
            found.append(Sample(primitive, (draw(4, 3, dtype=kind),), params, axes=ONE))
    params = {"axes": ("i",), "axis_index_groups": None}
    found.append(Sample(p.psum_p, (draw(4, 2, dtype="complex64"),), params, axes=ONE))
    found += [Sample(each, (draw(4, 3, dtype="bool"),), params, axes=ONE) for each in (p.pmax_p, p.pmin_p)]
    return found


def _params(names: object, size: int, groups: object = None, **more: object) -> Params:
    return {"axis_name": names, "axis_size": size, "axis_index_groups": groups, **more}


def _gathers() -> list[Sample]:
    return [
        Sample(
            p.all_gather_p, (draw(*shape),), params | {"all_gather_dimension": dimension, "tiled": tiled}, axes=around
        )
        for around, shape, params in (
            (ONE, (4, 3, 2), _params(("i",), 4)),
            (TWO, (2, 3, 3, 2), _params(("j",), 3)),
            (TWO, (2, 3, 3, 2), _params(("j", "i"), 6)),
            (ONE, (4, 3, 2), _params(("i",), 2, PAIRS)),
            (TWO, (2, 3, 3, 2), _params(("i", "j"), 2, ACROSS)),
        )
        for dimension, tiled in ((0, False), (2, False), (1, True))
    ]


def _scatters() -> list[Sample]:
    found = []
    for around, lead, params in (
        (ONE, (4,), _params(("i",), 4)),
        (TWO, (2, 3), _params(("j",), 3)),
        (TWO, (2, 3), _params(("j", "i"), 6)),
        (ONE, (4,), _params(("i",), 2, PAIRS)),
        (TWO, (2, 3), _params(("i", "j"), 2, ACROSS)),
    ):
        size = params["axis_size"]
        for dimension, tiled in ((0, False), (1, True)):
            shape = [2, 2]
            shape[dimension] = size * 2 if tiled else size
            more = {"scatter_dimension": dimension, "tiled": tiled}
            found.append(Sample(p.reduce_scatter_p, (draw(*lead, *shape),), {**params, **more}, axes=around))
    return found


def _exchanges() -> list[Sample]:
    found = []
    for around, lead, params in (
        (ONE, (4,), _params(("i",), 4)),
        (TWO, (2, 3), _params(("j",), 3)),
        (TWO, (2, 3), _params(("j", "i"), 6)),
        (ONE, (4,), _params(("i",), 2, PAIRS)),
        (TWO, (2, 3), _params(("i", "j"), 2, ACROSS)),
    ):
        for split, concat in ((0, 1), (1, 0)) if around is TWO else ((0, 0), (1, 0)):
            shape = [2, 2]
            shape[split] = 2 * params["axis_size"]
            more = {"split_axis": split, "concat_axis": concat}
            found.append(Sample(p.all_to_all_p, (draw(*lead, *shape),), {**params, **more}, axes=around))
    return found


def _senders() -> list[Sample]:
    found = []
    for names, around, lead, perm in (
        (("i",), ONE, (4,), ((0, 1), (1, 2), (2, 3), (3, 0))),
        (("i",), ONE, (4,), ((3, 1), (0, 2))),
        (("i",), ONE, (4,), ((0, 2), (1, 0), (2, 3), (3, 1))),
        (("j",), TWO, (2, 3), ((2, 0), (1, 1))),
        (("i", "j"), TWO, (2, 3), ((0, 4), (1, 2), (5, 0))),
        (("j", "i"), TWO, (2, 3), ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0))),
    ):
        found.append(Sample(p.ppermute_p, (draw(*lead, 2),), {"axis_name": names, "perm": perm}, axes=around))
    for names, around, lead, source in (
        (("i",), ONE, (4,), 2),
        (("j",), TWO, (2, 3), 1),
        (("i", "j"), TWO, (2, 3), 4),
        (("j", "i"), TWO, (2, 3), 3),
    ):
        found.append(Sample(p.pbroadcast_p, (draw(*lead, 2),), {"axis_name": names, "source": source}, axes=around))
    return found


def _marks() -> list[Sample]:
    return [
        Sample(p.pvary_p, (draw(4, 2),), {"axes": (("i", 4),)}, axes=ONE),
        Sample(p.pvary_p, (draw(2, 3, 2),), {"axes": (("j", 3), ("i", 2))}, axes=TWO),
        Sample(p.pinvary_p, (np.repeat(draw(1, 2), 4, axis=0),), {"axes": ("i",)}, axes=ONE),
        Sample(p.pinvary_p, (np.tile(draw(2), (2, 3, 1)),), {"axes": ("j", "i")}, axes=TWO),
    ]


def _sums_of_cotangents() -> list[Sample]:
    """Of values that differ along all axes, for one that is the same."""
    found = []
    for names, around, lead in ((("i",), ONE, (4,)), (("j",), TWO, (2, 3)), (("j", "i"), TWO, (2, 3))):
        x, source = draw(*lead, 2), draw(*lead, seed=1)
        given: dict[str, Any] = {"params": {"axes": names}, "axes": around, "enter": _with_one}
        found.append(Sample(p.psum_to_p, (x, source), without={"batch": BY_MAP, "split_axis": BY_MAP}, **given))
        found.append(Sample(p.psum_back_p, (x,), without={"transpose": TOTALS, "points": TOTALS}, **given))
    return found


def _with_one(*args: object) -> tuple[object, ...]:
    return (*args, np.float32(1))


def _indices() -> list[Sample]:
    return [
        Sample(p.axis_index_p, (), {"axis_name": names}, axes=around)
        for names, around in (("i", ONE), ("j", TWO), (("i", "j"), TWO), (("j", "i"), TWO))
    ]
