"""Plans for more devices than there are: programs do not grow with the mesh, and devices send what the formula says."""

import xml.etree.ElementTree as ElementTree

import pytest

from tools.docs.plans import MESHES, ask, on_the_network, table
from tools.docs.plans_picture import WAYS, Plan, picture


def test_what_a_ring_sends() -> None:
    assert on_the_network(1, 100.0) == 0
    assert on_the_network(4, 100.0) == 150


def test_the_table_and_the_picture() -> None:
    plans = [
        Plan(way, 2, count // 2, 0.1, 2.0 * count, 50_000 + count, 10_000, 9, 3e5, 3e5)
        for way in WAYS
        for count in (8, 4096)
    ]
    assert table(plans).splitlines()[3].startswith("| 4,096 | 2 × 2048 | `jit` | 0.10 s | 8192.0 s | 54 kB |")
    root = ElementTree.fromstring(picture(plans))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("4096") == 3 and "Size of the program" in texts


def check_equal(small: Plan, large: Plan) -> None:
    assert small.volume == small.formula and large.volume == large.formula
    assert small.collectives == large.collectives
    # In shard_map's program are the groups of devices that talk, 8 bytes for each device, for each axis of the mesh.
    assert large.stablehlo < 1.05 * small.stablehlo + (17 * large.devices if large.way == "shard_map" else 0)


@pytest.mark.slow
def test_of_512_devices() -> None:
    check_equal(ask("jit", 2, 4), ask("jit", 32, 16))


@pytest.mark.sweep
@pytest.mark.parametrize("way", WAYS)
def test_of_every_mesh(way: str) -> None:
    first, *others = [ask(way, *mesh) for mesh in MESHES]
    for plan in others:
        check_equal(first, plan)
