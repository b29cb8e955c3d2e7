"""The tool that runs JAX's own test files through the alias: on a small checkout in their place."""

import pytest

from tools.jax_tests.__main__ import environment, main, run
from tools.jax_tests.outcomes import Outcome, Reason, as_list, as_table, known, unexpected

pytest.importorskip("ml_dtypes")

COMMON = """
import unittest
from jax._src import config, xla_bridge


class JaxTestCase(unittest.TestCase):
    _default_global_config = {}
    _default_thread_local_config = {}


speed = config.int_flag("speed", 3)
"""
TESTS = """
import os
import unittest
import jax
import jax.numpy as jnp
from jax._src import core, test_util as jtu
from jax._src.nowhere import helper, decorator


class Tests(jtu.JaxTestCase):
    def test_passes(self):
        self.assertEqual(jnp.sin(jnp.zeros(2)).tolist(), [0.0, 0.0])
        self.assertEqual(len(jax.devices()), 8)
        self.assertEqual(jtu.speed.value, 3)

    def test_differs(self):
        self.assertEqual(1, 2)

    def test_words(self):
        with self.assertRaisesRegex(TypeError, "other words"):
            raise TypeError("words")

    def test_accepted(self):
        with self.assertRaises(ValueError):
            jnp.sin(1.0)

    def test_text_of_a_program(self):
        self.assertIn("nowhere", str(jax.make_jaxpr(jnp.sin)(1.0)))

    def test_private(self):
        helper(3)

    def test_public_by_a_private_path(self):
        self.assertEqual(core.new_ref(1.0)[...], 1.0)

    def test_missing(self):
        jax.no_such_function(3)

    @decorator
    def test_ends_the_process(self):
        os._exit(1)

    @unittest.skip("for another day")
    def test_skipped(self): ...
"""
NO_ABSL = """
class TestCase:
    def setUp(self): ...
    def tearDown(self): ...
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one file of tests; what it imports of absl is beside it."""
    files = {
        "tests/small_test.py": TESTS,
        "jax/_src/test_util.py": COMMON,
        "jax/_src/internal_test_util/__init__.py": "",
        "absl/__init__.py": "",
        "absl/testing/__init__.py": "",
        "absl/testing/parameterized.py": NO_ABSL,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("JAX_CHECKOUT", str(tmp_path))
    monkeypatch.setattr("tools.jax_tests.__main__.REQUIRED", ())
    return tmp_path


def test_each_test_is_counted_by_how_it_went(checkout):
    variables = environment("numpy", 1)
    variables["PYTHONPATH"] += f":{checkout}"
    outcomes = run("small_test.py", checkout, variables)
    assert {outcome.test.rpartition("::")[2].removeprefix("test_"): outcome.kind for outcome in outcomes} == {
        "passes": "passed",
        "differs": "differs",
        "words": "words",
        "accepted": "accepted",
        "text_of_a_program": "private",
        "private": "private",
        "public_by_a_private_path": "passed",
        "missing": "missing",
        "ends_the_process": "differs",
        "skipped": "skipped",
    }
    assert as_table({"small_test.py": outcomes}).endswith("| small_test.py | 2 | 2 | 1 | 1 | 1 | 2 | 1 |")
    reasons = [
        Reason("messages", "They are ours.", ("*",), ("words",), ""),
        Reason("sums", "They differ.", ("small_test.py::Tests::test_d*",), ("differs",), "1 != 2"),
    ]
    assert sorted(outcome.test for outcome in unexpected(outcomes, reasons)) == [
        "small_test.py::Tests::test_accepted",
        "small_test.py::Tests::test_ends_the_process",
        "small_test.py::Tests::test_missing",
    ]
    listed = as_list({"small_test.py": outcomes}, reasons)
    assert "test_differs` (differs; sums): AssertionError: 1 != 2" in listed
    assert "test_ends_the_process` (differs; no reason is known): ended the process" in listed


def test_a_reason_covers_what_it_names():
    outcome = Outcome("array_test.py::Tests::test_one", "differs", "ValueError: no")
    assert Reason("", "", ("*",), ("differs",), "ValueError").covers(outcome)
    assert not Reason("", "", ("*",), ("words",), "").covers(outcome)
    assert not Reason("", "", ("pmap_test.py::*",), ("differs",), "").covers(outcome)
    assert not Reason("", "", ("*",), ("differs",), "TypeError").covers(outcome)


def test_the_known_differences_are_well_formed():
    files, reasons = known()
    assert files == sorted(set(files))
    assert all(reason.what and reason.why for reason in reasons)
    assert len({reason.what for reason in reasons}) == len(reasons)


@pytest.mark.parametrize("folder, message", [(None, "names no checkout"), ("empty", "has no folder tests")])
def test_where_there_is_no_checkout_it_says_so(folder, message, tmp_path, monkeypatch):
    monkeypatch.delenv("JAX_CHECKOUT", raising=False)
    if folder is not None:
        monkeypatch.setenv("JAX_CHECKOUT", str(tmp_path))
    with pytest.raises(SystemExit, match=message):
        main(["array_test.py"])
