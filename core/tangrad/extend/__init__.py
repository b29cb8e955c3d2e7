"""What distributions offer to other distributions: `tangrad.extend.lax` is the door of tangrad-lax, and so on."""

import os as _os

import tangrad as _tangrad

# Every distribution has a module in this package.
__path__ = [
    path for path in [_os.path.join(portion, "extend") for portion in _tangrad.__path__] if _os.path.isdir(path)
]
