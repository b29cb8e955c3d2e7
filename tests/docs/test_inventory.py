"""The inventory of names for the documentation of other projects."""

import zlib

from tools.docs.inventory import inventory


def test_an_inventory_has_a_line_for_each_name():
    *header, rest = inventory("P", "1.0", {"p.b": "b/#p.b", "p.a": "a/#p.a"}).split(b"\n", 4)
    assert header[0] == b"# Sphinx inventory version 2" and header[1:3] == [b"# Project: P", b"# Version: 1.0"]
    assert zlib.decompress(rest).decode().splitlines() == ["p.a py:obj 1 a/#p.a -", "p.b py:obj 1 b/#p.b -"]
