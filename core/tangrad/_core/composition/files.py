"""Files whose contents are trusted, or whose reading must not stop the process: opened once, and judged when open.

What was found out about a path says nothing about the file that is opened under it a moment later. So the owner, the
mode and the type are asked of the descriptor.
"""

import os
import stat

_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 16


def read_regular_file(file: str) -> bytes:
    """Return the contents of a regular file.

    Raises OSError where there is none, or it cannot be read; for anything else, such as a pipe, whose reading would
    wait for a writer, too.
    """
    return _contents(file, _READ, False)


def read_own_file(file: str) -> bytes:
    """Return the contents of a regular file that belongs to this user, and to which no other user may write.

    Raises OSError where there is none, it cannot be read, or is not so; a symbolic link is not followed.
    """
    return _contents(file, _READ | _NO_LINKS, hasattr(os, "getuid"))


def _contents(file: str, flags: int, must_be_own: bool) -> bytes:
    # Three system calls for a small file, where `open` makes six and an object of each layer.
    descriptor = os.open(file, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{file} is not a regular file")
        if must_be_own and status.st_uid != os.getuid():
            raise PermissionError(f"{file} belongs to another user")
        if must_be_own and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{file} can be written to by other users")
        parts = []
        while part := os.read(descriptor, max(_CHUNK, status.st_size + 1)):
            parts.append(part)
            if len(part) < _CHUNK:
                break
        return b"".join(parts)
    finally:
        os.close(descriptor)


def write_new_file(file: str, contents: bytes) -> None:
    """Write a file that must not exist, for this user alone. Raises OSError, also where the disk takes only a part."""
    descriptor = os.open(file, _WRITE, 0o600)
    try:
        if os.write(descriptor, contents) != len(contents):
            raise OSError(f"{file} is not written as a whole")
    finally:
        os.close(descriptor)


def pass_on_time_out(error: Exception) -> None:
    """Raise a TimeoutError that a signal handler has raised: it says nothing about a file, as one of the system does.

    That of the system has a number.
    """
    if isinstance(error, TimeoutError) and error.errno is None:
        raise error
