"""Reports of compilations, and lines about those that take long."""

import json
import logging
import threading
from html.parser import HTMLParser

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import stages
from tangrad._jit import compiling
from tangrad._jit.compile_report import Counted, equations_of
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, backend_names, get_backend, hookimpl, register
from tangrad.core.settings import SETTINGS
from tangrad.extend.jit import region_p

BACKENDS = backend_names()
XLA = pytest.mark.skipif("xla" not in BACKENDS, reason="XLA is not installed")


@pytest.fixture(params=BACKENDS)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


def layer(weight, x):
    return np.tanh(x @ weight) * 2.0 + 1.0


def make_deep():
    """A function that was never traced."""

    def deep(weights, x):
        for weight in weights:
            x = tangrad.jit(layer)(weight, x)
        return (x**2).mean()

    return deep


def compiled(**options):
    weights = [np.asarray(numpy.full((4, 4), 0.1 * n, "float32")) for n in range(5)]
    return tangrad.jit(make_deep(), **options).lower(weights, np.ones((3, 4))).compile()


def test_a_report_has_the_times_of_all_stages(backend):
    report = compiled().report()
    assert isinstance(report, stages.CompileReport)
    assert (report.name, report.backend, report.platform) == ("deep", backend, get_backend(backend).platform)
    assert [stage.stage for stage in report.stages] == ["tracing", "passes", "lowering", "compiling"]
    assert all(stage.seconds >= 0 and stage.origin == "made" for stage in report.stages)
    assert report.stages[0].seconds > 0 and report.stages[3].seconds > 0
    assert report.seconds == sum(stage.seconds for stage in report.stages)


def test_regions_are_counted_once(backend):
    whole = compiled(compile_regions=False).report()
    report = compiled(compile_regions="always").report()
    assert whole.regions == () and report.regions
    assert whole.equations_traced == report.equations_traced
    assert report.equations_compiled < whole.equations_compiled
    assert sum(region.calls for region in report.regions) >= 5
    spared = sum((region.calls - 1) * region.equations for region in report.regions)
    assert spared > 0 and report.regions[0].equations > 0


def test_the_equations_of_programs_within_programs_count():
    jaxpr = tangrad.make_jaxpr(make_deep())([np.ones((4, 4))] * 3, np.ones((3, 4)))
    body = equations_of(jaxpr.eqns[0].params["jaxpr"])
    outer = len(jaxpr.eqns)
    assert equations_of(jaxpr) == outer + 3 * body
    assert Counted(jaxpr).equations == equations_of(jaxpr) and not Counted(jaxpr).calls


def test_a_region_within_a_region_counts_with_it():
    inner = tangrad.make_jaxpr(lambda x: np.sin(x) * 2.0)(1.0)

    def outer(x):
        (x,) = region_p.bind(x, jaxpr=inner, name="inner")
        (x,) = region_p.bind(x, jaxpr=inner, name="inner")
        return x

    counted = Counted(tangrad.make_jaxpr(outer)(1.0))
    assert [(name, calls) for _, name, calls in counted.calls.values()] == [("inner", 2)]
    assert counted.equations == 2 + len(inner.eqns)


def test_what_runs_is_counted(backend):
    report = compiled().report()
    assert report.instructions_compiled > 0
    assert (report.instructions_lowered is None) == (backend == "numpy")
    assert report.memory.arguments == 5 * 4 * 4 * 4 + 3 * 4 * 4 and report.memory.results == 4


def test_a_trace_of_an_earlier_call_is_said_to_be_one(backend):
    @tangrad.jit
    def double(x):
        return x + x

    first, second = [double.lower(1.0).compile().report() for _ in range(2)]
    assert (first.stages[0].origin, second.stages[0].origin) == ("made", "memory")
    assert first.stages[0].seconds == second.stages[0].seconds
    assert second.seconds == sum(stage.seconds for stage in second.stages[1:])
    assert "traced earlier" in str(second) and "traced earlier" not in str(first)


@XLA
def test_what_the_cache_on_disk_had_is_said_to_come_from_there(tmp_path):
    found = []
    with (
        tangrad.use_backend("xla"),
        SETTINGS["compilation_cache_dir"](str(tmp_path)),
        SETTINGS["xla_cache_min_compile_seconds"](0.0),
    ):
        for _ in range(2):
            found.append(tangrad.jit(lambda x: np.sin(x) + 3.25).lower(1.0).compile().report())
    assert [report.stages[3].origin for report in found] == ["made", "disk"]
    assert "from the cache on disk" in str(found[1]) and "from the cache on disk" in found[1].html()


def test_the_table_says_what_the_report_has(backend):
    report = compiled(compile_regions="always").report()
    text = str(report)
    assert text.startswith(f"deep, compiled for {backend}")
    for word in ("tracing", "passes", "lowering", "compiling", "equations", "instructions", "arguments"):
        assert word in text
    assert report.regions[0].name in text
    assert "no regions" in str(compiled(compile_regions=False).report())


