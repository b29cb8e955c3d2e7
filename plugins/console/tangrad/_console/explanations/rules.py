"""What is said of a primitive without a rule: who could have one, and the lines that add it."""

from __future__ import annotations

from tangrad.core import Primitive, RuleKind, composition


def missing_rule(kind_name: str, primitive: Primitive, shipped_by: str) -> str:
    """Return what MissingRuleError says.

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
