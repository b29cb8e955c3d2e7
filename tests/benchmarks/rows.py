"""Every budget, as a row: the work, whose time is taken, the peers, and how much of the peer's time is allowed.

A row compares the *subject* (Tangrad on a backend) with one or more peers that do the same work in the same run. The
kinds of work: `loop` rows run a program of `programs/` inside a worker process per side; `process` rows time whole
fresh processes (`processes.py`); the geometric mean is made from the steady-state rows.
"""

from dataclasses import dataclass, replace

from .programs import deep
from .programs.common import NAMES as COMMON
from .programs.fresh_processes import SECOND_PROCESS as SECOND
from .programs.fresh_processes import SEVERAL_PROCESSES
from .programs.idioms import IDIOMS
from .programs.numerical import WORK as NUMERICAL
from .programs.peers import WORKLOADS
from .programs.steady import CONVOLUTIONS
from .sides import (
    AUTOGRAD,
    JAX,
    JAX_0_4_23,
    JAX_8,
    JAX_AGAIN,
    JAX_AGAIN_8,
    NUMPY,
    TANGRAD_NUMPY,
    TANGRAD_NUMPY_8,
    TANGRAD_XLA,
    TANGRAD_XLA_8,
    TANGRAD_XLA_WHOLE,
    TORCH,
)

BACKEND_LETTER = {
    TANGRAD_NUMPY.name: "N",
    TANGRAD_XLA.name: "X",
    TANGRAD_NUMPY_8.name: "N",
    TANGRAD_XLA_8.name: "X",
    JAX_AGAIN.name: "-",
    JAX_AGAIN_8.name: "-",
}


@dataclass(frozen=True, slots=True)
class Peer:
    """Whom a row is compared with: the side, the limit, and its program where it has one of its own."""

    side: str
    limit: float
    program: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the budgets.

    `kind` is 'loop', 'process', 'once' (a loop of one call, on the CPU clock) or 'geometric mean'; `unit` 'seconds' or
    'bytes'; `per_equation` divides by each side's own equations; `count_compilations` says beside the time how many
    programs a call compiles; `judge` says what is held against the limit: the 'ratio', the 'difference' (subject less
    peer), or the subject's own 'value'.
    """

    name: str
    subject: str
    program: str
    peers: tuple[Peer, ...]
    kind: str = "loop"
    unit: str = "seconds"
    per_equation: bool = False
    compare_hlo: bool = False
    count_compilations: bool = False
    judge: str = "ratio"

    @property
    def backend(self) -> str:
        """'N', 'X', or '-' for a peer that stands in as the subject."""
        return BACKEND_LETTER[self.subject]

    @property
    def title(self) -> str:
        """The row's name with its backend: what `--only` and `--profile` look in."""
        return f"{self.name} ({self.backend})"


N, X = TANGRAD_NUMPY.name, TANGRAD_XLA.name
(SECOND_PROCESS,) = SECOND


def _rows(names: tuple[str, ...], subjects: tuple[str, ...], limit: float, **flags: bool) -> list[Row]:
    return [Row(name, subject, name, (Peer(JAX.name, limit),), **flags) for name in names for subject in subjects]


def process_rows() -> list[Row]:
    """Work that needs a fresh process each time."""
    import_limits = (Peer(NUMPY.name, 1.6, "import"), Peer(JAX.name, 0.35, "import"))
    return [
        Row("import", N, "import", import_limits, kind="process"),
        Row("import to first array", N, "first array", import_limits, kind="process"),
        Row("import to first jitted grad", X, "first jitted grad", (Peer(JAX.name, 0.6),), kind="process"),
        Row("import to first jitted grad", N, "first jitted grad", (Peer(JAX.name, 0.35),), kind="process"),
        Row("import with 1,000 plugins", N, "plugins", (Peer(N, 5e-3, "import"),), kind="process", judge="difference"),
        Row("memory after import", N, "import", (Peer(JAX.name, 40e6),), kind="process", unit="bytes", judge="value"),
        Row("12 layers in a second process, cache on", X, SECOND_PROCESS, (Peer(JAX.name, 0.3),), kind="process"),
    ]


