"""A folder like `site-packages`, filled with distributions by hand: what the tests of the composition install."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tangrad._core.composition.registry import Composition

EntryPoints = Mapping[str, Mapping[str, str]]


class Site:
    """Makes distributions in a folder, compositions that look there, and processes that do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder.parent / "cache"
        folder.mkdir(exist_ok=True)

    def add(
        self, name: str, entry_points: EntryPoints | str | bytes, version: str = "1.0", modules: Mapping[str, str] = {}
    ) -> Path:
        """Install a distribution; returns its entry_points.txt."""
        folder = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file = folder / "entry_points.txt"
        text = entry_points if isinstance(entry_points, str | bytes) else ini(entry_points)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        for path, source in modules.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(source)
        return file

    def fill(self, count: int) -> None:
        """Add distributions without plugins, until the folder is large enough to be worth a record."""
        for number in range(count):
            (self.folder / f"filler_{number}-1.0.dist-info").mkdir()

    def age(self) -> None:
        """Make the folder look as if it had changed long ago; one that changed just now is not recorded."""
        past = time.time() - 3600
        os.utime(self.folder, (past, past))

    def composition(self, **environment: str) -> Composition:
        """Return a composition of this folder alone."""
        return Composition([str(self.folder)], {"TANGRAD_CACHE_DIR": "0", **environment})

    def run(self, code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a program, or with `code` empty a command, in a process that has this folder on its path."""
        command = [sys.executable, "-W", "error", *(["-c", code] if code else []), *arguments]
        settings = {**os.environ, "PYTHONPATH": str(self.folder), "TANGRAD_CACHE_DIR": "0", **environment}
        return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=120, check=False)


def ini(entry_points: EntryPoints) -> str:
    """Return the text of an entry_points.txt."""
    sections = (
        f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in rows.items()) for group, rows in entry_points.items()
    )
    return "\n".join(sections)
