"""What a backend has that says nothing else."""

import numpy
import pytest

from tangrad.core import Backend


class Recording(Backend):
    """A backend whose arrays are what it was asked to put."""

    name = "recording"

    def put(self, value, aval, device=None):
        return value, aval.str_short(), device


def test_arrays_of_other_libraries_are_put():
    external = numpy.arange(3, dtype="int16")
    contents, kind, device = Recording().from_dlpack(external, "somewhere")
    numpy.testing.assert_array_equal(contents, external)
    assert (kind, device) == ("i16[3]", "somewhere")
    assert Recording().from_dlpack(external, copy=True)[2] is None


def test_memory_that_cannot_be_shared_is_not_copied_against_the_callers_will():
    with pytest.raises(BufferError, match="'recording' shares no memory with other libraries"):
        Recording().from_dlpack(numpy.arange(3), copy=False)
