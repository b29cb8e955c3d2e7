"""The public modules of `tangrad.scipy`, which have no files: imported first, listed, described, found by tools."""

import importlib
import importlib.util
import pkgutil
import pydoc
import subprocess
import sys

import pytest

import tangrad.scipy
from tools.generate_api import made_modules
from tools.workspace import distributions

MADE = made_modules(distributions()["tangrad-scipy"].modules)


def test_each_is_known_by_the_name_that_it_is_imported_by():
    assert len(MADE) == 43 and {"tangrad.scipy.stats", "tangrad.scipy.stats.norm"} <= MADE.keys()
    for name, place in MADE.items():
        module = importlib.import_module(name)
        assert module.__name__ == name and module.__doc__ and dir(module), name
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.name == name and spec.parent == module.__package__, name
        assert hasattr(module, "__path__") == (place.name == "__init__.py"), name
        assert place.with_suffix(".pyi").is_file() and not place.is_file(), name


@pytest.mark.parametrize(
    "program",
    [
        "import tangrad.scipy.stats.norm as norm; norm.logpdf",
        "from tangrad.scipy.stats import norm; norm.cdf",
        "from tangrad.scipy import linalg; linalg.expm",
        "import tangrad; tangrad.scipy.cluster.vq.vq",
        "from tangrad.example_libraries.stax import Dense",
        "import tangrad.scipy.sparse.linalg, sys; sys.modules['tangrad.scipy.sparse.linalg'].cg",
    ],
)
def test_any_of_them_may_be_imported_first(program):
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_what_there_is_not_is_a_module_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"tangrad\.scipy\.stats\.nowhere"):
        importlib.import_module("tangrad.scipy.stats.nowhere")
    with pytest.raises(AttributeError, match="nowhere"):
        tangrad.scipy.stats.norm.nowhere


def test_help_and_completion_show_them():
    assert {"norm", "gamma", "mode"} <= set(dir(tangrad.scipy.stats))
    text = pydoc.plain(pydoc.render_doc(tangrad.scipy.stats))
    assert "SUBMODULES" in text and "Statistics as in `scipy.stats`" in text
    assert not list(pkgutil.iter_modules(tangrad.scipy.stats.__path__))
