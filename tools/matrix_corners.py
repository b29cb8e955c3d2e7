"""The corners of the matrix, read from the tree: versions of Python from classifiers, libraries from requirements."""

import re
import subprocess
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from tools.workspace import ROOT, Distribution, distributions, requirement_name, supported_pythons, umbrella

OLDEST, NEWEST = "oldest", "newest"
# What is installed for the tests: the group that pytest is in, and that of the peers.
TESTING, PEERS = "test", "peers"


@dataclass(frozen=True)
class Corner:
    """One environment to test in.

    Attributes:
        name: such as `3.13-oldest`.
        python: its version, such as `3.13`.
        releases: which of the allowed ones are taken, OLDEST or NEWEST.
        pins: requirements beside those of the distributions.
        without: libraries that are not installed; nor are the distributions that require them.
        tests: `smoke`, `full`, or `xla`, which is the latter without the NumPy backend.
    """

    name: str
    python: str
    releases: str
    pins: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    tests: str = "smoke"

    @property
    def is_newest_of_everything(self) -> bool:
        """Whether more than a smoke test is meant for it: nothing that is found here is newer."""
        return self.tests != "smoke"

    @property
    def interpreter(self) -> Path | None:
        """The path of its Python; None where it is not installed."""
        return find_python(f"python{self.python}")

    @property
    def distributions(self) -> list[Distribution]:
        """The distributions of the tree that are installed."""
        left_out = {part.name for part in distributions().values() if self._lacks(part)}
        return [part for part in (*distributions().values(), umbrella()) if part.name not in left_out]

    def _lacks(self, part: Distribution) -> bool:
        return any(requirement_name(line) in self.without for line in part.foreign_requirements)

    @property
    def requirements(self) -> list[str]:
        """What the distributions require of others, the pins with it; sorted."""
        lines = {line for part in self.distributions for line in part.foreign_requirements}
        return sorted(lines | set(self.pins))

    def with_tests(self, tests: str) -> "Corner":
        """The same corner with other tests."""
        return replace(self, tests=tests)


@cache
def find_python(command: str) -> Path | None:
    """The path of an interpreter that a command names, as the Makefile finds it; None where it is not there."""
    done = subprocess.run([str(ROOT / "tools/find_python.sh"), command], capture_output=True, text=True)
    return Path(done.stdout.strip()) if done.returncode == 0 else None


def all_corners() -> list[Corner]:
    """Every corner; the newest of everything first, the one that says most."""
    pythons = candidates()
    newest = max((p for p in pythons if find_python(f"python{p}")), key=_minor, default=pythons[-1])
    corners = [
        Corner(
            f"{python}-{releases}",
            python,
            releases,
            tests="full" if (python, releases) == (newest, NEWEST) else "smoke",
        )
        for python in sorted(pythons, key=_minor, reverse=True)
        for releases in (NEWEST, OLDEST)
    ]
    # Each minor release of jaxlib but the newest with the newest of the rest: it has the private interfaces.
    for minor in jaxlib_releases(newest)[:-1]:
        corners.append(Corner(f"{newest}-jaxlib-{minor}", newest, NEWEST, pins=(f"jaxlib=={minor}.*",)))
    # The NumPy backend alone on the oldest NumPy, older than jaxlib and ml_dtypes ask for.
    bare = ("jaxlib", "ml_dtypes")
    corners.append(Corner(f"{pythons[0]}-numpy-alone", pythons[0], OLDEST, without=bare))
    return sorted(corners, key=lambda corner: not corner.is_newest_of_everything)


def candidates() -> list[str]:
    """The versions of Python that are supported, and the next one."""
    supported = list(supported_pythons())
    return [*supported, f"3.{_minor(supported[-1]) + 1}"]


def _minor(python: str) -> int:
    return int(python.partition(".")[2])


def _requirement(name: str) -> str:
    lines = {line for part in distributions().values() for line in part.foreign_requirements}
    (found,) = [line for line in lines if requirement_name(line) == name]
    return found


def jaxlib_releases(python: str) -> list[str]:
    """The minor releases of jaxlib that are allowed and exist for a Python: up to that of the JAX that is its peer."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    peers = [Requirement(line) for line in groups[PEERS] if requirement_name(line) == "jax"]
    (peer,) = [one for one in peers if one.marker is None or one.marker.evaluate({"python_version": python})]
    return [minor for minor in minor_releases(_requirement("jaxlib")) if _has_release_below(peer, minor)]


def _has_release_below(peer: Requirement, minor: str) -> bool:
    upper = next(bound.version for bound in peer.specifier if bound.operator == "<")
    return Version(minor) < Version(upper)


def minor_releases(requirement: str) -> list[str]:
    """The minor releases from the lower bound of a requirement to below the upper one.

    >>> minor_releases("jaxlib>=0.10,<0.13")
    ['0.10', '0.11', '0.12']
    """
    match = re.search(r">=(\d+)\.(\d+),<(\d+)\.(\d+)", requirement)
    if match is None or match[1] != match[3]:
        raise ValueError(f"expected a requirement of minor releases such as >=0.10,<0.13, got {requirement!r}")
    return [f"{match[1]}.{minor}" for minor in range(int(match[2]), int(match[4]))]
