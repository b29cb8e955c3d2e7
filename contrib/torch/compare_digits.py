"""The demo, one unchanged file, trained on each backend: accuracies, times, and a picture of the losses.

python compare_digits.py docs/examples/train_digits.py [picture.png]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BACKENDS = ("numpy", "xla", "torch")
ROUNDS = 3  # of which the fastest counts


def train(demo: str, backend: str, folder: str) -> tuple[list[float], float, float]:
    """Losses, held-out accuracy and the seconds of training."""
    # Its matrices are small: torch's threads would wait for each other longer than they compute.
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "TANGRAD_BACKEND": backend}
    command = [sys.executable, demo, "--output", folder]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    written = json.loads((Path(folder) / f"digits-{backend}.json").read_text())
    seconds = re.search(r"steps in ([\d.]+) s", done.stdout)
    assert seconds is not None, done.stdout
    return written["losses"], written["accuracy"], float(seconds[1])


def main(demo: str, picture: str = "torch-digits.png") -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (curve, bars) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=(2, 1))
    runs: dict[str, list[tuple[list[float], float, float]]] = {backend: [] for backend in BACKENDS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for backend in BACKENDS:
                runs[backend].append(train(demo, backend, folder))
    for number, backend in enumerate(BACKENDS):
        losses, accuracy, _ = runs[backend][0]
        seconds = min([run[-1] for run in runs[backend]])
        print(f"{backend}: accuracy {accuracy:.1%}, {len(losses)} steps in {seconds:.1f} s")
        widest = len(BACKENDS) - 1 - number
        curve.semilogy(losses, linewidth=0.8 + 2 * widest, alpha=1 - 0.3 * widest, label=backend)
        bars.bar_label(bars.bar(backend, seconds), [f"{seconds:.1f} s\n{accuracy:.1%}"])
    curve.set(xlabel="step", ylabel="cross-entropy")
    curve.legend()
    bars.set(ylabel="seconds of training")
    bars.margins(y=0.25)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
