"""The public API of Tangrad, composed: names resolve through the entry points of `tangrad.api` at their first use."""

import os
import sys


def _portions(path: list[str]) -> list[str]:
    """Return `path` and every other folder `tangrad` on `sys.path`: each distribution owns a part of this package.

    One `isdir` per entry: `pkgutil.extend_path` does the same with path importers and costs an import.
    Installed from wheels all parts share one folder; editable installs add theirs through `.pth` files.
    The empty entry (the current folder of an interactive session) would go stale with a `chdir`: left out.
    """
    for entry in sys.path:
        if entry and isinstance(entry, str):
            portion = os.path.join(entry, "tangrad")
            if portion not in path and os.path.isdir(portion):
                path.append(portion)
    return path


__path__ = _portions(__path__)

from tangrad._core.composition.api import public_package  # noqa: E402  (needs the extended path)

__getattr__, __dir__ = public_package(__name__)
