"""A deep program in a second process, with the persistent cache on: from `import` to the first step of its gradient."""

from pathlib import Path

# The Python loop over transformer layers of `deep`, written out: no import of the harness belongs to the time.
LAYERS = """import numpy
import {module} as api
import {module}.numpy as np
WIDTH, HEADS, TIME, BATCH = 64, 4, 32, 4
draw = numpy.random.default_rng(0)
def normal(*shape):
    return (draw.normal(size=shape) * 0.05).astype("float32")
def layer(p, x):
    def heads(kernel):
        return np.reshape(x @ kernel, (BATCH, TIME, HEADS, WIDTH // HEADS))
    scores = np.einsum("bihd,bjhd->bhij", heads(p["query"]), heads(p["key"])) / (WIDTH // HEADS) ** 0.5
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores = scores / scores.sum(-1, keepdims=True)
    mixed = np.reshape(np.einsum("bhij,bjhd->bihd", scores, heads(p["value"])), (BATCH, TIME, WIDTH))
    x = x + mixed @ p["out"]
    centred = x - x.mean(-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p["scale"]
    return x + np.tanh(y @ p["wide"]) @ p["narrow"]
def loss(layers, x):
    for p in layers:
        x = layer(p, x)
    return (x**2).mean()
def parameters():
    square = {{name: normal(WIDTH, WIDTH) for name in ("query", "key", "value", "out")}}
    return square | {{"scale": normal(WIDTH), "wide": normal(WIDTH, 4 * WIDTH), "narrow": normal(4 * WIDTH, WIDTH)}}
layers = [parameters() for _ in range(12)]
value, gradient = api.jit(api.value_and_grad(loss))(layers, normal(BATCH, TIME, WIDTH))
assert float(value) > 0 and numpy.asarray(gradient[0]["query"]).shape == (WIDTH, WIDTH)
"""

PROGRAMS = {"12 layers in a second process": LAYERS}


def environment(folder: Path, side: str) -> dict[str, str]:
    """Variables that have either side keep all programs on disk, each in a folder of its own."""
    place = str(folder / f"programs-{side}")
    return {
        "TANGRAD_COMPILATION_CACHE_DIR": place,
        "TANGRAD_XLA_CACHE_MIN_COMPILE_SECONDS": "0",
        "JAX_COMPILATION_CACHE_DIR": place,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
