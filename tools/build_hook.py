"""What building a distribution in the checkout does first: it makes the stubs, which the repository does not keep.

Named in the `pyproject.toml` of each distribution that has stubs. A source distribution contains them, and no hook.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.append(str(Path(__file__).resolve().parents[1]))  # a build of one folder does not see the workspace

from tools import stubs


class Stubs(BuildHookInterface):
    """Makes the stubs before files are collected, editable or not."""

    def dependencies(self) -> list[str]:
        """Return what is to be installed for that, where it has to be done."""
        return [] if stubs.are_current() else list(stubs.NEEDS)

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make them."""
        stubs.ensure()
