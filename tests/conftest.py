"""What every test shares: nothing is read from or written to the user's caches, and Hypothesis repeats itself."""

import ctypes
import gc
import math
import os
import shutil
import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# Before anything imports tangrad: it reads its environment once. The workers of one run inherit the folder.
OWN_CACHE = None
if "TANGRAD_CACHE_DIR" not in os.environ:
    OWN_CACHE = os.environ["TANGRAD_CACHE_DIR"] = tempfile.mkdtemp(prefix="tangrad-tests-")

# Every jaxpr that is staged or transformed in a test is type-checked.
os.environ.setdefault("TANGRAD_CHECK_JAXPRS", "1")

hypothesis.settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # by the clock: so is a busy machine
)
hypothesis.settings.load_profile("house")


# Tables of programs and values that two compilers work on for half of all the time: marked `long` as a whole.
# `make test` has other tests of the same parts, which run in seconds.
LONG = frozenset(
    [
        "backends/test_xla_elementwise.py",
        "differential/test_programs.py",
        "image/test_resampling.py",
        "nn/test_attention.py",
        "numpy/test_linalg.py",
        "primitives/test_conformance.py",
        "primitives/test_control_flow.py",
        "primitives/test_elementwise.py",
        "primitives/test_indexing.py",
        "primitives/test_reductions.py",
        "primitives/test_special.py",
        "primitives/test_windows.py",
        "random/test_bits.py",
        "random/test_distributions.py",
        "random/test_rejection.py",
        "scipy/test_linalg.py",
        "sharding/test_eight_devices.py",
        "smoke/test_smoke.py",
        "stress/test_interrupts.py",
        "stress/test_memory.py",
        "transformations/test_callbacks_as_in_jax.py",
        "transformations/test_checkpoint.py",
    ]
)
# Tests with many cases of one kind, by file or by function: everywhere but in `make test-all` one case in so many runs.
# Which one follows from the names alone. What is in here takes minutes as a whole; tests that are to find a name that
# somewhere is missing look at all names, take seconds, and are not in here.
ONE_CASE_IN = {
    "backends/test_arrays.py": 4,
    "backends/test_xla_elementwise.py": 4,
    "backends/test_xla_lowering.py::test_running_totals_of_large_arrays_are_those_of_numpy": 3,
    "differential/test_corpus.py::test_agrees_with_jax": 4,
    "docs/test_examples.py::test_kernels_of_jupyter_run_them": 2,
    "examples/test_programs.py::test_program_on_both_backends": 2,
    "examples/test_programs.py::test_program_with_the_import_of_jax": 4,
    "experimental/test_sparse.py": 4,
    "export/test_derivatives.py": 2,
    "extremes/test_complex.py": 4,
    "extremes/test_real.py": 4,
    "image/test_resampling.py": 4,
    "install/test_alone.py::test_every_module_can_be_the_first": 2,
    "install/test_alone.py::test_the_doctor_finds_nothing": 4,
    "install/test_lines.py::test_a_line_installs_what_it_says": 4,
    "install/test_subsets.py::test_a_missing_name_says_what_to_install": 4,
    "kernels/test_kernels.py": 4,
    "kernels/test_library.py::test_sanitizers_find_nothing": 2,
    "kernels/test_vendors.py": 3,
    "nn/test_functions.py": 4,
    "numba/test_loops.py": 4,
    "numpy/test_derivatives.py": 4,
    "numpy/test_expressions.py": 4,
    "numpy/test_linalg.py": 4,
    "numpy/test_settings.py": 4,
    "pallas/test_kernels.py": 4,
    "primitives/test_conformance.py": 2,
    "primitives/test_control_flow.py": 4,
    "primitives/test_elementwise.py": 4,
    "primitives/test_indexing.py": 4,
    "primitives/test_mutants.py": 2,
    "primitives/test_mutants_named_axes.py": 2,
    "primitives/test_mutants_programs.py": 2,
    "primitives/test_reductions.py": 4,
    "primitives/test_special.py": 4,
    "primitives/test_windows.py": 4,
    "random/test_bits.py": 4,
    "random/test_distributions.py": 4,
    "random/test_rejection.py": 4,
    "scipy/test_definitions.py": 4,
    "scipy/test_linalg.py": 4,
    "scipy/test_solvers.py": 4,
    "scipy/test_stats.py": 4,
    "transformations/test_callbacks_as_in_jax.py": 4,
    "transformations/test_checkpoint.py": 2,
    "transformations/test_custom_jvp.py": 4,
}
HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of long files, and of tables the cases that the long sweep alone runs."""
    tables = defaultdict(list)
    for item in items:
        file = item.path.relative_to(HERE).as_posix() if item.path.is_relative_to(HERE) else ""
        function = f"{file}::{getattr(item, 'originalname', '')}"
        if file in LONG:
            item.add_marker(pytest.mark.long)
        is_in_table = hasattr(item, "callspec") and (file in ONE_CASE_IN or function in ONE_CASE_IN)
        if is_in_table and item.get_closest_marker("sweep") is None:
            tables[function].append(item)
    for function, cases in tables.items():
        share = ONE_CASE_IN.get(function) or ONE_CASE_IN[function.partition("::")[0]]
        cases.sort(key=lambda item: zlib.crc32(item.name.encode()))
        for item in cases[math.ceil(len(cases) / share) :]:
            item.add_marker(pytest.mark.sweep)


@pytest.fixture(autouse=True)
def _own_draws(request: pytest.FixtureRequest) -> Iterator[None]:
    """Put the generators of a module back: a test draws the same alone, after others, and beside other workers."""
    generators = [value.bit_generator for value in vars(request.module).values() if hasattr(value, "bit_generator")]
    states = [generator.state for generator in generators]
    yield
    for generator, state in zip(generators, states, strict=True):
        generator.state = state


def _global_settings() -> dict[str, object]:
    """Return the global value of each setting that is defined so far."""
    config = sys.modules.get("tangrad._core.settings.config")
    if config is None:
        return {}
    values = vars(config.ThreadState)
    return {name: values[name] for name in config.SETTINGS}


@pytest.fixture(autouse=True)
def _own_settings(request: pytest.FixtureRequest) -> Iterator[None]:
    """Put global settings back. Examples of the documentation may leave them changed; any other test then fails."""
    before = _global_settings()
    yield
    after = _global_settings()
    if before == after:
        return
    settings = sys.modules["tangrad._core.settings.config"].SETTINGS
    changed = []
    for name, value in after.items():
        if value != (earlier := before.get(name, settings[name].initial)):
            settings[name].set(earlier)
            changed.append(f"{name} = {value!r}, was {earlier!r}")
    if changed and not request.path.is_relative_to(HERE / "docs"):
        pytest.fail(f"the test leaves settings changed: {'; '.join(changed)}")


# After so many tests a worker forgets the programs that it has compiled: few serve a second test, each is some hundred
# kilobytes of machine code, and kept to the end those of both libraries are gigabytes.
FORGET_AFTER = 250
_since_forgotten = 0


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Every so many tests, empty the caches of Tangrad and of JAX, and give the memory back to the system."""
    global _since_forgotten
    _since_forgotten += 1
    if _since_forgotten < FORGET_AFTER:
        return
    _since_forgotten = 0
    for name in ("tangrad", "jax"):
        if (clear := getattr(sys.modules.get(name), "clear_caches", None)) is not None:
            clear()
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None  # glibc keeps it else
    if trim is not None:
        trim(0)


def pytest_collection_finish() -> None:
    """Have the collector of garbage leave the tests themselves alone: some tests call it often, and they are many."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter", config: pytest.Config) -> None:
    """List the files that take longest, where `--durations` asks for the tests that do."""
    if not (count := config.getoption("durations")):
        return
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    terminalreporter.write_sep("=", f"slowest files, of {sum(seconds.values()):.0f} s in all")
    for file in sorted(seconds, key=lambda file: -seconds[file])[: 3 * count]:
        terminalreporter.write_line(f"{seconds[file]:.1f} s {file}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the cache of this run, after its last worker has ended."""
    if OWN_CACHE is not None:
        shutil.rmtree(OWN_CACHE, ignore_errors=True)
