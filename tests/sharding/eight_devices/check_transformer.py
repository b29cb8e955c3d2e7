"""A transformer trained on 2 x 4 devices: the losses of one device, and the collectives that theory demands."""

import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tangrad._xmap.lowering import manual_lowering, spmd_lowering
from tests.sharding.eight_devices.support import ON_XLA
from tools.hlo_collectives import Collective, collectives
from tools.workspace import ROOT

sys.path.insert(0, str(Path(ROOT) / "docs" / "examples"))
import parallel_transformer as model

STEPS = 3
SIZES = model.SIZES
ACTIVATIONS = SIZES.batch // model.DATA * SIZES.time * SIZES.width * 4  # bytes of a value between layers, on a device
SUMS = 2 * SIZES.layers  # where heads or hidden units meet


def bytes_on_a_device(whole: bool) -> int:
    """Of the parameters that are whole on every device, or of the parts of the others."""
    sizes: list[int] = []
    model.for_each_parameter(
        lambda array, cut: sizes.append((cut is None) == whole and array.nbytes // (1 if whole else model.MODEL)),
        model.initial_parameters(),
    )
    return sum(sizes)


WHOLE, CUT = bytes_on_a_device(True), bytes_on_a_device(False)
WHOLE_COUNT = 2 + 2 * SIZES.layers  # embedding, readout, and two scales a layer
COUNT = WHOLE_COUNT + len(model.CUT) * SIZES.layers
OVER_DATA = Collective("all-reduce", model.DATA, WHOLE + CUT + 4, COUNT + 1)  # gradients and the loss, in one
SUM = Collective("all-reduce", model.MODEL, ACTIVATIONS, 1)
# Values are summed forwards and gradients backwards at each of the places.
DEMANDED = Counter({SUM: 2 * SUMS, OVER_DATA: 1})


@cache
def compiled(way: str) -> Any:
    """The step of a way, compiled once for all tests, the parameters, and how it is given tokens."""
    take_step, parameters, given = model.prepared(way)
    with model.mesh_of_eight():
        return take_step.lower(parameters, given(model.batches(1)[0])).compile(), parameters, given


def losses_by(way: str) -> list[float]:
    take_step, parameters, given = compiled(way)
    found = []
    for tokens in model.batches(STEPS):
        parameters, value = take_step(parameters, given(tokens))
        found.append(float(np.ravel(value)[0]))
    return found


def found(way: str) -> Counter[Collective]:
    return Counter(collectives(compiled(way)[0].as_text()))


def test_losses_are_those_of_one_device() -> None:
    expected = losses_by("one device")
    assert expected[-1] < expected[0] - 1
    for way in model.WAYS:
        np.testing.assert_allclose(losses_by(way), expected, rtol=2e-5, err_msg=way)
    # A call finds the compiled program itself, and moves what it is given.
    np.testing.assert_allclose(model.losses_by("one device", STEPS), expected, rtol=1e-6)


@pytest.mark.skipif(ON_XLA, reason="compiles for long; check_meshes.py has both with XLA")
@pytest.mark.parametrize("lowering", ["manual", "replicated"])
def test_losses_by_the_other_lowerings_of_xmap(lowering: str) -> None:
    with spmd_lowering(lowering != "replicated"), manual_lowering(lowering == "manual"):
        np.testing.assert_allclose(model.losses_by("xmap", STEPS), losses_by("one device"), rtol=2e-5)


@pytest.mark.skipif(not ON_XLA, reason="counted in HLO")
@pytest.mark.parametrize("way", ["jit", "shard_map", "pmap"])
def test_collectives_are_those_that_theory_demands(way: str) -> None:
    assert found(way) == DEMANDED


@pytest.mark.skipif(not ON_XLA, reason="counted in HLO")
def test_collectives_of_named_axes_are_one_fewer() -> None:
    # Gradients are summed where they meet a sum of the forward pass again. Those of the first layer meet none: they are
    # summed at the end, as gradients of the parameters before, which are less than activations.
    embedding, scales = SIZES.vocabulary * SIZES.width * 4, 2 * SIZES.layers * SIZES.width * 4
    at_the_end = Collective("all-reduce", model.MODEL, embedding + scales, WHOLE_COUNT - 1)
    assert at_the_end.bytes < ACTIVATIONS
    assert found("xmap") == Counter({SUM: 2 * SUMS - 1, OVER_DATA: 1, at_the_end: 1})


def test_reading_groups_and_bytes() -> None:
    lines = """
      %a = (f32[2,3]{1,0}, /*index=1*/s32[]) all-reduce(%x, %y), channel_id=1, replica_groups=[2,4]<=[8], to_apply=%add
      %b = f32[8]{0} all-gather(%x), replica_groups=mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}, dimensions={0}
      %c = f32[2]{0} all-reduce-start(%x), replica_groups={{0,3},{1,2}}, to_apply=%add
      %d = f32[2]{0} all-reduce-done(%c)
    """
    assert collectives(lines) == [
        Collective("all-reduce", 4, 28, 2),
        Collective("all-gather", 2, 32, 1),
        Collective("all-reduce", 2, 8, 1),
    ]
    with pytest.raises(ValueError, match="no replica groups"):
        collectives("%a = f32[2]{0} all-reduce(%x), to_apply=%add")
