"""Traces, annotations, memory profiles, the server, and events for listeners."""

import gzip
import json

import pytest

import tangrad
import tangrad.numpy as np
from tangrad import monitoring, profiler
from tangrad.errors import BackendError
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
