"""Traces, annotations, memory profiles, the server, events for listeners; and what programs cost (`roofline`)."""

import gzip
import json
from typing import Any

import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, monitoring, profiler
from tangrad.core import PrimitiveSet, ShapedArray
from tangrad.errors import BackendError
from tangrad.experimental.roofline import (
    Cost,
    RooflineResult,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)
from tangrad.sharding import PartitionSpec as P
from tests.ports import free_port


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    pytest.importorskip(f"tangrad._backend_{request.param}.backend")
    with tangrad.use_backend(request.param):
        yield request.param


@pytest.fixture
def xla():
    pytest.importorskip("tangrad._backend_xla.backend")
    with tangrad.use_backend("xla"):
        yield


def events(folder, pattern="*.trace.json.gz"):
    """The events of the one trace below a folder, by name."""
    (file,) = [
        path
        for path in folder.glob(f"plugins/profile/*/{pattern}")
        if "perfetto" not in path.name[:8] or "perfetto" in pattern
    ]
    with gzip.open(file, "rt") as contents:
        found = json.load(contents)["traceEvents"]
    return {event["name"]: event for event in found if event.get("ph") == "X"}


def test_annotations_are_in_traces(backend, tmp_path):
    @profiler.annotate_function
    def prepare(x):
        return x * 2

    double = tangrad.jit(lambda x: x + x)
    with profiler.trace(tmp_path):
        with profiler.TraceAnnotation("load", count=3):
            prepare(np.ones(3))
        with profiler.StepTraceAnnotation("train", step_num=7):
            double(np.ones(3)).block_until_ready()
    found = events(tmp_path)
    (named,) = [name for name in found if name.endswith("<locals>.prepare")]
    assert found["load"]["dur"] >= found[named]["dur"] >= 0
    assert str(found["load"]["args"]["count"]) == "3"
    assert str(found["train"]["args"]["step_num"]) == "7"


def test_what_is_traced_and_compiled_is_in_the_trace_of_a_backend_without_profiler(tmp_path):
    def square(x):
        return x * x

    with tangrad.use_backend("numpy"):
        with profiler.trace(tmp_path):
            tangrad.jit(square)(np.ones(3))
        assert {"compile square"} <= events(tmp_path).keys()
        tangrad.jit(lambda x: x - 1)(np.ones(3))
    assert not [name for name in events(tmp_path) if "lambda" in name]


def test_a_file_for_perfetto(backend, tmp_path):
    profiler.start_trace(tmp_path, create_perfetto_trace=True)
    with profiler.TraceAnnotation("stretch"):
        pass
    profiler.stop_trace()
    assert "stretch" in events(tmp_path, "perfetto_trace.json.gz")


def test_one_trace_at_a_time(tmp_path):
    with tangrad.use_backend("numpy"):
        with pytest.raises(RuntimeError, match="no trace"):
            profiler.stop_trace()
        with profiler.trace(tmp_path), pytest.raises(RuntimeError, match="one at a time"):
            profiler.start_trace(tmp_path)
        with pytest.raises(ZeroDivisionError), profiler.trace(tmp_path):
            raise ZeroDivisionError
        with profiler.trace(tmp_path):
            pass
        with pytest.raises(NotImplementedError, match=r"ui\.perfetto\.dev"):
            profiler.start_trace(tmp_path, create_perfetto_link=True)
    with pytest.raises(TypeError, match="annotate_function"):
        profiler.annotate_function(3)


def test_memory_profiles(xla, tmp_path):
    held = np.ones(1000)
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert held.shape == (1000,)
    with pytest.raises(BackendError, match="device_memory_profile: the backend 'numpy' has no profiler"):
        profiler.device_memory_profile("numpy")


def test_the_server(xla):
    port = free_port()
    profiler.start_server(port)
    try:
        with pytest.raises(ValueError, match="one at a time"):
            profiler.start_server(port)
    finally:
        profiler.stop_server()
    with pytest.raises(ValueError, match="no profiler server"):
        profiler.stop_server()


LISTENERS = {
    "event": ("register_event_listener", "unregister_event_listener", "record_event", ()),
    "duration": (
        "register_event_duration_secs_listener",
        "unregister_event_duration_listener",
        "record_event_duration_secs",
        (0.5,),
    ),
    "time span": (
        "register_event_time_span_listener",
        "unregister_event_time_span_listener",
        "record_event_time_span",
        (1.0, 2.0),
    ),
    "scalar": ("register_scalar_listener", "unregister_scalar_listener", "record_scalar", (3,)),
}


