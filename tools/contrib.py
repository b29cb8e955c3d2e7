"""Tests the packages of `contrib/` as their users get them: `python -m tools.contrib [NAME ...]`.

Each is built as a wheel and installed, with Tangrad's own wheels, into an environment of its own; its tests run there,
and nothing may be wrong with the installation. Then all are installed together, and each is taken away once. Nothing of
the working tree is imported.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tools.build_wheels import build
from tools.workspace import ROOT

FOLDER = ROOT / "contrib"
BUILD = ROOT / "build" / "contrib"
# A test of one package may not take longer, in seconds.
LIMIT = 1200
# What has to hold of an installation: no plugin is set aside, no rule is missing or claimed twice, no other problem.
EXAMINATIONS = (("plugins", "--load", "--check"), ("rules", "--check"), ("doctor",))


def packages() -> dict[str, Path]:
    """Name -> folder, of every package."""
    return {project.parent.name: project.parent for project in sorted(FOLDER.glob("*/pyproject.toml"))}


def run(*command: str | Path, cwd: Path | None = None) -> None:
    """Run a command; raises CalledProcessError or TimeoutExpired if it fails or hangs."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TANGRAD_", "PYTHON"))}
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, timeout=LIMIT, env=clean)


def uv(command: str, python: Path, *arguments: str | Path) -> None:
    """Run one of uv's commands on the packages of an environment."""
    run(sys.executable, "-m", "uv", "pip", command, "--quiet", "--python", python, *arguments)


def environment(name: str, requirements: list[str]) -> Path:
    """An environment with these, found among the built wheels first; its interpreter."""
    folder = BUILD / "environments" / name
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    # Wheels of the same version as last time are others: what uv remembers of them does not hold.
    uv("install", python, "--refresh", "--find-links", BUILD / "wheels", *requirements)
    return python


def wheel_name(folder: Path) -> str:
    """The name of the distribution in a folder."""
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"]


def examine(python: Path) -> None:
    """Raise CalledProcessError if anything is wrong with an installation. What is said of it is shown only then."""
    for arguments in EXAMINATIONS:
        command = [str(python), "-m", "tangrad", *arguments]
        done = subprocess.run(command, cwd=BUILD, timeout=LIMIT, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n", flush=True)
            done.check_returncode()


def test(python: Path, folders: Iterable[Path]) -> None:
    """Run the packages' tests in an environment, away from the working tree."""
    for folder in folders:
        tests = BUILD / "tests" / folder.name
        shutil.rmtree(tests, ignore_errors=True)
        shutil.copytree(folder / "tests", tests)
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tests, tests, cwd=tests)


def examine_without_each(python: Path, folders: Iterable[Path]) -> None:
    """Take each package away, look at what is left, and put it back."""
    for folder in folders:
        uv("uninstall", python, wheel_name(folder))
        print(f"without {folder.name}", flush=True)
        examine(python)
        uv("install", python, "--no-deps", "--find-links", BUILD / "wheels", wheel_name(folder))


def main() -> int:
    """Test the packages named on the command line, all of them if none is; the exit status is 0 if all passed."""
    known = packages()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; all, and together, if left out"
    )
    names = parser.parse_args().names
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"there is no {unknown[0]} in contrib/; there are {', '.join(known)}")
    wheels = BUILD / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    build(wheels)
    chosen = [known[name] for name in names or known]
    for folder in chosen:
        # With the Tangrad that was just built: packages may need it to build themselves.
        run(sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--find-links", wheels, "-o", wheels, folder)
    failed = []
    groups = [[folder] for folder in chosen] + ([chosen] if len(chosen) > 1 else [])
    for group in groups:
        title = " + ".join(folder.name for folder in group)
        print(f"\n== {title}", flush=True)
        try:
            needed = [f"{wheel_name(folder)}[test]" for folder in group]
            python = environment("-".join(folder.name for folder in group), needed)
            examine(python)
            test(python, group)
            if len(group) > 1:
                examine_without_each(python, group)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"== {title}: FAILED ({error})", flush=True)
            failed.append(title)
    print(f"\nFAILED: {', '.join(failed)}" if failed else "\nall passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
