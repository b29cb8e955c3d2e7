"""Comparing optimised HLO: the text without what cannot matter to speed (names, source metadata, numbering)."""

import json
import re

HEADER_NAME = re.compile(r"^HloModule [^,\s]+")
DROPPED_METADATA = re.compile(r",? ?(metadata|frontend_attributes)=\{(?:[^{}\"]|\"(?:[^\"\\]|\\.)*\"|\{[^{}]*\})*\}")
NAME = re.compile(r"%[\w.\-]+")
SIGNATURE = re.compile(r"^(?:ENTRY )?%[^\s]+ \(.*\) -> .*\{$", re.MULTILINE)
SIGNATURE_NAME = re.compile(r"[\w.\-]+: ")
TABLE = re.compile(r"^(FileNames|FunctionNames|FileLocations|StackFrames)\b")


def normalised(text: str) -> str:
    """The module with instructions renumbered in order of appearance, and without metadata or module name."""
    lines = [line.rstrip() for line in _without_tables(text.splitlines())]
    body = DROPPED_METADATA.sub("", "\n".join(lines))
    body = HEADER_NAME.sub("HloModule module", body)
    body = SIGNATURE.sub(lambda match: SIGNATURE_NAME.sub("", match.group()), body)
    return _renumbered(_sorted_configs(body)).strip()


def _sorted_configs(text: str) -> str:
    """Keys of backend configurations in one order: XLA prints them in any. Those of custom calls are no JSON."""
    decoder = json.JSONDecoder()
    start, marker = 0, "backend_config="
    parts = []
    while (found := text.find(marker + "{", start)) >= 0:
        begin = found + len(marker)
        try:
            config, end = decoder.raw_decode(text, begin)
        except json.JSONDecodeError:
            parts.append(text[start : begin + 1])
            start = begin + 1
            continue
        parts += [text[start:begin], json.dumps(config, sort_keys=True)]
        start = end
    return "".join([*parts, text[start:]])


def _without_tables(lines: list[str]) -> list[str]:
    """Drop the tables of source locations, each of which ends at an empty line."""
    kept, inside = [], False
    for line in lines:
        if TABLE.match(line):
            inside = True
        elif inside and not line.strip():
            inside = False
        elif not inside:
            kept.append(line)
    return kept


def _renumbered(text: str) -> str:
    numbers: dict[str, str] = {}
    return NAME.sub(lambda match: numbers.setdefault(match.group(), f"%v{len(numbers)}"), text)


def first_difference(one: str, other: str) -> str:
    """The first lines that differ, for a note; empty where the texts are equal."""
    lines, others = one.splitlines(), other.splitlines()
    for number, (line, against) in enumerate(zip(lines, others, strict=False), 1):
        if line != against:
            return f"line {number}: {line.strip()[:100]} | {against.strip()[:100]}"
    return "" if len(lines) == len(others) else f"{len(lines)} lines | {len(others)} lines"
