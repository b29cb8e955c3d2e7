"""What type checkers say of authors' packages, and jaxtyping of arrays: what is wrong is found, and nothing else is."""

import inspect
import os
import re
import sys
from pathlib import Path

import jaxtyping
import pytest

import tangrad
import tangrad.autodiff
import tangrad.batching
import tangrad.numpy as np
from tangrad import core
from tangrad._core.composition.hook_names import ARGUMENTS
from tangrad.core import composition, protocols
from tangrad.core.tools import rule_kinds
from tests.install.environments import run
from tools.workspace import ROOT, distributions

SAMPLE = Path(__file__).parent / "typed" / "rules.py"


@pytest.mark.slow
def test_rules_of_the_wrong_form_are_reported(tmp_path):
    folders = os.pathsep.join(str(part.folder) for part in distributions().values())
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--explicit-package-bases"]
    command += ["--follow-imports=silent", "--ignore-missing-imports", f"--cache-dir={tmp_path}", str(SAMPLE)]
    text = ""
    try:
        run(command, env={**os.environ, "MYPYPATH": folders}, cwd=ROOT)
    except AssertionError as error:
        text = str(error)
    reported = {int(line) for line in re.findall(r"rules\.py:(\d+): error", text)}
    lines = SAMPLE.read_text().splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if line.endswith("  # wrong")}
    assert len(wanted) > 15
    assert reported == wanted, text


def positional(function) -> list[str]:
    """The names of the parameters that are given by position."""
    found = list(inspect.signature(function).parameters.values())
    return [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)][1:]


@pytest.mark.parametrize("kind", rule_kinds())
def test_every_kind_of_rule_has_a_protocol(kind):
    """As many positional arguments as its owner says that its rules take."""
    protocol = protocols.RULES[kind.partition(".")[0]]
    signature = composition().find("tangrad.rule_kinds", kind).load().signature
    stated = [name.strip() for name in signature[1 : signature.index(")")].split(",")]
    count = len([name for name in stated if not name.startswith("*")])
    if "*" in stated:  # what follows is given by keyword
        count = stated.index("*")
    assert len(positional(protocol.__call__)) == count, signature


@pytest.mark.parametrize("hook", ARGUMENTS)
def test_every_hook_has_a_protocol(hook):
    named = [getattr(protocols, name) for name in dir(protocols)]
    (method,) = [vars(one)[hook] for one in named if hook in getattr(one, "__dict__", {})]
    assert tuple(positional(method)) == ARGUMENTS[hook]


@pytest.mark.parametrize(
    ("protocol", "implementation"),
    [
        (protocols.AxisInfo, tangrad.batching.AxisInfo),
        (protocols.Linearized, tangrad.autodiff.Linearized),
        (protocols.PartialEval, tangrad.autodiff.PartialEval),
    ],
    ids=lambda one: one.__name__,
)
def test_the_kernels_classes_have_what_the_protocols_say(protocol, implementation):
    for name in protocols.members(protocol):
        declared = {
            name for one in implementation.__mro__ for name in (*vars(one), *vars(one).get("__annotations__", ()))
        }
        assert name in declared, f"{implementation.__name__} has no {name}"
        method = vars(protocol).get(name)
        if inspect.isfunction(method):
            assert positional(method) == positional(getattr(implementation, name)), name


def test_the_kernels_classes_are_their_own_protocols():
    for name in ("Backend", "Executable", "Primitive", "Trace", "Tracer"):
        assert getattr(protocols, name) is getattr(core, name)
    assert {"name", "put", "api", "synchronize"} <= protocols.members(core.Backend)


def test_what_an_object_lacks_can_be_asked():
    class Half:
        name = "half"

        @property
        def platform(self):
            raise RuntimeError("isinstance must not run properties")

    assert not isinstance(Half(), protocols.Backend)
    assert isinstance(composition().find("tangrad.backends", "numpy").load(), protocols.Backend)


@pytest.mark.parametrize(
    ("array", "kind", "shape", "fits"),
    [
        (np.ones((2, 3)), "Float", "2 b", True),
        (np.ones(3), "Float", "a b", False),
        (np.arange(3), "Int", "a", True),
        (np.arange(3), "Float", "a", False),
        (np.zeros(2, "bool"), "Bool", "...", True),
    ],
)
def test_an_array_is_of_an_annotation_of_its_shape_and_dtype(array, kind, shape, fits):
    annotation = getattr(jaxtyping, kind)[tangrad.Array, shape]
    assert isinstance(array, annotation) is fits


def test_so_are_tracers():
    kinds = []

    @tangrad.jit
    def function(x):
        kinds.append(isinstance(x, jaxtyping.Float[tangrad.Array, "2 b"]))
        return x

    function(np.ones((2, 3)))
    function(np.ones(2))
    assert kinds == [True, False]
