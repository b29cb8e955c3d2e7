"""Slurm: each task of a step that `srun` started is a process."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tangrad._distributed.addresses import Address, port_of
from tangrad._distributed.detection import Cluster, ClusterDetector


def first_host(nodes: str) -> str:
    """The first host of a list as Slurm writes it.

    >>> first_host("gpu[007-009,012],cpu1"), first_host("rack[2-3]-n[01,04]"), first_host("a,b")
    ('gpu007', 'rack2-n01', 'a')
    """
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])+", nodes)
    return re.sub(r"\[([^\],-]+)[^\]]*\]", r"\1", first.group()) if first else nodes


def _detect(environ: Mapping[str, str]) -> Cluster | None:
    # Outside of steps, as in a batch script, a task number may be there, but no others were started.
    if "SLURM_STEP_NODELIST" not in environ or "SLURM_PROCID" not in environ:
        return None
    count = int(environ.get("SLURM_STEP_NUM_TASKS") or environ["SLURM_NTASKS"])
    job = f"{environ.get('SLURM_JOB_ID')}.{environ.get('SLURM_STEP_ID')}"
    address = Address(first_host(environ["SLURM_STEP_NODELIST"]), port_of(job))
    return Cluster(str(address), count, int(environ["SLURM_PROCID"]), _accelerators(environ, count))


def _accelerators(environ: Mapping[str, str], count: int) -> tuple[int, ...] | None:
    """One for each task, where several share a machine and see all of its accelerators."""
    alone = int(environ.get("SLURM_STEP_NUM_NODES", 1)) == count
    bound = environ.get("CUDA_VISIBLE_DEVICES", "")  # --gpus-per-task shows each task its own
    if alone or "SLURM_LOCALID" not in environ or (bound and "," not in bound):
        return None
    return (int(environ["SLURM_LOCALID"]),)


slurm = ClusterDetector(_detect, priority=10)
