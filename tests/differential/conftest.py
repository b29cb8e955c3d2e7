"""The two sides: JAX's results, and Tangrad on each of its backends."""

import contextlib
import importlib
import importlib.util

import pytest

from tests.differential.corpus import Program, all_programs
from tests.differential.runner import Leaf, Reference, run

# Modules that programs find as attributes of the api.
PARTS = ("ad_checkpoint", "custom_batching", "custom_derivatives", "dtypes", "lax", "nn", "numpy", "random", "tree")


class Subject:
    """Tangrad on one backend, with its jaxprs checked."""

    def __init__(self, backend: str) -> None:
        self.api = importlib.import_module("tangrad")
        for name in PARTS:
            importlib.import_module(f"tangrad.{name}")
        self.config = importlib.import_module("tangrad._core.settings.config")
        self.backend = backend

    def run(self, program: Program, mode: str, jitted: bool) -> list[Leaf]:
        """Run the program with this backend's arrays."""
        with contextlib.ExitStack() as settings:
            settings.enter_context(self.config.backend(self.backend))
            settings.enter_context(self.config.enable_x64(program.x64))
            settings.enter_context(self.config.check_jaxprs(True))
            return run(self.api, program, mode, jitted)


@pytest.fixture(scope="session")
def reference(request):
    jax = pytest.importorskip("jax", reason="the reference is not installed")
    for name in PARTS:
        importlib.import_module(f"jax.{name}")
    cache = getattr(request.config, "cache", None)  # absent with `-p no:cacheprovider`
    return Reference(jax, cache.mkdir("differential-reference") if cache is not None else None)


@pytest.fixture
def api():
    """Tangrad on NumPy, as a program gets it."""
    subject = Subject("numpy")
    with subject.config.backend("numpy"), subject.config.check_jaxprs(True):
        yield subject.api


@pytest.fixture(scope="session", params=["numpy", "xla"])
def subject(request):
    if request.param == "xla" and importlib.util.find_spec("jaxlib") is None:
        pytest.skip("jaxlib is not installed")
    return Subject(request.param)


# Of runs that others of the same program contain, one program in so many has them in `.ci/run`.
SHARE = 4


def pytest_collection_modifyitems(items):
    """Each program runs eagerly on NumPy and jitted on XLA; the other way round is mostly for the long run.

    XLA compiles each of them, so it has a program by itself and under all transformations at once, which are eager
    NumPy's one by one; `make test` leaves the other runs there out, `.ci/run` has a share of them, `make test-all` all.
    """
    places = {program.name: place for place, program in enumerate(all_programs())}
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None or not {"subject", "mode", "jitted"} <= call.params.keys():
            continue
        program, mode, jitted = (call.params[name] for name in ("program", "mode", "jitted"))
        on_xla = call.params["subject"] == "xla"
        in_share = places[program.name] % SHARE == 0
        if on_xla != jitted and (mode != "value" or program.usual):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.sweep)
        elif on_xla and (not jitted or mode not in ("value", program.modes()[-1])):
            item.add_marker(pytest.mark.slow)
            if not in_share:
                item.add_marker(pytest.mark.sweep)
