"""Which process this is among others, where the scheduler of a cluster has set it: in the environment, or by MPI."""

from __future__ import annotations

import importlib
import os
import re
import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tangrad._distributed.rendezvous import Address, port_of
from tangrad.core import composition

DETECTORS_GROUP = "tangrad.cluster_detectors"
DEACTIVATED = "deactivate"


class Cluster(NamedTuple):
    """What is known of the processes that compute together; None for what is not.

    Attributes:
        coordinator_address: `host:port` of process 0, which the others reach.
        num_processes: how many there are.
        process_id: the number of this one, from 0.
        local_device_ids: which accelerators of its machine it takes; None for all that it sees.
    """

    coordinator_address: str | None = None
    num_processes: int | None = None
    process_id: int | None = None
    local_device_ids: tuple[int, ...] | None = None


class ClusterDetector:
    """How processes of one kind of cluster find out who they are.

    Args:
        detect: from the environment variables to a `Cluster`, or None for a process that was not started by such a
            cluster.
        priority: of several kinds that say who this process is, the highest is believed.
        automatic: whether it is asked without being named.

    >>> from tangrad.distributed import Cluster, ClusterDetector
    >>> def detect(environ):
    ...     if "GRID_RANK" in environ:
    ...         return Cluster(environ["GRID_HEAD"] + ":4000", int(environ["GRID_SIZE"]), int(environ["GRID_RANK"]))
    >>> grid = ClusterDetector(detect)
    >>> grid.detect({"GRID_RANK": "1", "GRID_SIZE": "8", "GRID_HEAD": "node0"}).coordinator_address
    'node0:4000'
    """

    def __init__(
        self, detect: Callable[[Mapping[str, str]], Cluster | None], *, priority: int = 0, automatic: bool = True
    ) -> None:
        self.detect = detect
        self.priority = priority
        self.automatic = automatic


def _check(plugin: object, loaded: object) -> None:
    if not isinstance(loaded, ClusterDetector):
        raise TypeError(
            f"expected a tangrad.distributed.ClusterDetector, got {loaded!r} of type {type(loaded).__name__}"
        )


composition().set_check(DETECTORS_GROUP, _check)


def detect(method: str | None, environ: Mapping[str, str] = os.environ) -> tuple[str, Cluster]:
    """The name of the kind of cluster that this process belongs to, and what it sets; ("", nothing) for none.

    Args:
        method: the kind that the user names; "deactivate" for none; None for whichever knows this process.

    Raises ValueError for a kind that is not installed, or that did not start this process.
    """
    if method == DEACTIVATED:
        return "", Cluster()
    if method is not None:
        found = _named(method).detect(environ)
        if found is None:
            raise ValueError(
                f"cluster_detection_method={method!r}: nothing in the environment of this process shows that it was "
                f"started so; state coordinator_address, num_processes and process_id"
            )
        return method, found
    asked = [(name, _named(name)) for name in sorted(composition().names(DETECTORS_GROUP))]
    for name, detector in sorted(asked, key=lambda pair: -pair[1].priority):
        found = detector.detect(environ) if detector.automatic else None
        if found is not None:
            return name, found
    return "", Cluster()


def _named(name: str) -> ClusterDetector:
    plugin = composition().find(DETECTORS_GROUP, name)
    if plugin is None:
        known = ", ".join([repr(known) for known in sorted(composition().names(DETECTORS_GROUP))])
        raise ValueError(
            f"cluster_detection_method must be one of {known}, {DEACTIVATED!r} or None, got {name!r}; others are entry "
            f"points of the group {DETECTORS_GROUP!r}"
        )
    return plugin.load()


# --- Slurm: each task of a step that `srun` started is a process ----------------------------------------------------


def first_host(nodes: str) -> str:
    """The first host of a list as Slurm writes it.

    >>> first_host("gpu[007-009,012],cpu1"), first_host("rack[2-3]-n[01,04]"), first_host("a,b")
    ('gpu007', 'rack2-n01', 'a')
    """
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])+", nodes)
    return re.sub(r"\[([^\],-]+)[^\]]*\]", r"\1", first.group()) if first else nodes


def _detect_slurm(environ: Mapping[str, str]) -> Cluster | None:
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


slurm = ClusterDetector(_detect_slurm, priority=10)


