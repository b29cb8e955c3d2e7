"""Which distributions a saved program needs, and whether those that are installed will do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tangrad._runtime.container import ArtifactError
from tangrad.core import Primitive, composition, find_primitive, rule_table

Requirement = tuple[str, str, str]  # family, distribution, version
PRIMITIVES = "tangrad.primitives"


def requirements_of(primitives: Iterable[Primitive]) -> list[Requirement]:
    """For each family of some primitives: the family, the distribution that ships it, and its version.

    Raises ArtifactError for a primitive that no installed distribution has registered: it could not be found again.
    """
    found: dict[str, Requirement] = {}
    for primitive in primitives:
        family = primitive.family
        plugin = composition().find(PRIMITIVES, family)
        if plugin is None or not plugin.distribution or plugin.load().primitives.get(primitive.name) is not primitive:
            raise ArtifactError(
                f"the program uses {primitive.identity!r}, which no installed distribution registers under "
                f"{PRIMITIVES!r}, so that it could not be found again"
            )
        found[family] = (family, plugin.distribution, plugin.version)
    return [found[family] for family in sorted(found)]


def check_requirements(requirements: Sequence[Requirement]) -> None:
    """Raise ArtifactError naming every family that is not installed, or in a version that will not do."""
    wrong = []
    for family, distribution, version in requirements:
        plugin = composition().find(PRIMITIVES, family)
        if plugin is None:
            wrong.append(f"  * {family!r}, of {distribution} {version}: not installed; pip install {distribution}")
        elif plugin.distribution != distribution:
            installed = f"{plugin.distribution} {plugin.version}"
            wrong.append(f"  * {family!r}, of {distribution} {version}: here it belongs to {installed}")
        elif not is_compatible(plugin.version, version):
            wrong.append(f"  * {family!r}, of {distribution} {version}: {plugin.version} is installed")
    if wrong:
        raise ArtifactError("the program needs primitives that are not here:\n" + "\n".join(wrong))


def is_compatible(installed: str, saved: str) -> bool:
    """Whether a program saved with one version of a distribution runs with another.

    It does with the same or a later one of the same series: of the same major version, and before 1.0 of the same minor
    version.

    >>> from tangrad._runtime.requirements import is_compatible
    >>> is_compatible("1.4.0", "1.2.5"), is_compatible("1.2", "1.4"), is_compatible("0.3.0", "0.2.0")
    (True, False, False)
    """
    here, there = _numbers(installed), _numbers(saved)
    series = 1 if there[0] else 2
    return here[:series] == there[:series] and here >= there


def _numbers(version: str) -> tuple[int, ...]:
    found = [int(number) for number in re.findall(r"\d{1,9}", version.partition("+")[0])[:3]]
    return (*found, 0, 0, 0)[:3]


def find_usable(identity: str) -> Primitive | None:
    """The primitive `family.name`, if it can run here. Raises ArtifactError naming it."""
    try:
        primitive = find_primitive(identity)
    except LookupError as error:
        raise ArtifactError(f"the program uses {identity!r}: {error}") from None
    status = rule_table("lower.numpy").cell(primitive).status
    if status not in ("rule", "general", "derived"):
        raise ArtifactError(f"the program uses {identity!r}, for which the NumPy backend has no lowering ({status})")
    return primitive
