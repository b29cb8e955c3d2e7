"""The distributions, with ordinary parameters of each: what is compared with SciPy at parameters that are none."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from tangrad._scipy.distributions import continuous, discrete
from tangrad._scipy.distributions.records import Distribution
from tangrad.scipy import stats

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -1.0)
POINTS = (np.nan, np.inf, -np.inf, -2.0, -0.5, 0.0, 0.3, 1.0, 2.0, 2.5, 7.0)
PROBABILITIES = (np.nan, np.inf, -np.inf, -0.5, 0.0, 1e-9, 0.3, 0.5, 0.9, 1.0, 1.5)
# Shape parameters, those of the examples; where and scale are the same for all.
SHAPES: dict[str, dict[str, float]] = {
    name: {one.name: float(value) for one, value in zip(record.shapes, record.at[1:])}
    for name, record in sorted({**vars(continuous), **vars(discrete)}.items())
    if isinstance(record, Distribution)
}
# Of vectors, in tests of their own.
VECTORS = frozenset(["dirichlet", "multinomial", "multivariate_normal", "gaussian_kde", "mode", "rankdata", "sem"])


def functions() -> list[tuple[str, str]]:
    """Each function of each distribution of numbers. Raises AssertionError for one that has no row here."""
    missing = {name for name in dir(stats) if not name.startswith("_")} - set(SHAPES) - VECTORS
    assert not missing, f"distributions without ordinary parameters: {sorted(missing)}"
    return [(name, each) for name in SHAPES for each in dir(getattr(stats, name)) if not each.startswith("_")]


def cases(name: str, function: str) -> Iterator[dict[str, Any]]:
    """Arguments at every point, one parameter at a time being none of the distribution's."""
    given = list(inspect.signature(getattr(getattr(stats, name), function)).parameters)
    ordinary = {**SHAPES[name], **{key: value for key, value in (("loc", 0.0), ("scale", 1.0)) if key in given}}
    points = PROBABILITIES if function in ("ppf", "isf") else POINTS
    places = [{}, *[{key: value} for key in ordinary for value in SPECIAL]]
    if "loc" in ordinary:
        places += [{"loc": 1.0}, {"loc": np.inf, **({"scale": np.inf} if "scale" in ordinary else {})}]
    if "scale" in ordinary:
        places += [{"scale": 2.5}, {"scale": 1e-3}]
    for point in points if function != "entropy" else ():
        for changed in places:
            yield {"x": point, **ordinary, **changed}