# --- Open MPI: each process that `mpirun` or `mpiexec` started, without any call of MPI -----------------------------


def _detect_open_mpi(environ: Mapping[str, str]) -> Cluster | None:
    if "OMPI_COMM_WORLD_RANK" not in environ:
        return None
    count = int(environ["OMPI_COMM_WORLD_SIZE"])
    local_count = int(environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", count))
    local = environ.get("OMPI_COMM_WORLD_LOCAL_RANK")
    accelerators = (int(local),) if local is not None and local_count > 1 else None
    host = "127.0.0.1" if local_count == count else _host_of_mpirun(environ)
    address = None if host is None else str(Address(host, port_of(_job(environ))))
    return Cluster(address, count, int(environ["OMPI_COMM_WORLD_RANK"]), accelerators)


def _job(environ: Mapping[str, str]) -> str:
    """What all processes of a job have in common."""
    names = ("OMPI_MCA_orte_hnp_uri", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")
    return next((environ[name] for name in names if name in environ), "")


def _host_of_mpirun(environ: Mapping[str, str]) -> str | None:
    """The machine where `mpirun` runs, and the first processes with it; up to Open MPI 4 every process gets it.

    Such as "2118123520.0;tcp://10.0.0.7,192.168.1.7:43211".
    """
    found = re.search(r"tcp://([^,:;]+)", environ.get("OMPI_MCA_orte_hnp_uri", ""))
    return found.group(1) if found else None


# Within an allocation of Slurm, `mpirun` starts its processes in other numbers than Slurm's tasks.
open_mpi = ClusterDetector(_detect_open_mpi, priority=20)


# --- Kubernetes: pods of Kubeflow's JAXJob, and of indexed Jobs with a headless service -----------------------------
# A pod of a JAXJob has all in COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES and PROCESS_ID. One of an indexed
# Job has its number in JOB_COMPLETION_INDEX, and its host name is that of the job and the number, such as "train-3":
# so "train-0" is process 0. How many pods there are is not available.


PORT = 8476


def detect_kubernetes(environ: Mapping[str, str], full_name: Callable[[], str] = socket.getfqdn) -> Cluster | None:
    """What a pod's environment sets. `full_name`: of this host."""
    if "KUBERNETES_SERVICE_HOST" not in environ:
        return None
    number = environ.get("PROCESS_ID", environ.get("JOB_COMPLETION_INDEX"))
    if number is None:
        return None
    count = environ.get("NUM_PROCESSES")
    port = int(environ.get("COORDINATOR_PORT", PORT))
    host = environ.get("COORDINATOR_ADDRESS") or _first_pod(environ.get("HOSTNAME", ""), number, full_name())
    address = None if host is None else str(Address(host, port))
    return Cluster(address, None if count is None else int(count), int(number))


def _first_pod(host: str, number: str, full_name: str) -> str | None:
    """The name by which the pod with the number 0 is found."""
    job, dash, own_number = host.rpartition("-")
    if not dash or own_number != number:
        return None
    _, _, domain = full_name.partition(".")
    return f"{job}-0.{domain}" if domain else f"{job}-0"


kubernetes = ClusterDetector(detect_kubernetes)


# --- mpi4py: the processes of MPI.COMM_WORLD, of any MPI. To be asked for by name, as it starts MPI -----------------


def _detect_mpi4py(environ: Mapping[str, str]) -> Cluster | None:
    try:
        mpi = importlib.import_module("mpi4py.MPI")
    except ImportError as error:
        raise ValueError(
            f"cluster_detection_method='mpi4py' asks MPI who this process is, by mpi4py, which cannot be imported: "
            f"{error}"
        ) from error
    world = mpi.COMM_WORLD
    address = str(Address(socket.gethostname(), _free_port())) if world.Get_rank() == 0 else None
    address = world.bcast(address, root=0)
    neighbours = world.Split_type(mpi.COMM_TYPE_SHARED)
    accelerators = (neighbours.Get_rank(),) if neighbours.Get_size() > 1 else None
    return Cluster(address, world.Get_size(), world.Get_rank(), accelerators)


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("", 0))
        return int(trial.getsockname()[1])


mpi4py = ClusterDetector(_detect_mpi4py, automatic=False)
