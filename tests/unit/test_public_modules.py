"""Modules of the kernel that users import by name."""

import importlib
from importlib import metadata

import numpy
import pytest

import tangrad


@pytest.mark.parametrize("name", ["errors", "dtypes", "tree", "tree_util", "typing"])
def test_a_module_is_an_attribute_too(name):
    assert importlib.import_module(f"tangrad.{name}") is getattr(tangrad, name)


def test_every_public_error_can_be_caught_by_its_short_name():
    from tangrad._core.diagnostics import errors

    public = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert public <= set(dir(tangrad.errors))


def test_types_for_annotations():
    from tangrad.typing import ArrayLike, DTypeLike

    arrays = [tangrad.numpy.ones(2), numpy.ones(2), numpy.float32(1), numpy.bool_(True), True, 1, 1.0, 1j]
    assert all(isinstance(x, ArrayLike) for x in arrays)
    assert tangrad.jit(lambda x: x + isinstance(x, ArrayLike))(1.0) == 2.0
    assert not any(isinstance(x, ArrayLike) for x in ([1.0], "a", None, numpy.dtype("float32")))
    assert DTypeLike | None  # both are unions, which others may extend


def test_the_version_is_that_of_the_distribution():
    assert tangrad.__version__ == metadata.version("tangrad-core")


def test_dtypes():
    from tangrad.dtypes import bfloat16, finfo

    assert finfo(bfloat16).bits == 16 and finfo(numpy.float32).bits == 32
    with pytest.raises(AttributeError, match="float17"):
        tangrad.dtypes.float17
