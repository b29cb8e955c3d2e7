"""Windows and factorisations on XLA: the programs are JAX's, on the CPU as optimised, for GPUs as they are written."""

import re
import subprocess
import sys

import numpy as np
import pytest

import tangrad
from tangrad import enable_x64, lax
from tangrad import use_backend as backend_setting
from tests.benchmarks.hlo import first_difference, normalised

jax = pytest.importorskip("jax")
lowering = pytest.importorskip("tangrad._backend_xla.lowering")


def images(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


PROGRAMS = {
    "convolution": (
        lambda api, x, w: api.lax.conv_general_dilated(
            x, w, (2, 1), "SAME", None, (1, 2), ("NHWC", "HWIO", "NHWC"), precision="highest"
        ),
        (images(2, 8, 8, 3), images(3, 3, 3, 4)),
    ),
    "groups": (
        lambda api, x, w: api.lax.conv_general_dilated(x, w, (1,), "SAME", feature_group_count=3),
        (images(2, 6, 8), images(9, 2, 3)),
    ),
    "pool": (
        lambda api, x: api.lax.reduce_window(x, -np.inf, api.lax.max, (1, 3, 2), (1, 2, 2), "SAME"),
        (images(3, 8, 9),),
    ),
    "sums": (
        lambda api, x: api.lax.reduce_window(x, 0.0, api.lax.add, (1, 3, 2), (1, 2, 2), "SAME", (1, 2, 1)),
        (images(3, 8, 9),),
    ),
    "triangular": (
        lambda api, a, b: api.lax.linalg.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True),
        (images(2, 4, 4), images(2, 4, 3)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_their_gradients_are_those_of_jax(name):
    function, args = PROGRAMS[name]

    def gradients(api):
        def run(*args):
            out, pull = api.vjp(lambda *args: function(api, *args), *args)
            return out, pull(out)

        return run

    with backend_setting("xla"):
        ours = tangrad.jit(gradients(tangrad)).lower(*args).compile().as_text()
    theirs = jax.jit(gradients(jax)).lower(*args).compile().as_text()
    assert normalised(ours) == normalised(theirs), first_difference(normalised(ours), normalised(theirs))


def test_cholesky_is_that_of_jax():
    x = images(3, 5, 5)
    with backend_setting("xla"):
        ours = tangrad.jit(lax.linalg.cholesky).lower(x).compile().as_text()
    theirs = jax.jit(jax.lax.linalg.cholesky).lower(x).compile().as_text()
    assert normalised(ours) == normalised(theirs), first_difference(normalised(ours), normalised(theirs))


def test_lapack_needs_no_jax():
    program = (
        "import sys, numpy, tangrad\n"
        "found = tangrad.lax.linalg.cholesky(numpy.float32([[4, 2], [2, 5]]))\n"
        "assert found.tolist() == [[2, 0], [1, 2]] and 'jax' not in sys.modules"
    )
    environment = {"TANGRAD_BACKEND": "xla", "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=120)


# --- for GPUs ------------------------------------------------------------------------------------------------------


def operations(function, *args):
    """The operations of a program for GPUs, in the order of their names, and the targets of its custom calls."""
    with backend_setting("xla"):
        module = lowering.lower_to_module(tangrad.make_jaxpr(function)(*args), "program", "cuda").module
    assert module.operation.verify()
    text = str(module)
    return sorted(re.findall(r"= \"?(stablehlo\.\w+)", text)), re.findall(r"custom_call @(\w+)", text)


def test_factorisations_on_gpus_are_those_of_cusolver():
    x, vector = images(2, 4, 4), images(2, 4)
    assert operations(lax.linalg.cholesky, x)[1] == ["cusolver_potrf_ffi"]
    assert operations(lax.linalg.cholesky_update, x[0], vector[0])[1] == ["cu_cholesky_update_ffi"]
    assert "stablehlo.while" in operations(lax.linalg.cholesky_update, x, vector)[0]
    names, calls = operations(lambda a, b: lax.linalg.triangular_solve(a, b, conjugate_a=True), x + 0j, x + 0j)
    assert "stablehlo.triangular_solve" in names and "stablehlo.imag" in names and not calls


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_selected_tangents_on_gpus_are_found_as_in_jax(dtype):
    with enable_x64(True):
        x = images(3, 8, 8).astype(dtype)

        def slope(api):
            def pool(x):
                return api.lax.reduce_window(x, x.dtype.type(-np.inf), api.lax.max, (1, 2, 2), (1, 2, 2))

            return lambda x: api.jvp(pool, (x,), (x,))[1]

        ours, _ = operations(slope(tangrad), x)
        with jax.enable_x64(True):
            packs = jax.__version_info__ < (0, 12)
            if dtype == "float64" and packs:  # which says that half of the bits are lost
                with pytest.warns(UserWarning, match="reduced precision"):
                    theirs = jax.jit(slope(jax)).trace(x).lower(lowering_platforms=("cuda",)).as_text()
            else:
                theirs = jax.jit(slope(jax)).trace(x).lower(lowering_platforms=("cuda",)).as_text()
    kinds = ("bitcast_convert", "convert", "shift_left", "or", "select", "compare", "reduce_precision")
    for kind in kinds:
        expected = len(re.findall(rf"= \"?stablehlo\.{kind}\b", theirs))
        assert ours.count(f"stablehlo.{kind}") == expected, kind
