"""Programs are exported for the backend in use where no platform is named."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import export


@pytest.mark.parametrize(("backend", "platforms"), [("numpy", ("numpy",)), ("xla", ("cpu",))])
def test_an_exported_program_runs_where_it_was_made(backend, platforms):
    with tangrad.use_backend(backend):
        if backend == "xla" and tangrad.devices()[0].platform != "cpu":
            pytest.skip("the default device of XLA is no CPU")
        assert export.default_export_platform() == platforms[0]
        made = export.export(tangrad.jit(lambda x: np.sin(x) * 2))(tangrad.ShapeDtypeStruct((3,), np.float32))
        assert made.platforms == platforms
        x = np.arange(3.0)
        for program in (made, export.deserialize(made.serialize())):
            assert numpy.allclose(program.call(x), numpy.sin(numpy.arange(3.0)) * 2, atol=1e-6)
