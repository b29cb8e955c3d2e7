"""Saved programs against onnxruntime on the network for digits, and against the import of JAX: processes, A B A B.

    python -m tests.benchmarks.deployment --runtime-python P --onnx-python Q

P is the Python of an environment with `tangrad-runtime` alone, Q that of one with `onnx` and `onnxruntime`; the Python
that runs this has everything else, JAX included. Both sides use as many threads as `OPENBLAS_NUM_THREADS` says, or one:
where others use the machine too, threads that wait for one another measure the others. Printed are the bytes of the
wheels beside NumPy, the time of a fresh process up to its first result, and the time of a call afterwards, each as the
median of the rounds' ratios.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BATCHES = (1, 32, 256)
CHANNELS, HIDDEN, CLASSES = (16, 32), 64, 10
THREADS = os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of both sides
LIMITS = {"cold start / import jax": 0.3, "cold start / onnxruntime": 1.2, "call / onnxruntime": 2.0}

# What the other side runs, in environments that do not have this repository.
MAKE_ONNX = """
import sys
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper
folder, batch = sys.argv[1], int(sys.argv[2])
weights = dict(numpy.load(folder + "/weights.npz"))
node = helper.make_node
nodes, x = [], "images"
for layer in ("conv1", "conv2"):
    nodes += [
        node("Conv", [x, layer + ".w", layer + ".b"], [layer], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", [layer], [layer + ".relu"]),
        node("MaxPool", [layer + ".relu"], [layer + ".pool"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    x = layer + ".pool"
nodes += [
    node("Flatten", [x], ["flat"]),
    node("Gemm", ["flat", "hidden.w", "hidden.b"], ["hidden"]),
    node("Relu", ["hidden"], ["hidden.relu"]),
    node("Gemm", ["hidden.relu", "out.w", "out.b"], ["scores"]),
]
value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
graph = helper.make_graph(nodes, "digits", [value("images", [batch, 1, 8, 8])], [value("scores", [batch, 10])], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, f"{folder}/{batch}.onnx")
"""
FIRST = {
    "runtime": "from tangrad.runtime import load\nrun = load(path + '.tgr')",
    "onnx": "import onnxruntime, os\noptions = onnxruntime.SessionOptions()\n"
    "options.intra_op_num_threads = int(os.environ['OPENBLAS_NUM_THREADS'])\n"
    "session = onnxruntime.InferenceSession(path + '.onnx', options)\n"
    "run = lambda images: session.run(None, {'images': images})[0]",
}
CALLS = """
import sys, time, json
import numpy
path, images = sys.argv[1], numpy.load(sys.argv[2])
{first}
scores = run(images)
if len(sys.argv) > 3:
    numpy.save(sys.argv[3], scores)
    best = []
    for _ in range(7):
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < 0.15:
            run(images)
            count += 1
        best.append((time.perf_counter() - start) / count)
    print(json.dumps(min(best)))
"""


def weights() -> dict[str, np.ndarray]:
    """Parameters of the network of `docs/examples/train_digits.py`; numbers do not matter to the time."""
    draw = np.random.default_rng(0).normal
    first, second = CHANNELS
    shapes = {
        "conv1.w": (first, 1, 3, 3),
        "conv1.b": (first,),
        "conv2.w": (second, first, 3, 3),
        "conv2.b": (second,),
        "hidden.w": (second * 4, HIDDEN),
        "hidden.b": (HIDDEN,),
        "out.w": (HIDDEN, CLASSES),
        "out.b": (CLASSES,),
    }
    return {name: (draw(size=shape) / 8).astype("float32") for name, shape in shapes.items()}


def scores_of(w: dict[str, np.ndarray]):
    """The network as a function of images (n, 1, 8, 8)."""
    import tangrad.lax as lax
    import tangrad.nn as nn
    import tangrad.numpy as tnp

    def scores(images):
        x = images
        for layer in ("conv1", "conv2"):
            x = lax.conv_general_dilated(x, w[f"{layer}.w"], (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
            x = nn.relu(x + w[f"{layer}.b"][:, None, None])
            x = lax.reduce_window(x, -tnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        x = nn.relu(x.reshape(x.shape[0], -1) @ w["hidden.w"] + w["hidden.b"])
        return x @ w["out.w"] + w["out.b"]

    return scores


def prepare(folder: Path, onnx_python: str) -> None:
    """The files of both sides, one of each for each batch size, and the images."""
    from tangrad import runtime

    parameters = weights()
    np.savez(folder / "weights.npz", **parameters)
    for batch in BATCHES:
        images = np.random.default_rng(batch).uniform(size=(batch, 1, 8, 8)).astype("float32")
        np.save(folder / f"{batch}.npy", images)
        runtime.save(scores_of(parameters), folder / f"{batch}.tgr", images)
        subprocess.run([onnx_python, "-c", MAKE_ONNX, str(folder), str(batch)], check=True)


def spawn(python: str, code: str, *arguments: object) -> tuple[float, str]:
    """Seconds that a fresh process takes, and what it printed."""
    clean = {"OPENBLAS_NUM_THREADS": THREADS} | {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TANGRAD"))
    }
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-c", code, *map(str, arguments)], check=True, capture_output=True, text=True, env=clean, cwd="/"
    )
    return time.perf_counter() - start, done.stdout


def size_beside_numpy(python: str) -> int:
    """Bytes of the files of all installed distributions but NumPy's and the installers', as wheels would pack them."""
    code = """
import io, os, zipfile
from importlib import metadata
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
    for part in metadata.distributions():
        if part.metadata["Name"] not in ("numpy", "pip", "setuptools"):
            for file in part.files or ():
                path = part.locate_file(file)
                if os.path.isfile(path) and not str(path).endswith(".pyc"):
                    archive.write(path, str(file))
print(len(packed.getvalue()))
"""
    return int(spawn(python, code)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime-python", required=True)
    parser.add_argument("--onnx-python", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    sides = {"runtime": options.runtime_python, "onnx": options.onnx_python}
    code = {side: CALLS.format(first=FIRST[side]) for side in sides}
    print(f"wheels beside NumPy: {size_beside_numpy(options.runtime_python) / 1e6:.2f} MB (limit 1.5)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, options.onnx_python)
        one = [folder / "1", folder / "1.npy"]
        starts: dict[str, list[float]] = {"runtime": [], "onnx": [], "jax": []}
        for _ in range(options.rounds + 1):
            for side, python in sides.items():
                starts[side].append(spawn(python, code[side], *one)[0])
            starts["jax"].append(spawn(sys.executable, "import jax")[0])
        starts = {side: seconds[1:] for side, seconds in starts.items()}  # the first one fills the disk's cache
        report("cold start / import jax", starts["runtime"], starts["jax"])
        report("cold start / onnxruntime", starts["runtime"], starts["onnx"])
        for batch in BATCHES:
            calls: dict[str, list[float]] = {side: [] for side in sides}
            for _ in range(options.rounds // 2 + 1):
                for side, python in sides.items():
                    out = folder / f"{side}.npy"
                    _, printed = spawn(python, code[side], folder / str(batch), folder / f"{batch}.npy", out)
                    calls[side].append(json.loads(printed))
            ours, theirs = np.load(folder / "runtime.npy"), np.load(folder / "onnx.npy")
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
            report("call / onnxruntime", calls["runtime"], calls["onnx"], f", {batch} images")


def report(row: str, ours: list[float], theirs: list[float], note: str = "") -> None:
    """Print the median ratio, its limit, and the medians."""
    ratio = statistics.median([mine / other for mine, other in zip(ours, theirs, strict=True)])
    verdict = "ok" if ratio <= LIMITS[row] else "MISSED"
    times = f"{statistics.median(ours) * 1e3:.3f} against {statistics.median(theirs) * 1e3:.3f} ms"
    print(f"{row}{note}: {ratio:.2f} (limit {LIMITS[row]}) {verdict}; {times}")


if __name__ == "__main__":
    main()
