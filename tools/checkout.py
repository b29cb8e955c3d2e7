"""Builds `tangrad` where its neighbours are beside it, so that `pip install .` works before anything is published.

The build backend that the root `pyproject.toml` names. The wheel that it makes requires the wheels of its neighbours by
their paths, under `build/neighbours`, where it puts them first. Their version says which state of their files they have
(0.1.0+<digest>): of a checkout that has changed, pip installs anew what differs. What is published comes from
`python -m tools.build_wheels`, whose wheels require versions. An editable one does so, too: `make install` gives the
neighbours beside it.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hatchling.build import build_sdist, get_requires_for_build_sdist
from hatchling.builders.wheel import WheelBuilder

from tools import stubs
from tools.build_wheels import folder_state
from tools.metadata import configuration
from tools.workspace import ROOT, Distribution, distributions, requirement_name

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

WHEELS = ROOT / "build" / "neighbours"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what is to be installed before the wheel is built (PEP 517): what making the stubs imports."""
    return [] if stubs.are_current() else list(stubs.NEEDS)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build the wheel of `tangrad` into a folder, and return its name (PEP 517)."""
    stubs.ensure()
    config = configuration(ROOT)
    parts = distributions()
    wheels = {name: _wheel(part) for name, part in parts.items()}
    project = config["project"]
    project["dependencies"] = list(_by_path(project["dependencies"], parts, wheels))
    project["optional-dependencies"] = {
        extra: list(_by_path(lines, parts, wheels)) for extra, lines in project["optional-dependencies"].items()
    }
    builder = WheelBuilder(str(ROOT), config=config)
    return os.path.basename(next(builder.build(directory=wheel_directory, versions=["standard"])))


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build the editable wheel of `tangrad` into a folder, and return its name (PEP 660): it has no modules to link."""
    builder = WheelBuilder(str(ROOT), config=configuration(ROOT))
    return os.path.basename(next(builder.build(directory=wheel_directory, versions=["standard"])))


def _wheel(part: Distribution) -> Path:
    """Return the wheel of a neighbour as its files are now, built unless it is there."""
    config = configuration(part.folder)
    config["project"]["version"] += f"+{folder_state(part.folder)[:8]}"
    builder = WheelBuilder(str(part.folder), config=config)
    path = WHEELS / f"{builder.artifact_project_id}-py3-none-any.whl"
    if not path.exists():
        WHEELS.mkdir(parents=True, exist_ok=True)
        next(builder.build(directory=str(WHEELS), versions=["standard"]))
    return path


def _by_path(lines: Iterable[str], parts: dict[str, Distribution], wheels: dict[str, Path]) -> Iterator[str]:
    """Yield requirements with the paths of the neighbours' wheels, and those of the neighbours that they require."""
    listed = {requirement_name(line): line for line in lines}
    for name in _closure(listed, parts):
        line = listed.get(name, name)
        if name in parts:
            extras = line[line.index("[") : line.index("]") + 1] if "[" in line else ""
            yield f"{name}{extras} @ {wheels[name].as_uri()}"
        else:
            yield line


def _closure(names: Iterable[str], parts: dict[str, Distribution]) -> list[str]:
    """Return the names and those of the neighbours that they require, in turn."""
    found = list(dict.fromkeys(names))
    for name in found:  # grows while it is read
        required = parts[name].first_party_requirements if name in parts else ()
        found += [other for other in required if other not in found]
    return found