TRACING = tuple(
    f"trace: {program}{under}"
    for program in ("chain of lax", "chain of numpy", "transformer block")
    for under in ("", " under grad", " under vmap", " under jvp of jvp")
)
LOWERING = ("trace + StableHLO: chain of numpy", "trace + StableHLO: transformer block")
DISPATCH = ("jit dispatch: one array", "jit dispatch: dict of 20", "jit dispatch: 200 leaves")
EAGER = tuple(f"eager: {name}" for name in ("add", "sin", "sum", "x*2", "where", "reshape", "slice", "dot"))
EAGER_GRADIENTS = ("eager value_and_grad: 3 operations", "eager value_and_grad: small MLP")
MLP_SIZES = ("64x64-64-10", "128x256-256-10", "256x784-256-128-10")
STEADY = tuple(
    f"steady state: {name}"
    for name in (
        "MLP gradient",
        "conv net step",
        "transformer gradient",
        "reductions",
        "transcendental chain",
        "matmul",
        "softmax cross-entropy gradient",
        "gather and sort",
        "random normal",
        "cumulative sums",
    )
)
CONTROL_FLOW = tuple(f"control flow: {name}" for name in ("LSTM scan", "LSTM scan gradient", "while loop", "fori loop"))


def eager_gradient_rows() -> list[Row]:
    """Eager value_and_grad: on N against JAX and autograd, on X against JAX."""
    numpy_peers = (Peer(JAX.name, 0.05), Peer(AUTOGRAD.name, 0.8))
    return [
        Row(name, subject, name, peers)
        for name in EAGER_GRADIENTS
        for subject, peers in ((N, numpy_peers), (X, (Peer(JAX.name, 0.10),)))
    ]


def several_processes_rows() -> list[Row]:
    """What processes do together, in processes of their own."""
    return [Row(name, X, name, (Peer(JAX.name, 1.0),), kind="process") for name in SEVERAL_PROCESSES]


def jitted_numpy_rows() -> list[Row]:
    """Jitted MLP gradients on N against NumPy written by hand."""
    return [
        Row(f"jitted MLP gradient {size}", N, f"jitted MLP gradient {size}", (Peer(NUMPY.name, 1.15),))
        for size in MLP_SIZES
    ]


def control_flow_rows() -> list[Row]:
    """Scans and loops: on X against JAX, on N against NumPy written by hand; and the tracing of a scan's gradient."""
    return [
        *_rows(("trace: LSTM scan under grad",), (N,), 0.25),
        *_rows(CONTROL_FLOW, (X,), 1.02, compare_hlo=True),
        *[Row(name, N, name, (Peer(NUMPY.name, 1.15),)) for name in CONTROL_FLOW],
    ]


def numerical_rows() -> list[Row]:
    """Linear algebra and Fourier transforms against JAX and NumPy; orders and totals of a million against JAX."""
    large = [name for name in NUMERICAL if name.startswith("a million")]
    rest = tuple([name for name in NUMERICAL if name not in large])
    return [
        *_rows(rest, (X,), 1.0, compare_hlo=True),
        *[Row(name, N, name, (Peer(NUMPY.name, 1.1),)) for name in rest],
        *_rows(tuple(large), (X,), 0.2),
    ]


def peer_rows() -> list[Row]:
    """What users choose between: each workload on X and on N against all peers that have it."""
    rows = []
    for name, work in WORKLOADS.items():
        by_hand = [side.name for side, made in ((NUMPY, work.numpy), (TORCH, work.torch)) if made is not None]
        for subject, limit in ((X, 1.02), (N, 1.5)):
            peers = tuple([Peer(side, limit) for side in (JAX.name, *by_hand)])
            rows.append(Row(f"peers: {name}", subject, f"peers: {name}", peers))
    return rows


def cliff_rows() -> list[Row]:
    """Everyday eager code: on X against JAX, on lengths new to the process and known; on N against NumPy, known."""
    return [
        *_rows(tuple([f"cliff: {name}" for name in IDIOMS]), (X,), 1.5, count_compilations=True),
        *_rows(tuple([f"again: {name}" for name in IDIOMS]), (X,), 1.5, count_compilations=True),
        *[
            Row(f"again: {name}", N, f"again: {name}", (Peer(NUMPY.name, 3.0),))
            for name, idiom in IDIOMS.items()
            if idiom.in_numpy
        ],
    ]


def common_rows() -> list[Row]:
    """The commonest functions on 8 numbers: on N what they take beside the bare call of NumPy."""
    names = [f"common: {name}" for name in COMMON]
    return [Row(name, N, name, (Peer(NUMPY.name, 2.5e-6),), judge="difference") for name in names]


