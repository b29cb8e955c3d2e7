"""`jax._src.test_util`, and `jax._src.public_test_util`: what tests of packages take from jax's own."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad
from tangrad import tree
from tangrad._compat.settings import config
from tangrad.core import dtypes, get_aval

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias, TypeVar

    from tangrad.typing import ArrayLike, DType, DTypeLike

    Tolerance: TypeAlias = dict[DTypeLike, float] | float | None
    T = TypeVar("T")


# By how much values that were computed in different ways may differ; what is not here must be equal.
_TOLERANCES = {"bfloat16": 1e-2, "float16": 1e-3, "float32": 1e-6, "float64": 1e-15, "complex64": 1e-6}
_TOLERANCES["complex128"] = 1e-15


def __getattr__(name: str) -> object:
    """`check_grads`, `check_jvp` and `check_vjp`, of a distribution of their own."""
    return getattr(tangrad.test_util, name)


def default_tolerance() -> dict[DType, float]:
    """The tolerances by dtype."""
    return {dtypes.as_dtype(name): value for name, value in _TOLERANCES.items()}


def tolerance(dtype: object, tol: Tolerance = None) -> float:
    """`tol` itself, its entry for the dtype if it is a dict by dtypes, or the default of the dtype."""
    wanted = dtypes.as_dtype(dtype)
    if isinstance(tol, dict):
        stated = {dtypes.as_dtype(key): value for key, value in tol.items()}
        return stated.get(wanted, _TOLERANCES.get(str(wanted), 0.0))
    return _TOLERANCES.get(str(wanted), 0.0) if tol is None else tol


def check_close(xs: object, ys: object, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = "") -> None:
    """Raise AssertionError where two trees of arrays differ by more than the coarser of their dtypes tolerates."""

    def check(x: object, y: object) -> None:
        found = [get_aval(value).dtype for value in (x, y)]
        absolute, relative = (max([tolerance(dtype, tol) for dtype in found]) for tol in (atol, rtol))
        actual, desired = (_comparable(value) for value in (x, y))
        np.testing.assert_allclose(actual, desired, atol=absolute, rtol=relative, err_msg=err_msg)

    tree.map(check, xs, ys)


def _comparable(value: object) -> np.ndarray:
    array = np.asarray(value)
    return array if array.dtype.kind in "biufc" else array.astype(np.float32)  # of a dtype of ml_dtypes


def device_under_test() -> str:
    """The platform that tests run on, such as "cpu"."""
    return tangrad.devices()[0].platform


def test_device_matches(device_types: Sequence[str]) -> bool:
    """Whether tests run on one of these platforms."""
    return device_under_test() in device_types


vars(test_device_matches)["__test__"] = False  # no test of pytest's


def is_device_tpu(version: object = None, variant: str = "") -> bool:
    """Whether tests run on TPUs: never."""
    return False


def num_float_bits(dtype: object) -> int:
    """The bits of a floating dtype; of a complex one those of its parts."""
    return int(dtypes.finfo(dtypes.as_dtype(dtype)).bits)


def promote_like_jnp(function: Callable[..., T], inexact: bool = False) -> Callable[..., T]:
    """A function of NumPy's whose arguments meet in a dtype as those of `jax.numpy` do."""

    def call(*args: object, **kwargs: object) -> T:
        leaves, structure = tangrad.tree.flatten(args)
        found = tangrad.numpy.result_type(*leaves)
        dtype = dtypes.to_inexact_dtype(found) if inexact else found
        return function(*structure.unflatten([np.asarray(leaf, dtype) for leaf in leaves]), **kwargs)

    return call


def rand_default(rng: np.random.RandomState, scale: float = 3) -> Callable[..., np.ndarray]:
    """A function of shape and dtype that draws normal numbers."""
    return lambda shape, dtype: np.asarray(scale * rng.randn(*shape)).astype(dtype)


def rand_uniform(rng: np.random.RandomState, low: float = 0.0, high: float = 1.0) -> Callable[..., np.ndarray]:
    """A function of shape and dtype that draws numbers from an interval."""
    return lambda shape, dtype: np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def rand_int(rng: np.random.RandomState, low: int = 0, high: int | None = None) -> Callable[..., np.ndarray]:
    """A function of shape and dtype that draws integers."""
    return lambda shape, dtype: np.asarray(rng.randint(low, high, size=shape)).astype(dtype)


def rand_positive(rng: np.random.RandomState) -> Callable[..., np.ndarray]:
    """A function of shape and dtype that draws positive numbers."""
    draw = rand_default(rng)
    return lambda shape, dtype: np.abs(draw(shape, dtype)) + np.asarray(1, dtype)


class JaxTestCase(unittest.TestCase):
    """Tests with comparisons of arrays. Settings are as they were after each.

    Attributes:
        _default_config: settings that hold in its tests, by their names in jax.
    """

    _default_config: dict[str, object] = {}

    def setUp(self) -> None:
        super().setUp()
        self._rng = np.random.RandomState(0)
        self.enterContext(_settings(self._default_config))

    def rng(self) -> np.random.RandomState:
        """A generator that starts alike in each test."""
        return self._rng

    def assertDtypesMatch(self, x: object, y: object, *, canonicalize_dtypes: bool = True) -> None:
        """Fail where dtypes differ; as they are computed with, unless `canonicalize_dtypes` is False."""
        found = [get_aval(value).dtype if canonicalize_dtypes else np.asarray(value).dtype for value in (x, y)]
        self.assertEqual(*found)

    def assertArraysEqual(
        self, actual: object, desired: object, *, check_dtypes: bool = True, err_msg: str = "", **options: object
    ) -> None:
        """Fail where arrays differ."""
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(desired), err_msg)

    def assertArraysAllClose(
        self,
        actual: Any,
        desired: Any,
        *,
        check_dtypes: bool = True,
        atol: Tolerance = None,
        rtol: Tolerance = None,
        err_msg: str = "",
    ) -> None:
        """Fail where arrays differ by more than their dtypes tolerate."""
        self.assertEqual(np.shape(actual), np.shape(desired), err_msg)
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)
        check_close(actual, desired, atol, rtol, err_msg)

    def assertAllClose(self, actual: object, desired: object, **options: Any) -> None:
        """As `assertArraysAllClose`, of trees of arrays."""
        options.pop("canonicalize_dtypes", None)
        self.assertEqual(tangrad.tree.structure(actual), tangrad.tree.structure(desired))
        tangrad.tree.map(lambda x, y: self.assertArraysAllClose(x, y, **options), actual, desired)


@contextmanager
def _settings(values: dict[str, object]) -> Iterator[None]:
    before = {name: config.read(name) for name in values}
    try:
        for name, value in values.items():
            config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            config.update(name, value)


def with_config(**values: object) -> Callable[[T], T]:
    """A decorator of classes of tests: settings that hold in them."""

    def wrap(cls: T) -> T:
        own: Any = cls
        own._default_config = {**own._default_config, **values}
        return cls

    return wrap