@pytest.mark.parametrize("kind", LISTENERS)
def test_listeners_hear_events_of_their_kind(kind):
    register, unregister, record, arguments = LISTENERS[kind]
    seen, others = [], []

    def listen(*values, **details):
        seen.append((values, details))

    getattr(monitoring, register)(listen)
    for other, (other_register, *_) in LISTENERS.items():
        if other != kind:
            getattr(monitoring, other_register)(lambda *values, **details: others.append(values))
    try:
        getattr(monitoring, record)("/app/x", *arguments, size=1)
        assert seen == [(("/app/x", *arguments), {"size": 1})] and not others
        getattr(monitoring, unregister)(listen)
        getattr(monitoring, record)("/app/x", *arguments)
        assert len(seen) == 1
        with pytest.raises(ValueError, match="no listener"):
            getattr(monitoring, unregister)(listen)
    finally:
        monitoring.clear_event_listeners()
    getattr(monitoring, register)(listen)
    monitoring.clear_event_listeners()
    getattr(monitoring, record)("/app/x", *arguments)
    assert len(seen) == 1


def test_profiles_are_read_as_jaxlib_reads_them(xla, tmp_path):
    double = tangrad.jit(lambda x: x + x)
    with profiler.trace(tmp_path), profiler.TraceAnnotation("load", count=3, kind="rows"):
        double(np.ones(3)).block_until_ready()
    (file,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    ours = profiler.ProfileData.from_file(file)
    theirs = pytest.importorskip("jaxlib._profile_data").ProfileData.from_file(str(file))
    assert list(map(described, ours.planes)) == list(map(described, theirs.planes))
    host = profiler.ProfileData.from_serialized_xspace(file.read_bytes()).find_plane_with_name("/host:CPU")
    (load,) = [event for line in host.lines for event in line.events if event.name == "load"]
    assert dict(load.stats)["count"] == 3 and dict(load.stats)["kind"] == "rows"
    assert load.end_ns == load.start_ns + load.duration_ns and load.duration_ns > 0
    assert ours.find_plane_with_name("/moon") is None


def described(plane):
    events = [
        [(event.name, event.start_ns, event.duration_ns, as_texts(event.stats)) for event in line.events]
        for line in plane.lines
    ]
    return plane.name, as_texts(plane.stats), [line.name for line in plane.lines], events


def as_texts(stats):
    """Statistics by name: jaxlib makes texts of bytes."""
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in stats}


@pytest.mark.parametrize("data", [b"\x0a\x7f\x00", b"\x0f", b"\xff" * 12, b"\x0a\x02\x12\x05", b"\x08\x01\x0a"])
def test_what_is_no_profile_is_refused(data):
    with pytest.raises(ValueError, match="bytes are no profile"):
        profiler.ProfileData(data)
    with pytest.raises(TypeError, match="expected the bytes of a profile"):
        profiler.ProfileData("text")


# --- What programs cost -----------------------------------------------------------------------------------------------


X = tangrad.ShapeDtypeStruct((8, 4), "float32")
W = tangrad.ShapeDtypeStruct((4, 16), "float32")


def test_products_are_counted_exactly() -> None:
    shapes, result = roofline(np.dot)(X, W)
    assert shapes.shape == (8, 16) and shapes.dtype == "float32"
    assert result.flops == result.unfused_flops == 2 * 8 * 4 * 16
    moved = 4 * (8 * 4 + 4 * 16 + 8 * 16)
    assert result.hbm_bytes == result.unfused_hbm_bytes == result.peak_hbm_bytes == moved
    cost = result.by_primitive["contractions.dot_general"]
    assert cost == Cost(1, 1024, 4 * (32 + 64), 4 * 128)


def test_what_fuses_counts_among_the_unfused_alone() -> None:
    result = roofline(lambda x: np.sin(x) + 1)(X)[1]
    assert result.flops == result.hbm_bytes == 0 and result.unfused_flops == 64
    assert result.unfused_hbm_bytes == 4 * (32 + 32) + 4 * (32 + 1 + 32)
    moved = roofline(lambda x: x.T)(X)[1]
    assert moved.unfused_flops == 0 and moved.unfused_hbm_bytes == 2 * 4 * 32
    summed = roofline(lambda x: x.sum(1))(X)[1]
    assert summed.unfused_flops == 32


