"""Train a small transformer on 8 devices, 2 for the data times 4 for the model, in four ways that give the same losses.

The model is written once. Attention heads and hidden units are sharded over the mesh axis `model`, examples over
`data`:

    jit         the compiler gets the shardings of arrays, and infers the rest
    shard_map   each device runs its part of the model; two sums over `model` a layer forward, and two backward
    pmap        the same over a row of 8 devices, whose groups of 4 and of 2 stand for the axes
    xmap        the axes have names in the program; where they are computed is stated outside

    TANGRAD_NUM_CPU_DEVICES=8 python docs/examples/parallel_transformer.py
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import NamedTuple

import numpy as onp

import tangrad
import tangrad.lax as lax
import tangrad.nn as nn
import tangrad.numpy as np
from tangrad.sharding import AxisType, NamedSharding
from tangrad.sharding import PartitionSpec as P

DATA, MODEL = 2, 4  # the mesh
RATE = 0.3


class Sizes(NamedTuple):
    """Of the model, and of what it learns from."""

    vocabulary: int = 16
    width: int = 8
    heads: int = 4
    hidden: int = 32
    layers: int = 2
    batch: int = 8
    time: int = 6


SIZES = Sizes()

# Which dimension of a parameter of a layer is cut along `model`; the others are whole on every device.
CUT = {"projections": 2, "out": 0, "wide": 1, "wide_bias": 0, "narrow": 0}


def initial_parameters(sizes: Sizes = SIZES) -> dict:
    """Random parameters: of an embedding, of layers of attention and of a pair of dense layers, of a linear readout."""
    draw = onp.random.default_rng(0)
    width, heads, hidden = sizes.width, sizes.heads, sizes.hidden

    def normal(*shape):
        return (draw.normal(size=shape) / onp.sqrt(width)).astype(onp.float32)

    def layer():
        attending = {
            "projections": normal(3, width, heads, width // heads),
            "out": normal(heads, width // heads, width),
        }
        dense = {"wide": normal(width, hidden), "wide_bias": normal(hidden), "narrow": normal(hidden, width) / 2}
        return {**attending, **dense, **{name: onp.ones(width, onp.float32) for name in ("scale1", "scale2")}}

    borders = {"embedding": normal(sizes.vocabulary, width), "readout": normal(width, sizes.vocabulary)}
    return {**borders, "layers": [layer() for _ in range(sizes.layers)]}


def batches(steps: int, sizes: Sizes = SIZES) -> list:
    """Tokens (batch, time + 1) that count upwards from random starts, modulo the vocabulary."""
    starts = onp.random.default_rng(1).integers(0, sizes.vocabulary, (steps, sizes.batch, 1))
    return list(((starts + onp.arange(sizes.time + 1)) % sizes.vocabulary).astype(onp.int32))


# --- the model, once ------------------------------------------------------------------------------------------------


def same(x):
    """What to do at a border where nothing needs doing."""
    return x


def normalised(x, scale):
    """`x` of mean 0 and variance 1 along its last dimension, scaled."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred * lax.rsqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5) * scale


def attention(p, x):
    """Causal attention of `x` (..., time, width), by the heads that `p` has: a sum over heads."""
    query, key, value = np.einsum("...td,ndhk->n...htk", x, p["projections"])
    scores = np.einsum("...htk,...hsk->...hts", query, key) / key.shape[-1] ** 0.5
    time = np.arange(x.shape[-2])
    weights = nn.softmax(np.where(time[:, None] >= time, scores, -1e9), axis=-1)
    return np.einsum("...hts,...hsk,hkd->...td", weights, value, p["out"])


def dense(p, x):
    """Two dense layers, by the hidden units that `p` has: a sum over hidden units."""
    return nn.gelu(x @ p["wide"] + p["wide_bias"]) @ p["narrow"]


def loss(parameters, tokens, enter=same, leave=same):
    """Mean cross-entropy of the next token, of `tokens` (..., time + 1).

    `enter` is applied to what heads and hidden units read, `leave` to what they add up to: where each device has
    some of them only, these are the places to sum, the first of gradients, the second of values.
    """
    x = parameters["embedding"][tokens[..., :-1]]
    for p in parameters["layers"]:
        x = x + leave(attention(p, enter(normalised(x, p["scale1"]))))
        x = x + leave(dense(p, enter(normalised(x, p["scale2"]))))
    scores = nn.log_softmax(x @ parameters["readout"], axis=-1)
    return -np.mean(np.sum(scores * nn.one_hot(tokens[..., 1:], scores.shape[-1]), axis=-1))


def updated(parameters, gradients):
    """A step of gradient descent."""
    return tangrad.tree.map(lambda p, g: p - RATE * g, parameters, gradients)


def step(parameters, tokens):
    """The new parameters, and the loss before the step: on one device, or partitioned by the compiler."""
    value, gradients = tangrad.value_and_grad(loss)(parameters, tokens)
    return updated(parameters, gradients), value


def step_of_one_device(parameters, tokens, sum_over_model, mean_over_data):
    """The same by a device that has its part of the model and of the examples."""

    @tangrad.custom_vjp
    def enter(x):
        return x

    @tangrad.custom_vjp
    def leave(x):
        return sum_over_model(x)

    # Values are summed where heads and hidden units meet, gradients where they parted (Shoeybi et al., 2019).
    enter.defvjp(lambda x: (x, None), lambda _, gradient: (sum_over_model(gradient),))
    leave.defvjp(lambda x: (sum_over_model(x), None), lambda _, gradient: (gradient,))
    value, gradients = tangrad.value_and_grad(partial(loss, enter=enter, leave=leave))(parameters, tokens)
    return updated(parameters, mean_over_data(gradients)), mean_over_data(value)


