"""Modules of the kernel that users import by name."""

import importlib

import numpy
import pytest

import tangrad


@pytest.mark.parametrize("name", ["errors", "dtypes", "tree", "tree_util"])
def test_a_module_is_an_attribute_too(name):
    assert importlib.import_module(f"tangrad.{name}") is getattr(tangrad, name)


def test_every_public_error_can_be_caught_by_its_short_name():
    from tangrad.core import errors

    public = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert public <= set(dir(tangrad.errors))


def test_dtypes():
    from tangrad.dtypes import bfloat16, finfo

    assert finfo(bfloat16).bits == 16 and finfo(numpy.float32).bits == 32
    with pytest.raises(AttributeError, match="float17"):
        tangrad.dtypes.float17
