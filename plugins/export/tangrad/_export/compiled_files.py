"""The files of compiled programs, and what backends have that write them."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol, runtime_checkable

from tangrad.core import Executable, ShapedArray
from tangrad.core.backends import read_own_file
from tangrad.core.tools import cache_folder

# ----------------------------------------------------------------------------------------------------------------------
# The file of a compiled program: a header, a description in JSON, and the program. docs/warm-starts.md has the
# format. The digest detects damage. The seal, an HMAC of the digest, proves who wrote the file: machine code is run for
# those alone who have the key. Unless they agree on one it is a secret of the user's, a file beside Tangrad's caches.


MAGIC = b"tangrad\xe8"
VERSION = 1
_HEAD = struct.Struct("<8sHHIQ")  # magic, version, reserved, lengths of description and program
_DIGEST_BYTES = hashlib.sha256().digest_size
HEADER_BYTES = _HEAD.size + 2 * _DIGEST_BYTES
MOST_DESCRIPTION = 16 << 20
SECRET = "secret"
_SECRET_BYTES = 32
_UNSEALED = bytes(_DIGEST_BYTES)


class Unpacked(NamedTuple):
    """A file whose digest fits."""

    description: object
    program: bytes
    digest: bytes
    seal: bytes


def packed(description: Mapping[str, object], program: bytes, key: bytes | None) -> bytes:
    """The file, sealed with a key, or with the user's secret where that is None."""
    written = json.dumps(description, separators=(",", ":")).encode()
    head = _HEAD.pack(MAGIC, VERSION, 0, len(written), len(program))
    digest = hashlib.sha256(head + written + program).digest()
    return b"".join([head, digest, _seal(digest, key), written, program])


def unpacked(data: object) -> Unpacked:
    """The parts of a file. Raises ValueError for anything but a whole one of this version, TypeError for no bytes."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"load_compiled takes bytes, got {type(data).__name__}")
    view = memoryview(data).cast("B")
    if len(view) < HEADER_BYTES or bytes(view[: len(MAGIC)]) != MAGIC:
        refuse("it does not begin as one")
    _, version, reserved, described, size = _HEAD.unpack(view[: _HEAD.size])
    if version != VERSION or reserved:
        refuse(f"it has version {version} of the format; this release reads version {VERSION}")
    body = view[HEADER_BYTES:]
    if described > MOST_DESCRIPTION or len(body) != described + size:
        refuse(f"it claims {described} + {size} bytes after its header, and has {len(body)}")
    digest, seal = (bytes(view[at : at + _DIGEST_BYTES]) for at in (_HEAD.size, _HEAD.size + _DIGEST_BYTES))
    if hashlib.sha256(bytes(view[: _HEAD.size]) + body).digest() != digest:
        refuse("its contents were altered")
    try:
        description = json.loads(bytes(body[:described]))
    except (ValueError, RecursionError) as error:
        refuse(f"its description cannot be read ({error})")
    return Unpacked(description, bytes(body[described:]), digest, seal)


def refuse(problem: str) -> NoReturn:
    """Raise ValueError for a file that is no compiled program."""
    raise ValueError(f"this is no compiled program: {problem}")


# --- seals -----------------------------------------------------------------------------------------------------------


def check_seal(found: Unpacked, key: bytes | None) -> None:
    """Raise PermissionError unless a file was sealed with a key, or with the user's secret where that is None."""
    expected = _seal(found.digest, key)
    if expected == _UNSEALED or not hmac.compare_digest(expected, found.seal):
        whose = "this key" if key is not None else "this user's secret"
        if expected == _UNSEALED:
            whose += " (there is none: it needs a cache folder that belongs to this user alone)"
        raise PermissionError(
            f"the file holds machine code, and is not sealed with {whose}: who wrote it could have it do anything. If "
            "you trust its origin, say load_compiled(data, trusted=True), or write and read it with one key=..."
        )


def _seal(digest: bytes, key: bytes | None) -> bytes:
    if key is not None and (not isinstance(key, bytes) or len(key) < 16):
        raise ValueError("key must be at least 16 bytes that others do not know, such as secrets.token_bytes(32)")
    secret = _users_secret() if key is None else key
    return _UNSEALED if secret is None else hmac.digest(secret, digest, "sha256")


def _users_secret() -> bytes | None:
    """The secret of the user, made at first use; None where there is no folder for it, and files are not sealed."""
    records = cache_folder(os.environ)
    if records is None:
        return None
    folder = Path(records).parent
    path = folder / SECRET
    try:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make_secret(folder, path)
        if hasattr(os, "getuid") and path.stat().st_mode & 0o077:
            return None  # others can read it, so it is no proof of who wrote a file
        found = read_own_file(str(path))
    except OSError:
        return None
    return found if len(found) == _SECRET_BYTES else None


def _make_secret(folder: Path, path: Path) -> None:
    """Write a secret as a whole, unless another process was faster: that one's stays."""
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".secret-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)


# --- What a backend has whose compiled programs can be written to files, and read -------------------------------------


@runtime_checkable
class StoresPrograms(Protocol):
    """A backend that writes its compiled programs. Both methods are optional in backends: this asks for both."""

    def store_program(self, program: object) -> tuple[dict[str, object], bytes]:
        """The bytes of one of its executables, and what they are for: names with text, numbers, lists and dictionaries.

        Raises NotImplementedError for a program that cannot be written, with the reason.
        """

    def restore_program(
        self,
        name: str,
        facts: Mapping[str, object],
        data: bytes,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
    ) -> Executable:
        """The executable of bytes, and of the types of its arguments and results.

        `facts` has what `store_program` returned, and a file may say anything; `facts["device"]` is the device that the
        program was compiled for by `jit(device=)`, or None. Raises ValueError where they are not for
        this machine, this version and this device.
        """
        ...
