"""Who a process is, from the environment that schedulers set; and initialising on a backend of one process."""

import sys
import types
from typing import Any

import pytest

import tangrad
from tangrad._distributed.clusters import DETECTORS_GROUP, detect, detect_kubernetes, first_host
from tangrad._distributed.membership import _complete
from tangrad._distributed.rendezvous import port_of
from tangrad.core import composition
from tangrad.distributed import Cluster, ClusterDetector
from tangrad.errors import BackendError

SLURM = {
    "SLURM_JOB_ID": "1234",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "gpu[003-004]",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
}
BATCH_SCRIPT = {name: value for name, value in SLURM.items() if "STEP" not in name}
HEAD = "2118123520.0;tcp://10.0.0.7,192.168.1.7:43211"
OPEN_MPI = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
}
ONE_MACHINE = OPEN_MPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "4", "PMIX_NAMESPACE": "prterun-host-7@1"}
POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "HOSTNAME": "train-3", "JOB_COMPLETION_INDEX": "3"}
JAX_JOB = {
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "COORDINATOR_ADDRESS": "train-worker-0",
    "COORDINATOR_PORT": "6666",
    "NUM_PROCESSES": "3",
    "PROCESS_ID": "1",
}
SLURM_PORT = port_of("1234.0")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ("", Cluster())),
        (SLURM, ("slurm", Cluster(f"gpu003:{SLURM_PORT}", 4, 3, (1,)))),
        (SLURM | {"SLURM_STEP_NUM_NODES": "4"}, ("slurm", Cluster(f"gpu003:{SLURM_PORT}", 4, 3, None))),
        (SLURM | {"CUDA_VISIBLE_DEVICES": "0"}, ("slurm", Cluster(f"gpu003:{SLURM_PORT}", 4, 3, None))),
        (BATCH_SCRIPT, ("", Cluster())),
        (
            OPEN_MPI | {"OMPI_MCA_orte_hnp_uri": HEAD},
            ("open_mpi", Cluster(f"10.0.0.7:{port_of(HEAD)}", 4, 2, (0,))),
        ),
        (ONE_MACHINE, ("open_mpi", Cluster(f"127.0.0.1:{port_of('prterun-host-7@1')}", 4, 2, (0,)))),
        (OPEN_MPI, ("open_mpi", Cluster(None, 4, 2, (0,)))),  # Open MPI 5 does not say where mpirun is
        (SLURM | ONE_MACHINE, ("open_mpi", Cluster(f"127.0.0.1:{port_of('prterun-host-7@1')}", 4, 2, (0,)))),
        (JAX_JOB, ("kubernetes", Cluster("train-worker-0:6666", 3, 1))),
        ({"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, ("", Cluster())),
    ],
)
def test_schedulers(environ: dict[str, str], expected: tuple[str, Cluster]) -> None:
    assert detect(None, environ) == expected
    assert detect("deactivate", environ) == ("", Cluster())


def test_pods_of_an_indexed_job() -> None:
    name = "train-3.workers.default.svc.cluster.local"
    found = detect_kubernetes(POD, lambda: name)
    assert found == Cluster("train-0.workers.default.svc.cluster.local:8476", None, 3)
    assert detect_kubernetes(POD | {"HOSTNAME": "other"}, lambda: name) == Cluster(None, None, 3)


def test_lists_of_hosts() -> None:
    for text, first in {
        "a": "a", "a,b": "a", "n[1-3]": "n1", "n[07,09]": "n07", "n[1-2]-x,m": "n1-x", "r[1-2]n[3,4],q[1]": "r1n3",
    }.items():  # fmt: skip
        assert first_host(text) == first


