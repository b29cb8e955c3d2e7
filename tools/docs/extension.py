"""The page of everything that a package can register: groups of entry points, hooks, rule kinds; made of the code."""

from __future__ import annotations

import inspect
import re
from typing import Any

from tangrad._core.composition.hook_names import ARGUMENTS, GROUPS, PROGRAM_HOOKS, RULES
from tangrad._core.composition.manager import hook_of
from tangrad._core.kernel import hook_protocols
from tangrad.core import composition
from tangrad.core.protocols import RULES as PROTOCOLS
from tangrad.core.tools import rule_kinds
from tools.docs.docstrings import escape
from tools.workspace import distributions

PAGE = "reference/entry-points.md"
TITLE = "Entry points, hooks, rule kinds"
# Hook -> the method of the protocol that specifies it.
HOOKS = {
    name: function
    for protocol in vars(hook_protocols).values()
    if isinstance(protocol, type) and protocol.__module__ == hook_protocols.__name__
    for name, function in vars(protocol).items()
    if name.startswith("tangrad_")
}
# Groups that no hook asks for: what an entry's object is.
WITHOUT_HOOK = {
    "tangrad.hooks": "An object with functions marked by `hookimpl`; see the hooks below.",
    "tangrad.explanations": "An `Explanations`, called `missing`: what errors say of names that nothing provides.",
    "tangrad.groups": "Anything: who reads the group `tangrad.<name>`; entries in it are dormant without.",
    "tangrad.old_names": "A package; its modules import under the entry's name too, with a DeprecationWarning.",
    "tangrad.setting_names": "A `ForeignNames`: another library's names of settings, which begin with the entry's.",
    "tangrad.transformations": "A `Transformation`: its name, and the rule kinds that it owns.",
    "tangrad.samples": "A function without arguments that returns the `Sample`s of a family, for the conformance kit.",
    "tangrad.conformance_checks": "Checks of rules of a kind of one's own, for the conformance kit.",
}
_ENTRIES = re.compile(r"\s*Entry points: `[^`]*`\.")


def groups() -> list[str]:
    """Return every group that the kernel or a first-party distribution knows; those of rules as one."""
    used = {group for part in distributions().values() for group in part.entry_points if group.startswith("tangrad.")}
    return sorted({*GROUPS, *[group for group in used if not group.startswith(RULES)], RULES + "<kind>"})


def page() -> str:
    """Return the Markdown of the page."""
    lines = [
        f"# {TITLE}",
        "",
        "What a package registers in its `pyproject.toml`, or computes. How to go about it is in",
        "[Writing a plugin](../plugin-guide.md); `tangrad plugins` lists what is installed, `tangrad doctor` what is",
        "misspelt or never asked for.",
        "",
        "## Groups of entry points",
        "",
        "| group | an entry's object | for example |",
        "|---|---|---|",
        *[_group_row(group) for group in groups()],
        "",
        "The name of an entry is that of what it provides: the public name without `tangrad.`, the family, the kind,",
        "the setting. Of rule sets it is the family's, or the family's with a suffix (`elementwise.mine`), since a",
        "distribution may have several.",
        "",
        "## Rule kinds",
        "",
        "Without a rule: *derived* from the primitive's decomposition, a *default* of the kind's owner, or *optional*;",
        "else an error names what to write. The protocols are in `tangrad.core.protocols`.",
        "",
        "| kind | signature of a rule | protocol | what it computes | without a rule | owner |",
        "|---|---|---|---|---|---|",
        *[_kind_row(name) for name in rule_kinds()],
        "",
        "## Hooks",
        "",
        "Functions of a hook object, an entry of `tangrad.hooks`; each takes the arguments that it wants, by name.",
        "",
        *_hooks("What an object contributes", [name for name in _hook_names() if name not in PROGRAM_HOOKS]),
        *_hooks("What it does to programs, or observes", list(PROGRAM_HOOKS)),
    ]
    return "\n".join(lines) + "\n"


def _group_row(group: str) -> str:
    general = group.replace("<kind>", "jvp")
    about = WITHOUT_HOOK.get(group) or _summary(HOOKS[hook_of(general)])
    about = re.sub(r"^Return (the )?", "", about).replace(
        " of `kind` for primitives of `family`", " of a kind, for a family"
    )
    entries = [
        (name, value) for part in distributions().values() for name, value in part.entry_points.get(general, {}).items()
    ]
    example = f'`{entries[0][0]} = "{entries[0][1]}"`' if entries else ""
    return f"| `{group}` | {about[0].upper() + about[1:]} | {example} |"


def _kind_row(name: str) -> str:
    plugin: Any = composition().find("tangrad.rule_kinds", name)
    kind = plugin.load()
    fallbacks = [(kind.derive, "derived"), (kind.default, "default"), (kind.optional, "optional")]
    without = ", ".join(text for value, text in fallbacks if value) or "an error"
    if "." in name.partition(".")[2]:  # a platform of a backend
        without = f"that of `{name.rpartition('.')[0]}`"
    protocol = PROTOCOLS.get(name.partition(".")[0])
    shown = "" if protocol is None else f"`{protocol.__name__}`"
    return f"| `{name}` | `{kind.signature}` | {shown} | {escape(kind.doc)} | {without} | `{plugin.distribution}` |"


def kinds_table() -> str:
    """A row for each rule kind, as the guide has it: its signature, what it is for, its forms, who owns it."""
    rows = ["| kind | signature | what it is | forms | owner |", "|---|---|---|---|---|"]
    for name in rule_kinds():
        plugin: Any = composition().find("tangrad.rule_kinds", name)
        kind = plugin.load()
        forms = ", ".join([f"`{form}`" for form in sorted(kind.forms)])
        rows.append(f"| `{name}` | `{kind.signature}` | {escape(kind.doc)} | {forms} | {plugin.distribution} |")
    return "\n".join(rows)


def _hook_names() -> list[str]:
    return list(HOOKS)


def _hooks(title: str, names: list[str]) -> list[str]:
    lines = [f"### {title}", "", "| hook | what it does |", "|---|---|"]
    for name in names:
        lines.append(f"| `{name}({', '.join(ARGUMENTS[name])})` | {_summary(HOOKS[name])} |")
    return [*lines, ""]


def _summary(function: Any) -> str:
    """The first paragraph of a hook's docstring, on one line and without the group that it names."""
    first = (inspect.getdoc(function) or "").split("\n\n")[0]
    return _ENTRIES.sub("", " ".join(first.split())).replace("|", "&#124;")
