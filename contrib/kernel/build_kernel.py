"""Compiles the kernel while the wheel is built, with the machine's compiler of C++ (or the one that CXX names)."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jaxlib
from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

LIBRARY = "kernel.so"


class BuildKernel(BuildHookInterface[BuilderConfig]):
    """Puts the library into the wheel, which is then for this platform, and for every Python 3."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = Path(self.root, "src", "tangrad_rmsnorm")
        compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
        if compiler is None:
            raise RuntimeError(
                "building tangrad-rmsnorm needs a compiler of C++17: c++, g++, clang++, or what CXX names"
            )
        headers = Path(jaxlib.__file__).parent / "include"
        options = ["-std=c++17", "-O3", "-w", "-shared", "-fPIC", f"-I{headers}"]
        subprocess.run([compiler, *options, package / "kernel.cc", "-o", package / LIBRARY], check=True)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(iter(platform_tags()))}"
        build_data["artifacts"].append(f"src/tangrad_rmsnorm/{LIBRARY}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":  # which runs from where the sources are
            Path(self.root, "src", "tangrad_rmsnorm", LIBRARY).unlink(missing_ok=True)
