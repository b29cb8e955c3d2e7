"""The public modules of distributions: names of inner modules, loaded one by one."""

import importlib
import subprocess
import sys
import warnings

import pytest

from tangrad.core import door
from tools.generate_api import door_names
from tools.workspace import distributions

DOORS = {
    module: door_names(path)
    for part in distributions().values()
    for module, path in part.modules.items()
    if door_names(path)
}


@pytest.mark.parametrize("module", DOORS)
def test_every_name_is_there_and_is_listed(module):
    loaded = importlib.import_module(module)
    for name, inner in DOORS[module].items():
        assert getattr(loaded, name) is getattr(importlib.import_module(inner), name)
    assert dir(loaded) == sorted(DOORS[module])


def test_a_door_loads_what_is_taken_alone():
    code = (
        "import sys, tangrad.extend.lax as lax\n"
        "assert not any(name.startswith('tangrad._lax') for name in sys.modules)\n"
        "lax.Precision\n"
        "assert 'tangrad._lax.contractions.precision' in sys.modules\n"
        "assert 'tangrad._lax.windows.primitives' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match=r"module 'tangrad\.extend\.lax' has no attribute 'nowhere'"):
        importlib.import_module("tangrad.extend.lax").nowhere
    with pytest.raises(ImportError, match="nowhere"):
        exec("from tangrad.extend.lax import nowhere")


def test_former_names_warn_and_give_the_new_one():
    with pytest.warns(DeprecationWarning, match=r"write tangrad\.autodiff\.current_typed_axes"):
        from tangrad.autodiff import told_axes
    from tangrad.autodiff import current_typed_axes

    assert told_axes is current_typed_axes


def test_a_module_that_is_being_imported_is_no_missing_name(tmp_path, monkeypatch):
    (tmp_path / "half_of_it.py").write_text("import a_door\na_door.x\nx = 1\n")
    (tmp_path / "a_door.py").write_text(
        "from tangrad.core import door\n__getattr__, __dir__ = door(__name__, {'half_of_it': 'x'})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"half_of_it\.x is not there yet: half_of_it is being imported"):
        importlib.import_module("half_of_it")


def test_the_table_decides():
    getter, lister = door("tangrad.core", {"math": "pi tau"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lister() == ["pi", "tau"]
        with pytest.raises(AttributeError, match="no attribute 'e'"):
            getter("e")
