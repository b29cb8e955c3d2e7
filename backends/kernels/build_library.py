"""Compiles the kernels while the wheel is built: a compiler of C++17 is all that it needs.

`CXX` names the compiler; without it `c++`, `g++` and `clang++` are looked for (not on Windows), then the one of the
package `ziglang`.
`python build_library.py FOLDER` compiles alone; TANGRAD_KERNELS_LIBRARY is then the path of the library.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FILE = {"win32": "tangrad_kernels.dll", "darwin": "libtangrad_kernels.dylib"}.get(sys.platform, "libtangrad_kernels.so")
WINDOWS = sys.platform == "win32"
PACKAGE = Path("tangrad", "_kernels")


def compiler() -> list[str] | None:
    """The command of a compiler of C++17 that takes GCC's options; None where there is none."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    found = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if found is not None and not WINDOWS:  # there what these build needs libraries of their own
        return [found]
    return [sys.executable, "-m", "ziglang", "c++"] if importlib.util.find_spec("ziglang") is not None else None


def compile_library(folder: Path, *more: str) -> Path:
    """Compile into a folder, and return the library's path. `more`: options of the compiler.

    Raises:
        RuntimeError: where there is no compiler, or it fails; its text is the compiler's.
    """
    command = compiler()
    if command is None:
        raise RuntimeError(
            "building tangrad-kernels needs a compiler of C++17, and none was found: install c++, g++ or clang++, name "
            "another by the variable CXX, or `pip install ziglang`. Tangrad works without this distribution."
        )
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / FILE
    options = ["-std=c++17", "-O3", "-fno-math-errno", "-w", "-fvisibility=hidden", "-shared", *more]
    if not WINDOWS:
        options += ["-fPIC", "-pthread"]
    sources = sorted((HERE / "native").glob("*.cc"))
    done = subprocess.run([*command, *options, *sources, "-o", library], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)} could not compile tangrad-kernels:\n{done.stderr or done.stdout}")
    return library


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # it is asked for the library alone
    pass
else:

    class BuildLibrary(BuildHookInterface[Any]):
        """Puts the library into the wheel, which is then for this platform, and for every Python 3."""

        def dependencies(self) -> list[str]:
            """Return what is to be installed for that: on Windows the compiler."""
            return ["ziglang"] if WINDOWS and compiler() is None else []

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Compile, but for an editable wheel: what is edited has no library."""
            if version == "editable":
                return
            library = compile_library(HERE / "build")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{re.sub(r'[-.]', '_', sysconfig.get_platform())}"
            build_data["force_include"][str(library)] = str(PACKAGE / FILE)

        def finalize(self, version: str, build_data: dict[str, object], artifact_path: str) -> None:
            """Remove what was built on the way."""
            shutil.rmtree(HERE / "build", ignore_errors=True)


if __name__ == "__main__":
    print(compile_library(Path(sys.argv[1]).resolve()))