def test_convolutions_and_factorisations() -> None:
    image, kernel = tangrad.ShapeDtypeStruct((2, 3, 8, 8), "float32"), tangrad.ShapeDtypeStruct((5, 3, 3, 3), "float32")
    result = roofline(lambda x, w: lax.conv(x, w, (1, 1), "SAME"))(image, kernel)[1]
    assert result.flops == 2 * (2 * 5 * 8 * 8) * (3 * 3 * 3)
    square = tangrad.ShapeDtypeStruct((6, 6), "float32")
    assert roofline(lax.linalg.cholesky)(square)[1].flops > 6**3 // 3 - 1


def test_loops_and_branches() -> None:
    def loop(x: Any) -> Any:
        return lax.scan(lambda c, _: (np.sin(c), None), x, None, length=10)[0]

    assert roofline(loop)(X)[1].unfused_flops == 320
    assert roofline(loop)(X)[1].by_primitive["elementwise.sin"].calls == 10
    branch = roofline(lambda p, x: lax.cond(p, lambda x: x, lambda x: np.sin(np.cos(x)), x))
    elementwise = branch(tangrad.ShapeDtypeStruct((), "bool"), X)[1]
    assert elementwise.by_primitive["elementwise.sin"].calls == elementwise.by_primitive["elementwise.cos"].calls == 1
    assert roofline(tangrad.jit(tangrad.checkpoint(np.sin)))(X)[1].unfused_flops == 32


def test_gradients() -> None:
    def loss(x: Any, w: Any) -> Any:
        return np.dot(x, w)

    _, forward, both = roofline_and_grad(loss)(X, W)
    assert forward.flops == 1024 and both.flops == 3 * 1024 - 1024  # the product itself is not needed for its gradient
    assert roofline(loss, vjp=True)(X, W)[1] == both


def test_the_part_of_one_device() -> None:
    mesh = tangrad.make_mesh((1,), ("x",))
    part = roofline(lambda x: lax.psum(np.sin(x), "x"), mesh, P("x"), P())(X)[1]
    assert part.by_primitive["elementwise.sin"].flops == 32
    assert part.ici_bytes == {"x": 128}


def test_rules_of_others() -> None:
    family = PrimitiveSet("test_of_roofline", api=1)
    solver = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="solver")
    unknown = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="unknown")
    free = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="free")
    made = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="made", decompose=lambda x: np.sin(np.cos(x)))

    @register_roofline(solver)
    def rule(ctx: Any, x: Any) -> Any:
        assert ctx.primitive is solver and ctx.avals_out[0].shape == x.shape
        return ctx.cost(flops=x.size**2, fuses=False)

    register_standard_roofline(free)
    result = roofline(solver.bind)(X)[1]
    assert result.flops == 32**2 and result.hbm_bytes == 256
    assert roofline(unknown.bind)(X)[1].unfused_flops == 32
    assert roofline(free.bind)(X)[1] == RooflineResult(peak_hbm_bytes=256)
    assert roofline(made.bind)(X)[1].unfused_flops == 64


def test_a_rule_that_returns_something_else_is_named() -> None:
    family = PrimitiveSet("test_of_wrong_roofline", api=1)
    wrong = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="wrong")
    register_roofline(wrong)(lambda ctx, x: 3)
    with pytest.raises(
        TypeError, match=r"the roofline rule of 'test_of_wrong_roofline.wrong' returned 3; expected what"
    ):
        roofline(wrong.bind)(X)
    with pytest.raises(TypeError, match="roofline expects a function, got 3"):
        roofline(3)  # type: ignore[arg-type]


def test_printed_and_added(capsys: pytest.CaptureFixture[str]) -> None:
    result = roofline(np.sin, print_jaxpr=True)(X)[1]
    assert "sin" in capsys.readouterr().out
    assert (result + result).unfused_flops == (2 * result).unfused_flops == 64
    assert RooflineResult.zeros() + result == result
    assert RooflineShape((3,), np.dtype("float16")).bytes == 6
    key = tangrad.random.key(0)
    assert roofline(lambda key: tangrad.random.uniform(key, (3,)))(key)[1].unfused_flops > 3