# --- shardings of parameters ----------------------------------------------------------------------------------------


def for_each_parameter(function, parameters) -> dict:
    """`function(array, dimension that is cut, or None)` of each parameter, as a tree."""
    layers = [{name: function(array, CUT.get(name)) for name, array in p.items()} for p in parameters["layers"]]
    return {**{name: function(parameters[name], None) for name in ("embedding", "readout")}, "layers": layers}


def spec(array, cut):
    """The partition spec of a parameter on the mesh."""
    return P() if cut is None else P(*[None] * cut, "model")


def with_parts(array, cut):
    """The parameter with a dimension for its parts, before the one that is cut."""
    if cut is None:
        return array
    shape = array.shape
    return np.reshape(array, (*shape[:cut], MODEL, shape[cut] // MODEL, *shape[cut + 1 :]))


def on_eight(array, cut):
    """What each of 8 devices in a row has of a parameter, (8, ...): its part along the model, copied along the data."""
    parts = np.stack([array] * MODEL) if cut is None else np.moveaxis(with_parts(array, cut), cut, 0)
    return np.tile(parts, (DATA, *[1] * (parts.ndim - 1)))


# --- four ways to run it --------------------------------------------------------------------------------------------


def mesh_of_eight():
    """The mesh, with axes `data` and `model`, along which the compiler may shard what is in between."""
    return tangrad.make_mesh((DATA, MODEL), ("data", "model"), (AxisType.Auto, AxisType.Auto))


def step_by_jit(mesh, parameters):
    """The step that the compiler partitions by the shardings of its arguments, and the shardings of the parameters."""
    shardings = for_each_parameter(lambda array, cut: NamedSharding(mesh, spec(array, cut)), parameters)
    examples, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    return tangrad.jit(step, in_shardings=(shardings, examples), out_shardings=(shardings, everywhere)), shardings


def step_by_shard_map(mesh, parameters):
    """The step of which each device runs its part, with sums along mesh axes; the parameters' shardings."""
    specs = for_each_parameter(spec, parameters)
    of_part = partial(
        step_of_one_device,
        sum_over_model=lambda x: lax.psum(x, "model"),
        mean_over_data=lambda x: lax.pmean(x, "data"),
    )
    mapped = tangrad.shard_map(of_part, mesh=mesh, in_specs=(specs, P("data")), out_specs=(specs, P()), check_vma=False)
    return tangrad.jit(mapped), tangrad.tree.map(lambda one: NamedSharding(mesh, one), specs)


def step_by_pmap():
    """The same over a row of 8 devices, of which device `4 * data + model` stands for a place of the mesh."""
    grid = onp.arange(DATA * MODEL).reshape(DATA, MODEL)
    rows, columns = grid.tolist(), grid.T.tolist()
    of_part = partial(
        step_of_one_device,
        sum_over_model=lambda x: lax.psum(x, "device", axis_index_groups=rows),
        mean_over_data=lambda x: lax.pmean(x, "device", axis_index_groups=columns),
    )
    return tangrad.pmap(of_part, axis_name="device")


def step_by_xmap(parameters):
    """Parts of the model and examples are named axes, sharded over the mesh that the step is called within."""
    parts = for_each_parameter(lambda array, cut: {} if cut is None else {cut: "parts"}, parameters)
    losses = tangrad.xmap(
        partial(loss, leave=lambda x: lax.psum(x, "parts")),
        in_axes=(parts, {0: "examples"}),
        out_axes={0: "examples"},
        axis_resources={"parts": "model", "examples": "data"},
    )

    def named_step(p, tokens):
        value, gradients = tangrad.value_and_grad(lambda p: np.mean(losses(p, tokens)))(p)
        return updated(p, gradients), value

    return tangrad.jit(named_step)


def prepared(way: str):
    """(step, parameters, how the tokens of a step are given to it), to be called within the mesh."""
    parameters, mesh = initial_parameters(), mesh_of_eight()

    def for_devices(tokens):
        rows = tokens.reshape(DATA, -1, tokens.shape[-1])
        return np.repeat(rows, MODEL, axis=0)

    match way:
        case "one device":
            return tangrad.jit(step), parameters, same
        case "jit" | "shard_map":
            sharded_step, shardings = (step_by_jit if way == "jit" else step_by_shard_map)(mesh, parameters)
            return sharded_step, tangrad.device_put(parameters, shardings), same
        case "pmap":
            return step_by_pmap(), for_each_parameter(on_eight, parameters), for_devices
        case "xmap":
            return step_by_xmap(parameters), for_each_parameter(with_parts, parameters), same
    raise ValueError(f"no way is called {way!r}; there are {', '.join(WAYS)}")


WAYS = ("one device", "jit", "shard_map", "pmap", "xmap")


def losses_by(way: str, steps: int) -> list[float]:
    """The loss of each step."""
    take_step, parameters, given = prepared(way)
    found = []
    with mesh_of_eight():
        for tokens in batches(steps):
            parameters, value = take_step(parameters, given(tokens))
            found.append(float(np.ravel(value)[0]))
    return found


def main() -> None:
    """Print the losses by each way, a column each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10)
    steps = parser.parse_args().steps
    columns = {way: losses_by(way, steps) for way in WAYS}
    print("step  " + "  ".join([f"{way:>10}" for way in columns]))
    for number, row in enumerate(zip(*columns.values(), strict=True), 1):
        print(f"{number:4}  " + "  ".join([f"{value:10.6f}" for value in row]))


if __name__ == "__main__":
    main()