EIGHT_DEVICES = tuple(
    [
        f"8 devices: {name}"
        for name in (
            "dispatch",
            "pmap dispatch",
            "device_put to 2 x 4",
            "matmul 1024",
            "psum of 800,000",
            "shard_map, eager",
            "shard_map, jitted",
        )
    ]
)


def many_devices_rows() -> list[Row]:
    """What runs on 8 devices of the processor, against JAX's 8; on N, which has them one after another, all but what is
    NumPy's own work, a matrix product."""
    lowering, product = "8 devices: trace + StableHLO of a step", "8 devices: matmul 1024"
    n, x, jax = TANGRAD_NUMPY_8.name, TANGRAD_XLA_8.name, JAX_8.name
    return [
        *[
            Row(name, subject, name, (Peer(jax, 1.0),))
            for name in EIGHT_DEVICES
            for subject in (x, n)
            if (name, subject) != (product, n)
        ],
        Row(lowering, x, lowering, (Peer(jax, 0.35),)),
    ]


def xmap_rows() -> list[Row]:
    """Named axes on 8 devices, against JAX 0.4.23, where there is an interpreter with it."""
    calls = ("xmap: dispatch", "xmap: product 256 from the host")
    n, x, peer = TANGRAD_NUMPY_8.name, TANGRAD_XLA_8.name, JAX_0_4_23.name
    return [
        *[Row(name, subject, name, (Peer(peer, 1.0),)) for name in calls for subject in (x, n)],
        Row("xmap: trace + lower", x, "xmap: trace + lower", (Peer(peer, 0.35),)),
    ]


COMPILE_LIMITS = {
    "12 layers": 0.25,
    "24 layers": 0.10,
    "48 layers": 0.04,
    "12 layers, jit": 0.25,
    "12 layers, remat": 0.25,
    "12 layers, vmap": 0.25,
    "48 residual blocks": 0.35,
    "residual network 4 x 6": 0.35,
    "LSTM, 48 steps": 0.15,
    "chain of 6,000": 0.10,
    deep.LIST: 1.02,
}


def compile_rows() -> list[Row]:
    """Deep programs: what compiling them takes beside JAX, and what running them does beside the whole program."""
    compiled_whole = TANGRAD_XLA_WHOLE.name
    return [
        *[
            Row(f"compile: {name}", X, f"compile: {name}", (Peer(JAX.name, limit),), kind="once")
            for name, limit in COMPILE_LIMITS.items()
        ],
        Row("compile: 12 layers", N, "compile: 12 layers", (Peer(JAX.name, 0.1),), kind="once"),
        *[
            Row(
                f"compiled: {name}",
                X,
                f"compiled: {name}",
                (Peer(compiled_whole, 1.01 if name == deep.LIST else 1.05),),
            )
            for name in deep.NAMES
        ],
    ]


GEOMETRIC_MEAN = Row("steady state: geometric mean", X, "", (Peer(JAX.name, 1.0),), kind="geometric mean")


def all_rows() -> list[Row]:
    """Every budget, in the order of the design."""
    return [
        *process_rows(),
        *_rows(TRACING, (N,), 0.20, per_equation=True),
        *_rows(LOWERING, (X,), 0.35),
        *_rows(DISPATCH, (X, N), 1.1),
        *_rows(EAGER, (N,), 0.35),
        *_rows(EAGER, (X,), 1.0),
        *eager_gradient_rows(),
        *jitted_numpy_rows(),
        *_rows(STEADY, (X,), 1.02, compare_hlo=True),
        *control_flow_rows(),
        *_rows(tuple(CONVOLUTIONS), (X,), 0.75),
        *numerical_rows(),
        *peer_rows(),
        *cliff_rows(),
        *common_rows(),
        *many_devices_rows(),
        *xmap_rows(),
        *several_processes_rows(),
        *compile_rows(),
        GEOMETRIC_MEAN,
    ]


def without_torch(row: Row) -> Row:
    """The row beside its other peers."""
    return replace(row, peers=tuple([peer for peer in row.peers if peer.side != TORCH.name]))


def with_peer_as_subject(row: Row) -> Row:
    """The row with JAX in Tangrad's place: the self-test of the harness, whose ratios must come out near 1."""
    again = JAX_AGAIN_8.name if row.subject in (TANGRAD_NUMPY_8.name, TANGRAD_XLA_8.name) else JAX_AGAIN.name
    ours = (row.subject, TANGRAD_XLA_WHOLE.name)
    peers = tuple(peer if peer.side not in ours else replace(peer, side=again) for peer in row.peers)
    return replace(row, subject=again, peers=peers)
