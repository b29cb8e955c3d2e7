"""The message for a primitive without a rule, and whose rule an error comes from that leaves the framework."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import CodeType, TracebackType
from typing import NamedTuple

from tangrad.core import Primitive, RuleKind, composition, rule_table
from tangrad.core.caches import params_key, typed_key
from tangrad.core.tools import Plugin, is_internal, unhashable_parameters


def missing_rule(kind_name: str, primitive: Primitive, shipped_by: str) -> str:
    """Return the message of MissingRuleError.

    Args:
        kind_name: the rule kind.
        primitive: the primitive without a rule.
        shipped_by: the primitive's distribution, with its version.
    """
    head = f"primitive {primitive.identity!r}, shipped by {shipped_by}, has no rule of kind {kind_name!r}"
    plugin = composition().find("tangrad.rule_kinds", kind_name)
    if plugin is None:
        return f"{head}, and no installed distribution declares that kind"
    kind: RuleKind = plugin.load()
    group = f"tangrad.rules.{kind_name}"
    providers = sorted({one.distribution for one in composition().entries(group)})
    lacks = ", no rule of a more general kind, and no decomposition that would stand in"
    if primitive.decompose is not None:
        lacks = " and none of a more general kind; it has a decomposition, but rules of this kind are not made of one"
    owner = f"{plugin.distribution} {plugin.version}".strip()
    variable = kind_name.replace(".", "_")
    family, _, name = primitive.identity.rpartition(".")
    return (
        f"{head}{lacks}.\n"
        f"The kind belongs to {owner} ({kind.doc}). "
        f"Installed distributions with rules of this kind: {', '.join(providers) or 'none'}.\n\n"
        f"Two lines add one. In the pyproject.toml of any distribution:\n\n"
        f'    [project.entry-points."{group}"]\n'
        f'    {family} = "some_package.{variable}:{variable}"\n\n'
        f'and in that module, with {variable} = RuleSet("{kind_name}", api=1):\n\n'
        f"    @{variable}.rule({name})\n"
        f"    def _{kind.signature}: ..."
    )


# What belongs to a primitive itself: its name in sentences, and what it must look like.
OWN = {
    "abstract_eval": ("abstract evaluation", "(*avals, **params) -> aval, or a tuple of them for multiple results"),
    "decompose": ("decomposition", "(*operands, **params) -> result, or a tuple of them for multiple results"),
    "evaluate": ("evaluation", "(args, params) -> result, or a tuple of them for multiple results"),
    "effects": ("function of effects", "(avals, params) -> a frozenset of effects"),
}
REWRITTEN = (TypeError, ValueError, AttributeError, IndexError)  # whose text is their one argument
LOOPS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
KEYS = (params_key.__code__, typed_key.__code__)  # what fails in these cannot be hashed
OFTEN = 3  # calls of one rule within each other, at the end of all recursion


class Call(NamedTuple):
    """A call of a rule in a traceback: the kind, the primitive, and where it is among the entries."""

    kind: str
    primitive: Primitive
    position: int


def explain(error: BaseException, traceback: TracebackType, sites: Mapping[CodeType, tuple[str, str]]) -> None:
    """Add to an error whose rule it comes from, where it comes from one; `sites`: what calls rules, as it is marked."""
    entries = _entries(traceback)
    found = [_call(entry, position, sites) for position, entry in enumerate(entries)]
    calls = [call for call in found if call is not None]
    if not calls:
        return
    if isinstance(error, RecursionError):
        _explain_recursion(error, calls)
        return
    last = calls[-1]
    site, *below = [entry.tb_frame.f_code for entry in entries[last.position :]]
    if below and below[-1] in KEYS and type(error) is TypeError:
        error.args = (str(unhashable_parameters(last.primitive.identity, _parameters(entries, last))),)
    elif not _without_loops(site, below):
        if type(error) in REWRITTEN and len(error.args) == 1:
            error.args = (_of_call(last, str(error)),)
    elif _is_of_rule(below, code_of(_rule(last))):
        note = f"In {_named(last)}{_whose(last)}."
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)


def _without_loops(site: CodeType, below: Sequence[CodeType]) -> list[CodeType]:
    """The frames below a call but for those of its own comprehensions, which Python 3.12 has none of."""
    return [code for code in below if code.co_name not in LOOPS or code.co_filename != site.co_filename]


def _parameters(entries: Sequence[TracebackType], call: Call) -> dict[str, object]:
    """The parameters that the primitive is applied with, where a frame has them."""
    for entry in entries[call.position :]:
        params = entry.tb_frame.f_locals.get("params")
        if isinstance(params, dict):
            return params
    return {}


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def _call(entry: TracebackType, position: int, sites: Mapping[CodeType, tuple[str, str]]) -> Call | None:
    site = sites.get(entry.tb_frame.f_code)
    if site is None:
        return None
    kind, variable = site
    found = entry.tb_frame.f_locals.get(variable)
    primitive = getattr(found, "primitive", found)
    return Call(kind, primitive, position) if isinstance(primitive, Primitive) else None


def _of_call(call: Call, text: str) -> str:
    """The message of an error of the call itself."""
    if " is from " in text:  # named by a call inside of this one
        return text
    start = text if call.primitive.identity in text else f"{_named(call)} could not be used: {text}"
    expected = _expected(call.kind)
    return f"{start.rstrip('.')}. Expected: {expected}. It is from {_provider(call)}{_place(call)}"


def _named(call: Call) -> str:
    what = OWN[call.kind][0] if call.kind in OWN else f"{call.kind} rule"
    return f"the {what} of {call.primitive.identity!r}"


def _expected(kind: str) -> str:
    if kind in OWN:
        return OWN[kind][1]
    plugin = composition().find("tangrad.rule_kinds", kind)
    return "what the owner of the kind defines" if plugin is None else f"{kind} rules are {plugin.load().signature}"


def _rule(call: Call) -> object:
    if call.kind in OWN:
        return getattr(call.primitive, call.kind)
    return rule_table(call.kind).cell(call.primitive).rule


def _provider(call: Call) -> str:
    if call.kind in OWN:
        return _shipper(composition().find("tangrad.primitives", call.primitive.family))
    return _shipper(rule_table(call.kind).cell(call.primitive).plugin)


def _shipper(plugin: Plugin | None) -> str:
    return "an unregistered plugin" if plugin is None else f"{plugin.distribution} {plugin.version}".strip()


def _whose(call: Call) -> str:
    return f", from {_provider(call)}{_place(call)}"


def _place(call: Call) -> str:
    code = code_of(_rule(call))
    return "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"


def code_of(rule: object) -> CodeType | None:
    """The code of a rule: of what is wrapped, made partial, or called an object."""
    for name in ("__wrapped__", "func", "emit"):
        rule = getattr(rule, name, rule)
    code = getattr(rule, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _is_of_rule(below: Sequence[CodeType], rule: CodeType | None) -> bool:
    """Whether an error has passed the rule: one of others, for ours say themselves what is wrong."""
    return rule is not None and rule in below and not is_internal(rule.co_filename)


def _explain_recursion(error: RecursionError, calls: Sequence[Call]) -> None:
    """What leads to itself again and again."""
    times = Counter([(call.kind, call.primitive) for call in calls if call.kind not in ("abstract_eval", "evaluate")])
    again = [pair for pair, count in times.items() if count >= OFTEN]
    again.sort(key=lambda pair: pair[0] != "decompose")  # what is derived of one is followed through others
    if not again or len(error.args) != 1:
        return
    call = Call(*again[0], 0)
    if call.kind not in OWN and rule_table(call.kind).cell(call.primitive).status == "derived":
        call = call._replace(kind="decompose")
    others = [f"{Call(*pair, 0).primitive.identity!r}" for pair in again[1:] if pair[1] is not call.primitive]
    through = f" by way of {', '.join(dict.fromkeys(others))}" if others else ""
    text = f"{_named(call)} leads to itself again without end{through}: {error}"
    error.args = (f"{text}. It is from {_provider(call)}{_place(call)}",)
