"""The figures of the house are counted as they say."""

import subprocess

import pytest

from tools.house import Figures, main

CORE = {
    "core/pyproject.toml": """
        [project]
        name = "tangrad-core"
        version = "0.1.0"
        """,
    "core/tangrad/__init__.py": "",
    "core/tangrad/core/__init__.py": "from tangrad._core.kernel.trace import f as f\n",
    "core/tangrad/_core/kernel/__init__.py": "",
    "core/tangrad/_core/kernel/trace.py": (
        "# why\n\nfrom typing import Any\n\ndef f() -> Any: ...\ndef _g() -> Any: ...\n"
    ),
    "plugins/one/pyproject.toml": """
        [project]
        name = "tangrad-one"
        version = "0.1.0"
        dependencies = ["tangrad-core==0.1.*", "tangrad-two==0.1.*"]
        """,
    "plugins/one/LICENSE": "text",
    "plugins/one/tangrad/_one/__init__.py": "",
    "plugins/one/tangrad/_one/use.py": (
        "from tangrad._two.inner import x\nfrom tangrad.core import f\nthread.trace = x\n"
    ),
    "plugins/two/pyproject.toml": """
        [project]
        name = "tangrad-two"
        version = "0.1.0"
        dependencies = ["tangrad-core==0.1.*"]
        """,
    "plugins/two/tangrad/_two/__init__.py": "",
    "plugins/two/tangrad/_two/inner.py": "x = 1  # type: ignore  # nobody knows\n" + "y = 1\n" * 20,
    "README.md": "What it tells whoever reads.\n",
}
EXPECTED = {
    "tracked_files": 13,
    "distributions": 4,
    "projects": 3,
    "licences": 1,
    "short_files": 3,
    "forwarding": 1,
    "lines": 31,
    "import_cycles": 0,
    "kernel_names": 1,
    "inner_imports": 1,
    "anys": 3,
    "returning_any": 1,
    "ignored": 1,
    "traces_set": 1,
    "private_words": 3,
}


@pytest.fixture
def figures(tmp_path, monkeypatch):
    for name, text in CORE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([line.strip() for line in text.splitlines()]) + "\n" if "toml" in name else text)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return Figures(tmp_path)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_counted(figures, name):
    assert getattr(figures, name)() == EXPECTED[name]


def test_every_figure_has_a_line(figures, capsys):
    main(figures.root)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(EXPECTED) + 1
    assert any(line.split(maxsplit=1)[1] == "import cycles, as Python executes the modules" for line in lines)