def test_a_report_is_data(backend):
    report = compiled(compile_regions="always").report()
    data = json.loads(json.dumps(report.to_dict()))
    assert data["name"] == "deep" and data["seconds"] == report.seconds
    assert data["stages"][0] == {"stage": "tracing", "seconds": report.stages[0].seconds, "origin": "made"}
    assert data["regions"][0]["calls"] == report.regions[0].calls
    assert data["memory"]["arguments"] == report.memory.arguments


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_the_page_is_whole_and_needs_nothing(backend):
    report = compiled(compile_regions="always").report()
    page = _Page(report.html())
    tags = [tag for tag, _ in page.found]
    assert not page.open and tags.count("svg") == 3 and tags.count("rect") >= 4 + 2 + len(report.regions)
    assert not {"script", "link", "img", "iframe"} & set(tags)
    assert not any({"src", "href"} & attrs.keys() for _, attrs in page.found)
    assert all(float(attrs["width"]) >= 1 for tag, attrs in page.found if tag == "rect")
    part = report._repr_html_()
    assert part in report.html() and "<html" not in part


def test_names_are_escaped():
    def fun(x):
        return x + 1.0

    fun.__name__ = "<script>alert(1)</script>"
    report = tangrad.jit(fun).lower(1.0).compile().report()
    assert "<script>" not in report.html() and "&lt;script&gt;" in report.html()


def test_a_report_keeps_no_module_and_needs_no_stage_before_it(backend):
    def fun(x):
        return np.sin(x) * x

    program = tangrad.jit(fun).lower(np.ones(3)).compile()
    before = program.report()
    assert program(np.ones(3)).shape == (3,)
    after = program.report()
    assert before == after  # asked again: the same, with the times of the one compilation


# --- lines about what takes long ------------------------------------------------------------------------------------


class _Listener(logging.Handler):
    """Waits for a line that has some words."""

    def __init__(self, words):
        super().__init__()
        self.words, self.said, self.lines = words, threading.Event(), []

    def emit(self, record):
        line = record.getMessage()
        self.lines.append(line)
        if self.words in line:
            self.said.set()


@pytest.fixture
def listening(monkeypatch):
    monkeypatch.setattr(compiling, "AFTER", 0.0)
    monkeypatch.setattr(compiling, "EVERY", 0.01)
    handlers = []

    def listen(words):
        handler = _Listener(words)
        logging.getLogger("tangrad").addHandler(handler)
        handlers.append(handler)
        return handler

    yield listen
    for handler in handlers:
        logging.getLogger("tangrad").removeHandler(handler)


def _no_thread_is_left():
    return not [one for one in threading.enumerate() if one.name == "tangrad-progress"]


@pytest.mark.parametrize("way", ["call", "trace"])
def test_a_long_trace_is_reported(way, listening):
    listener = listening("Compiling slow: 0 s so far, now tracing")

    @tangrad.jit
    def slow(x):
        assert listener.said.wait(300)
        return x

    with tangrad.log_compiles(True):
        slow(1.0) if way == "call" else slow.trace(1.0)
    assert listener.said.is_set() and _no_thread_is_left()


def test_a_long_pass_is_reported(listening):
    listener = listening("now in the passes")

    class Slow:
        @hookimpl
        def tangrad_jaxpr_pass(self, closed_jaxpr, context):
            if context.function_name == "watched_one":
                assert listener.said.wait(300)

    def watched_one(x):
        return np.sin(x) * 2.0

    with register(Slow()), tangrad.log_compiles(True):
        tangrad.jit(watched_one).lower(np.ones(3))
    assert listener.said.is_set()


slow_family = PrimitiveSet("slow_to_lower", api=1)


@slow_family.primitive
def slow_p(x):
    """Itself."""
    return ShapedArray(x.shape, x.dtype)


@pytest.mark.parametrize("ahead", [False, True])
def test_a_long_lowering_is_reported(ahead, backend, listening):
    words = {"xla": "now lowering", "numpy": "now in the backend's compiler"}[backend]
    listener = listening(words)
    if backend == "numpy":
        from tangrad._backend_numpy.kernels import composed

        rules = RuleSet("lower.numpy", api=1)

        @composed(rules, slow_p)
        def _(ctx, x):
            assert listener.said.wait(300)
            return x
    else:
        rules = RuleSet("lower.xla", api=1)

        @rules.rule(slow_p)
        def _(ctx, x):
            assert listener.said.wait(300)
            return x

    with register(slow_family), register(rules), tangrad.log_compiles(True):
        fun = tangrad.jit(lambda x: slow_p.bind(x))
        if ahead:
            fun.lower(np.ones(3)).compile()
        else:
            fun(np.ones(3))
    assert listener.said.is_set() and _no_thread_is_left()


def test_where_no_thread_starts_it_is_compiled_without_lines(monkeypatch):
    class Unstartable(compiling.threading.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(compiling.threading, "Thread", Unstartable)
    with tangrad.log_compiles(True):
        assert tangrad.jit(lambda x: x * 3.0)(2.0) == 6.0


def test_no_thread_watches_unless_asked(listening, monkeypatch):
    monkeypatch.setattr(compiling.threading, "Thread", None)  # starting one would raise
    listener = listening("so far")
    assert tangrad.jit(lambda x: x * 3.0)(2.0) == 6.0
    assert not listener.lines


def test_the_watcher_goes_when_the_program_raises(listening):
    listener = listening("so far")

    @tangrad.jit
    def wrong(x):
        assert listener.said.wait(300)
        raise ValueError("mine")

    with tangrad.log_compiles(True), pytest.raises(ValueError, match="mine"):
        wrong(1.0)
    assert _no_thread_is_left()


def test_phases_are_read_off_the_stack():
    assert compiling.phase_of(None) == "between its stages"
