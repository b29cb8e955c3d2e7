"""Every primitive there is: a program of it is saved and gives the same numbers, or is refused by name."""

import numpy as np
import pytest

import tangrad
from tangrad import enable_x64, tree
from tangrad._runtime.container import pack, unpack
from tangrad._runtime.limits import DEFAULT
from tangrad._runtime.loading import LoadedProgram
from tangrad._runtime.reading import SavedProgram
from tangrad._runtime.saving import sections_of
from tangrad.conformance import find_samples
from tangrad.core import Array, dtypes, get_backend
from tangrad.runtime import ArtifactError

# What a file cannot carry, by the words that the refusal must have.
REFUSED = {
    "callbacks.pure_callback": "HostCall",
    "callbacks.io_callback": "side effects",
    "callbacks.debug_callback": "side effects",
    "callbacks.debug_print": "side effects",
    "foreign.ffi_call": "Dictionary",
}


def samples():
    for primitive, found in find_samples().items():
        usable = [one for one in found if one.raises is None and not one.axes and one.strategy is None]
        usable = [one for one in usable if "numpy" in (one.backends or ("numpy",))]
        if usable:
            yield primitive.identity, usable[:3]


def loaded(contents: bytes) -> LoadedProgram:
    backend = get_backend("numpy")
    return LoadedProgram(SavedProgram(unpack(contents), DEFAULT, backend), backend)


@pytest.mark.parametrize(("identity", "found"), [pytest.param(*one, id=one[0]) for one in samples()])
def test_a_program_of_one_primitive_runs_from_its_file(identity, found):
    for sample in found:
        with enable_x64(True), tangrad.use_backend("numpy"):
            args = sample.args
            if identity in REFUSED:
                with pytest.raises((ArtifactError, TypeError), match=REFUSED[identity]):
                    sections_of(sample.apply, args, {})
                continue
            expected = sample.apply(*args)
            program = loaded(pack(sections_of(sample.apply, args, {})))
        for one, other in zip(tree.leaves(expected), tree.leaves(program(*args)), strict=True):
            assert dtypes.dtype_name(one.dtype) == dtypes.dtype_name(other.dtype)
            if isinstance(other, Array):  # random keys
                one, other = one.to_numpy(), other.to_numpy()
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_what_a_file_cannot_carry_is_still_there():
    """So that a name that is refused no more, or is gone, leaves the table."""
    assert REFUSED.keys() <= dict(samples()).keys()
