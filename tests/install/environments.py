"""Clean environments for the install tests: wheels built once for each state of the tree, and fresh ones in a second.

uv, where it is installed, makes an environment from its cache in a second; without it `venv` and pip take ten.
`TANGRAD_TEST_INSTALLER=pip` asks for the latter.
"""

import functools
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.build_wheels import kept
from tools.workspace import ROOT

UV = (sys.executable, "-m", "uv")
HAVE_UV = (
    os.environ.get("TANGRAD_TEST_INSTALLER") != "pip"
    and subprocess.run([*UV, "--version"], capture_output=True).returncode == 0
)
TIME_OUT = 900  # seconds for one command, downloads included
PACKAGING = {"pip", "setuptools", "wheel", "pkg_resources", "_distutils_hack", "_virtualenv.py", "_virtualenv.pth"}
# What the environment of the tests must not hand on: the paths and choices of the one who runs them.
NOT_HANDED_ON = ("PYTHON", "TANGRAD", "JAX", "XLA", "VIRTUAL_ENV", "COV", "PYTEST")


class CommandError(AssertionError):
    """A command in a clean environment failed; the message is what it printed."""


def run(command: list[str], **options) -> subprocess.CompletedProcess:
    """Run a command, and raise `CommandError` with all its output if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_OUT, **options)
    if done.returncode:
        raise CommandError(f"{' '.join(command[:6])}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


@functools.cache
def wheel_folder(root: Path = ROOT) -> Path:
    """Return the folder with the wheels of a tree, which no test changes once it has asked for them."""
    return kept(root)


def unpack(wheels: Path, target: Path) -> None:
    """Lay all wheels of a folder down side by side, as an installer does, without their dependencies."""
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)


@dataclass(frozen=True)
class Environment:
    """A virtual environment of its own, with nothing in it that was not asked for."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def site(self) -> Path:
        """The folder that packages are installed into."""
        if os.name == "nt":
            return self.folder / "Lib/site-packages"
        return next(self.folder.glob("lib/python*/site-packages"))

    def install(self, *requirements: str | Path, editable: bool = False, find_ours: bool = True) -> None:
        """Install requirements: names of distributions (ours come from the tree), or paths of wheels or projects.

        `find_ours`: False if the requirements say by themselves where ours are.
        """
        wanted = [argument for item in requirements for argument in (["-e", str(item)] if editable else [str(item)])]
        ours = ["--find-links", str(wheel_folder())] if find_ours else []
        if not HAVE_UV:
            quiet = ["--quiet", "--disable-pip-version-check", "--no-warn-script-location"]
            run([sys.executable, "-m", "pip", "--python", str(self.python), "install", *quiet, *ours, *wanted])
            return
        # Bytecode of all of SciPy would take a hundred times as long as its links; what is imported is compiled then.
        command = [*UV, "pip", "install", "-q", "--python", str(self.python)]
        # A wheel of ours may have changed under the same version: never from the cache of an earlier one.
        command += ["--refresh-package", "tangrad", *_refresh(), *ours, *wanted]
        try:
            run([*command, "--offline"])
        except CommandError:  # something is not in uv's cache yet
            run(command)

    def run(self, program: str, *, variables: dict[str, str] | None = None) -> str:
        """Run a Python program, warnings being errors, and return what it printed."""
        command = [str(self.python), "-W", "error", "-c", program]
        return run(command, cwd=self.folder, env=self._variables(variables)).stdout

    def command(self, *arguments: str, variables: dict[str, str] | None = None) -> str:
        """Run a script that is installed in the environment (`tangrad plugins`), and return what it printed."""
        script = self.python.parent / arguments[0]
        return run([str(script), *arguments[1:]], cwd=self.folder, env=self._variables(variables)).stdout

    def installed(self) -> set[str]:
        """Return the names of the installed distributions, those of the packaging tools left out."""
        program = "import importlib.metadata as m\nprint(*(d.metadata['Name'] for d in m.distributions()))"
        return set(self.run(program).split()) - PACKAGING

    def size_beside(self, *packages: str) -> int:
        """Return the bytes of everything that wheels put here, but for the named packages (and their `.libs` folders).

        Bytecode is left out: Python writes it, and `pip install --no-compile` does not.
        """
        left_out = {*packages, *(f"{name}.libs" for name in packages), *PACKAGING}
        total = 0
        for path in self.site.rglob("*"):
            top = path.relative_to(self.site).parts[0]
            named = top in left_out or top.split("-")[0] in left_out
            if not named and path.suffix != ".pyc" and path.is_file():
                total += path.stat().st_size
        return total

    def _variables(self, extra: dict[str, str] | None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_HANDED_ON)}
        return kept | {"TANGRAD_CACHE_DIR": str(self.folder / "cache")} | (extra or {})


@dataclass(frozen=True)
class Layer(Environment):
    """Some of our wheels unpacked into a folder, with links to the libraries that they require: made in a moment.

    The libraries come from a real environment, `base`; its own site is switched off, so nothing else can be imported.
    """

    base: Environment

    @property
    def python(self) -> Path:
        return self.base.python

    def run(self, program: str, *, variables: dict[str, str] | None = None) -> str:
        """As in an environment, with this folder in the place of `site-packages`."""
        command = [str(self.python), "-S", "-W", "error", "-c", program]
        own = {"PYTHONPATH": str(self.folder), **(variables or {})}
        return run(command, cwd=self.folder, env=self._variables(own)).stdout


def layer(folder: Path, base: Environment, names: Iterable[str], wheels: Path | None = None) -> Layer:
    """Make a layer of those of our distributions that have these names, and of what they require.

    `wheels`: the folder that they are taken from; None: those of the tree as it stands.
    """
    folder.mkdir()
    wanted = set(names)
    for wheel in (wheels or wheel_folder()).glob("*.whl"):
        if wheel.name.split("-")[0].replace("_", "-") in wanted:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
    installed = {canonicalize_name(one.metadata["Name"]): one for one in metadata.distributions(path=[str(base.site)])}
    pending = [line for one in metadata.distributions(path=[str(folder)]) for line in one.requires or ()]
    while pending:
        requirement = Requirement(pending.pop())
        name = canonicalize_name(requirement.name)
        if name in wanted or (requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})):
            continue
        wanted.add(name)
        if name not in installed:  # what an extra brings, and is imported where it pays
            continue
        pending += installed[name].requires or ()
        for top in {
            file.parts[0] for file in installed[name].files or () if file.parts[0] not in ("..", "__pycache__")
        }:
            (folder / top).symlink_to(base.site / top)
    return Layer(folder, base)


def _refresh() -> list[str]:
    return [part for wheel in wheel_folder().glob("*.whl") for part in ("--refresh-package", wheel.name.split("-")[0])]


def new_environment(folder: Path) -> Environment:
    """Make an empty virtual environment with the running Python."""
    if HAVE_UV:
        run([*UV, "venv", "-q", "--python", sys.executable, str(folder)])
    else:
        venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    return Environment(folder)