class _World:
    """What is used of mpi4py's COMM_WORLD, where three processes are on two machines."""

    def __init__(self, rank: int, size: int, sent: list[Any]) -> None:
        self._rank, self._size, self._sent = rank, size, sent

    def Get_rank(self) -> int:
        return self._rank

    def Get_size(self) -> int:
        return self._size

    def bcast(self, value: Any, root: int) -> Any:
        if self._rank == root:
            self._sent.append(value)
        return self._sent[0]

    def Split_type(self, kind: str) -> "_World":
        assert kind == "shared memory"
        return _World(self._rank % 2, 1 if self._rank == 2 else 2, self._sent)


def test_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    found = []
    for rank in range(3):
        module = types.ModuleType("mpi4py.MPI")
        module.COMM_WORLD, module.COMM_TYPE_SHARED = _World(rank, 3, sent), "shared memory"  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "mpi4py", types.ModuleType("mpi4py"))
        monkeypatch.setitem(sys.modules, "mpi4py.MPI", module)
        found.append(detect("mpi4py", {})[1])
        assert detect(None, {}) == ("", Cluster()), "it has to be asked for"
    assert [cluster[1:] for cluster in found] == [(3, 0, (0,)), (3, 1, (1,)), (3, 2, None)]
    assert {cluster.coordinator_address for cluster in found} == {sent[0]} and ":" in sent[0]
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.delitem(sys.modules, "mpi4py.MPI")
    with pytest.raises(ValueError, match="which cannot be imported"):
        detect("mpi4py", {})


def test_what_is_stated_goes_before_what_is_found() -> None:
    named = {"TANGRAD_COORDINATOR_ADDRESS": "head:1", "TANGRAD_NUM_PROCESSES": "6", "TANGRAD_PROCESS_ID": "5"}
    assert _complete(Cluster(), None, SLURM | named) == Cluster("head:1", 6, 5, None)
    assert _complete(Cluster("here:1", 7), None, named) == Cluster("here:1", 7, 5)
    assert _complete(Cluster("here:1"), None, SLURM) == Cluster("here:1", 4, 3, (1,))
    assert _complete(Cluster(num_processes=4), None, POD)[1:3] == (4, 3)
    assert _complete(Cluster(None, 1, 0), None, {}) == Cluster(None, 1, 0)
    for environ, words in [
        (
            OPEN_MPI,
            "coordinator_address is not stated, TANGRAD_COORDINATOR_ADDRESS is not set, and open_mpi does not say",
        ),
        (POD, "num_processes is not stated, TANGRAD_NUM_PROCESSES is not set, and kubernetes does not say it"),
        ({"TANGRAD_NUM_PROCESSES": "two"}, "TANGRAD_NUM_PROCESSES must be a number, got 'two'"),
    ]:
        with pytest.raises(ValueError, match=words):
            _complete(Cluster(), None, environ)


def test_another_kind_of_cluster_is_an_entry_point() -> None:
    grid = ClusterDetector(lambda environ: Cluster("head:1", 2, int(environ["GRID"])) if "GRID" in environ else None)
    with composition().register(grid, group=DETECTORS_GROUP, name="grid"):
        assert detect(None, {"GRID": "1"}) == detect("grid", {"GRID": "1"}) == ("grid", Cluster("head:1", 2, 1))
    with pytest.raises(TypeError, match=r"expected a tangrad\.distributed\.ClusterDetector, got <built-in"):
        composition().register(print, group=DETECTORS_GROUP, name="grid")


def test_the_numpy_backend_computes_in_one_process() -> None:
    with tangrad.use_backend("numpy"):
        with pytest.raises(BackendError, match=r"'numpy' computes in one process.*TANGRAD_NUM_CPU_DEVICES"):
            tangrad.distributed.initialize("localhost:1234", 2, 0)
        assert not tangrad.distributed.is_initialized()
        tangrad.distributed.initialize("localhost:1234", 1, 0)  # the same program, tried out
        try:
            assert (tangrad.process_index(), tangrad.process_count()) == (0, 1)
            with pytest.raises(RuntimeError, match="was called before"):
                tangrad.distributed.initialize("localhost:1234", 1, 0)
        finally:
            tangrad.distributed.shutdown()
        assert not tangrad.distributed.is_initialized()
