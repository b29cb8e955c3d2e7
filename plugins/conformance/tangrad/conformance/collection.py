"""Where primitives and their samples come from: the registry."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.utils import canonicalize_name

from tangrad import enable_x64, use_backend
from tangrad.conformance.samples import Sample, reference_backend
from tangrad.conformance.strategies import expanded
from tangrad.core import Primitive, composition

PRIMITIVES_GROUP = "tangrad.primitives"
SAMPLES_GROUP = "tangrad.samples"


def primitives_of(*distributions: str) -> list[Primitive]:
    """All primitives of some distributions, or all there are (with none named, or "*").

    Raises LookupError for a distribution that registers none.

    >>> from tangrad.conformance import primitives_of
    >>> [primitive.name for primitive in primitives_of("tangrad-jit")]
    ['jit']
    """
    wanted = {canonicalize_name(name) for name in distributions if "*" not in distributions}
    plugins = [
        plugin for plugin in composition().entries(PRIMITIVES_GROUP) if not wanted or plugin.distribution in wanted
    ]
    absent = wanted - {plugin.distribution for plugin in plugins}
    if absent:
        raise LookupError(f"no primitives are registered by: {', '.join(sorted(absent))}")
    return [primitive for plugin in plugins for primitive in plugin.load().primitives.values()]


def find_samples(families: Iterable[str] | None = None) -> dict[Primitive, list[Sample]]:
    """The samples that distributions ship, by primitive: of some families, or of all.

    The entry point of group `tangrad.samples` is named after the family, or `<family>.<suffix>`; its value is
    a function that returns a list of samples and of Hypothesis strategies for them.

    >>> from tangrad.conformance import find_samples
    >>> from tangrad.core import find_primitive
    >>> find_primitive("elementwise.sin") in find_samples(["elementwise"])
    True
    """
    wanted = None if families is None else set(families)
    found: dict[Primitive, list[Sample]] = {}
    for plugin in composition().entries(SAMPLES_GROUP):
        if wanted is not None and plugin.name.partition(".")[0] not in wanted:
            continue
        with enable_x64(True), use_backend(reference_backend()):
            samples = expanded(plugin.load()())
        for sample in samples:
            found.setdefault(sample.primitive, []).append(sample)
    return found
