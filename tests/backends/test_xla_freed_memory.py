"""What XLA's start asks of the C library about freed memory."""

import os
import platform
import subprocess
import sys

import pytest

freed_memory = pytest.importorskip("tangrad._backend_xla.freed_memory")

GIB = 1 << 30
PROGRAM = """
import resource, statistics
import tangrad
import tangrad.numpy as np

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

add = tangrad.jit(lambda x: x + 1)
x = np.ones(30_000_000, np.float32)
found = []
for _ in range(60):
    before = faults()
    add(x).block_until_ready()
    found.append(faults() - before)
print(int(statistics.median(found)))
"""


@pytest.fixture
def asked(monkeypatch):
    """Calls of mallopt, which do nothing: parameter -> value."""
    found = {}

    class Library:
        def __init__(self, _):
            self.mallopt = lambda parameter, value: found.update({parameter: value})

    monkeypatch.setattr(freed_memory, "CDLL", Library)
    monkeypatch.setattr(freed_memory.platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr(freed_memory, "_memory", lambda: 64 * GIB)
    monkeypatch.setattr(freed_memory, "processors", lambda: 4)
    for name in ("GLIBC_TUNABLES", *freed_memory.VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return found


def applied(word):
    setting = freed_memory.settings.xla_cpu_freed_memory
    with setting(word):
        freed_memory.apply()


@pytest.mark.parametrize("word", ["returned", "bounded", "kept"])
def test_the_setting_decides(asked, word):
    applied(word)
    assert asked == freed_memory.options(word, 64 * GIB, 4)


def test_what_is_asked_depends_on_the_machine():
    options = freed_memory.options
    assert options("returned", 64 * GIB, 1) == {}
    assert options("bounded", 2 * GIB, 2)[freed_memory.MMAP_THRESHOLD] == 64 << 20
    assert options("bounded", 2 * GIB - 1, 2) == {}
    assert freed_memory.ARENA_MAX not in options("bounded", 64 * GIB, 1)
    assert options("kept", 4 * GIB, 64)[freed_memory.MMAP_THRESHOLD] == 256 << 20
    for memory in (GIB, 16 * GIB, 1 << 45):  # values are of the type int of C
        assert all(value < 1 << 31 for value in options("kept", memory, 8).values())


@pytest.mark.parametrize(
    ("name", "value", "is_chosen"),
    [
        ("MALLOC_ARENA_MAX", "2", True),
        ("MALLOC_TRIM_THRESHOLD_", "65536", True),
        ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=65536", True),
        ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", False),
    ],
)
def test_what_the_user_chose_is_left(asked, monkeypatch, name, value, is_chosen):
    monkeypatch.setenv(name, value)
    applied("kept")
    assert bool(asked) != is_chosen


def test_other_c_libraries_are_left(asked, monkeypatch):
    monkeypatch.setattr(freed_memory.platform, "libc_ver", lambda: ("", ""))
    applied("kept")
    assert not asked


def test_the_limit_of_the_control_group_counts(monkeypatch, tmp_path):
    (tmp_path / "without").write_text("max\n")
    (tmp_path / "with").write_text("4096\n")
    monkeypatch.setattr(freed_memory, "LIMITS", (tmp_path / "absent", tmp_path / "without"))
    whole = freed_memory._memory()
    monkeypatch.setattr(freed_memory, "LIMITS", (tmp_path / "absent", tmp_path / "with"))
    assert freed_memory._memory() == min(whole, 4096)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have settings of their own")
def test_kept_memory_is_used_again():
    """A result of 120 MB takes 29,297 pages of 4 KiB: its memory comes from the kernel at the first calls only."""
    left = ("GLIBC_TUNABLES", *freed_memory.VARIABLES)
    environment = {name: value for name, value in os.environ.items() if name not in left}
    environment |= {"TANGRAD_BACKEND": "xla", "TANGRAD_XLA_CPU_FREED_MEMORY": "kept"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 29_297 / 4
