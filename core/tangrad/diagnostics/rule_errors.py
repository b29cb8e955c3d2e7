"""Who has no rule for a primitive, and who has too many: the words of MissingRuleError and PluginConflictError."""

from __future__ import annotations

from tangrad.composition.plugin import Plugin
from tangrad.composition.registry import composition
from tangrad.composition.versioning import EXTENSION_API, provider
from tangrad.core.declarations import PRIMITIVES_GROUP, RULE_KINDS_GROUP, RULES_GROUP, RuleKind
from tangrad.core.primitive import Primitive
from tangrad.diagnostics.errors import missing_rule_message


def conflict_message(kind: str, primitive: Primitive, plugins: list[Plugin]) -> str:
    """Who the rivals are, and how to choose one."""
    rivals = " and ".join([f"{provider(plugin)} (entry point {plugin.name!r}: {plugin.value})" for plugin in plugins])
    cell = f"{kind}:{primitive.identity}"
    return (
        f"two rules of kind {kind!r} for primitive {primitive.identity!r}: from {rivals}. Choose one: "
        f"TANGRAD_PREFER='{cell}={plugins[0].distribution}' in the environment, or "
        f"tangrad.core.configure_plugins(prefer={{{cell!r}: {plugins[0].distribution!r}}}); the author of a deliberate "
        f"replacement declares it: RuleSet({kind!r}, api={EXTENSION_API}, override=True)"
    )


def missing_message(kind_name: str, primitive: Primitive, reason: str | None) -> str:
    """What is missing, whose it would be, and the lines that add it; `reason`: why there is none by nature, or None."""
    owner = provider(composition().find(PRIMITIVES_GROUP, primitive.family))
    head = f"primitive {primitive.identity!r}, shipped by {owner}, has no rule of kind {kind_name!r}"
    if reason is not None:
        return f"{head}: {reason}"
    kind_plugin = composition().find(RULE_KINDS_GROUP, kind_name)
    not_asked = composition().manager.not_asked()
    if kind_plugin is None:
        return f"{head}, and no installed distribution declares that kind{not_asked}"
    kind: RuleKind = kind_plugin.load()
    message = missing_rule_message(
        primitive.identity,
        kind_name,
        shipped_by=owner,
        owner=f"{provider(kind_plugin)} ({kind.doc})",
        signature=kind.signature,
        providers=[plugin.distribution for plugin in composition().entries(RULES_GROUP + kind_name)],
    )
    return message + not_asked
