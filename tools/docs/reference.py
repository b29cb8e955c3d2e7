"""The reference: a page for each public package, made of the composed names, their signatures and docstrings.

Which names there are is not kept here: first-party names come from the catalogue, and are looked up as a user looks
them up; the names of the few plain packages (`tangrad.tree`, `tangrad.core`, ...) are those that they hand on.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import tangrad.numpy
from tangrad._console.explanations.catalogue import PUBLIC_NAMES
from tangrad._core.composition.attributes import ATTRIBUTES_GROUP
from tangrad.core import Array, composition
from tools.docs import extension
from tools.docs.docstrings import escape, is_an_error, is_ours, signature, summary, to_markdown, without_address
from tools.generate_api import public_api
from tools.import_graph import exported_names
from tools.workspace import ROOT, Distribution, distributions

# The packages that the menu names, in a reader's order; what is below one of them and is not named here folds under it.
SECTIONS = {
    "tangrad": "Transformations, settings, devices",
    "tangrad.numpy": "NumPy's functions",
    "tangrad.lax": "Primitives and control flow",
    "tangrad.nn": "Neural networks",
    "tangrad.random": "Random numbers",
    "tangrad.scipy": "SciPy's functions",
    "tangrad.tree": "Pytrees",
    "tangrad.experimental": "What may still change",
    "tangrad.example_libraries": "Small libraries that programs grow from",
    "tangrad.core": "For authors of plugins",
    "tangrad.autodiff": "Helpers for rules of derivatives",
    "tangrad.batching": "Helpers for batch rules",
    "tangrad._backend_numpy.lowering": "What rules for the NumPy backend work with",
    "tangrad._backend_xla.lowering": "What rules for the XLA backend work with",
    "tangrad.conformance": "The conformance kit",
}
# Packages that are ordinary modules: nothing in the entry points says that they are public. Single files directly in
# `tangrad` are public as well: what implements something there is a package.
PLAIN_PACKAGES = (
    "tangrad.tree",
    "tangrad.core",
    "tangrad.core.arguments",
    "tangrad.core.backends",
    "tangrad.core.caches",
    "tangrad.core.dtypes",
    "tangrad.core.programs",
    "tangrad.core.protocols",
    "tangrad.core.settings",
    "tangrad.core.tools",
    "tangrad.core.transformations",
    "tangrad.autodiff",
    "tangrad.batching",
    "tangrad._backend_numpy.lowering",
    "tangrad._backend_xla.lowering",
    "tangrad.conformance",
    "tangrad.nn.initializers",
)
# Groups of names whose modules stand in a folder.
FOLDERS = {
    "tangrad._lax.contractions": "Products of arrays that are summed over shared dimensions: `dot_general`.",
    "tangrad._lax.control_flow": "Control flow inside programs: conditionals, loops, scans.",
    "tangrad._lax.decompositions": "Decompositions of matrices and solutions of linear systems, as primitives.",
    "tangrad._lax.elementwise": "Arithmetic, comparisons, bits, transcendental functions, selection, conversions.",
    "tangrad._lax.indexing": "Gathering slices from arrays and scattering updates into them.",
    "tangrad._lax.linalg": "Factorisations of matrices and triangular systems.",
    "tangrad._lax.placement": "Moving arrays between devices.",
    "tangrad._lax.reductions": "Primitives that combine the elements along axes into one, or into running totals.",
    "tangrad._lax.sorting": "Primitives that put elements in order.",
    "tangrad._lax.special": "Special functions: error functions, the gamma family, incomplete gamma and beta, Bessel.",
    "tangrad._lax.structure": "Primitives that move elements about without computing with them: broadcast, reshape, …",
    "tangrad._lax.windows": "Sliding windows: convolutions, reductions over windows, and what their derivatives need.",
    "tangrad._random.distributions": "The distributions: what is drawn from keys.",
    "tangrad._scipy.special_functions": "The functions of `tangrad.scipy.special`.",
}
IN_OTHER_SECTIONS = {"tangrad.tree_util": "tangrad.tree"}
# What a module says of itself as a file, in its first paragraph.
ASIDE = re.compile(r"\s*\b(This file only|The public names are|Each file holds)[^.]*\.(?:[^.\s][^.]*\.)*(?=\s|$)")
FEW = 25  # names need no groups
COMPOSED = re.compile(r"\s*The names resolve through the entry points of `tangrad\.api`\.")


@dataclass(frozen=True)
class Name:
    """One public name."""

    package: str
    name: str
    value: Any
    distribution: str
    module: str  # where it is defined: the module that its group is named after

    @property
    def full(self) -> str:
        """The dotted name, which is also the anchor."""
        return f"{self.package}.{self.name}"

    @property
    def is_canonical(self) -> bool:
        """Whether the object knows itself under this name: `numpy.arccos` and not `numpy.acos`."""
        return getattr(self.value, "__name__", None) == self.name

    @cached_property
    def docstring(self) -> str:
        """The docstring, or nothing where it would be that of a built-in type."""
        value = self.value
        if is_ours(type(value)) or (callable(value) and is_ours(value)):
            return inspect.getdoc(value) or ""
        if isinstance(value, type):
            return f"The class `{value.__module__}.{value.__qualname__}`, for those who ask for it here."
        return ""


@dataclass
class Package:
    """A public package: its names in groups, in the order in which they are shown."""

    name: str
    docstring: str
    groups: dict[str, list[Name]] = field(default_factory=dict)

    @property
    def section(self) -> str:
        """The name under which it stands in the menu."""
        if self.name in IN_OTHER_SECTIONS:
            return IN_OTHER_SECTIONS[self.name]
        return max((section for section in SECTIONS if f"{self.name}.".startswith(f"{section}.")), key=len)

    @property
    def rank(self) -> tuple[int, bool, str]:
        """Where it stands in the reference: by section, in each its own package first."""
        return list(SECTIONS).index(self.section), self.name != self.section, self.name

    def names(self) -> Iterator[Name]:
        """Yield all names."""
        for names in self.groups.values():
            yield from names


def source(package: str) -> str:
    """Return the path of a package's page below `docs/`."""
    return f"reference/{package.removeprefix('tangrad.')}.md"


# --- which names there are ------------------------------------------------------------------------------------------


def packages() -> dict[str, Package]:
    """Return every public package by name, with its names."""
    parts = distributions()
    homes = {name: value.partition(":")[0] for name, (_, value) in public_api(parts.values()).items()}
    found: dict[str, list[Name]] = {}
    for distribution, names in PUBLIC_NAMES.items():
        for public in names.split():
            package, _, name = f"tangrad.{public}".rpartition(".")
            value = getattr(importlib.import_module(package), name)
            if isinstance(value, ModuleType):  # `tangrad.errors`: a part of the page by itself
                found[value.__name__] = list(_handed_on(value, distribution))
            else:
                found.setdefault(package, []).append(Name(package, name, value, distribution, homes[public]))
    for part in parts.values():
        for module, path in part.modules.items():
            single_file = module.count(".") == 1 and not path.name.startswith("__")
            if module not in found and (single_file or module in PLAIN_PACKAGES):
                found[module] = list(_handed_on(importlib.import_module(module), part.name))
    grouped = [_grouped(name, names, parts) for name, names in found.items()]
    return {package.name: package for package in sorted(grouped, key=lambda package: package.rank)}


def _handed_on(module: ModuleType, distribution: str) -> Iterator[Name]:
    """Yield the public names of an ordinary module or of a door."""
    for name in sorted(exported_names(Path(inspect.getfile(module)))):
        value = getattr(module, name)
        if not (name.startswith("_") or isinstance(value, ModuleType)):
            home = getattr(value, "__module__", None) or type(value).__module__
            yield Name(module.__name__, name, value, distribution, home if isinstance(home, str) else "")


def _grouped(package: str, names: list[Name], parts: Mapping[str, Distribution]) -> Package:
    """Put names into groups: `tangrad` by distribution, other packages by the module that defines them."""
    keyed: dict[str, list[Name]] = {}
    for name in names:
        keyed.setdefault(name.distribution if package == "tangrad" else _home(name.module), []).append(name)
    groups: dict[str, list[Name]] = {}
    for key, members in sorted(keyed.items(), key=lambda item: _rank(package, item[0])):
        about = _description(parts[key]) if key in parts else _first_paragraph(key)
        groups.setdefault(about if len(names) >= FEW else "", []).extend(members)
    for members in groups.values():
        members.sort(key=lambda one: one.name.lower())
    docstring = importlib.import_module(package).__doc__ or ""
    return Package(package, COMPOSED.sub("", docstring), groups)


def _rank(package: str, key: str) -> tuple[bool, bool, str]:
    """What the package defines itself comes first, what has no owner last."""
    return not key, not key.startswith(package + "."), key


def _home(module: str) -> str:
    """Return the module whose docstring describes a group; nothing for what is not ours."""
    return ".".join(module.split(".")[:3]) if module.startswith("tangrad.") else ""


def _description(part: Distribution) -> str:
    return re.sub(r" (for|of) Tangrad\b", "", str(part.project["description"]))


def _first_paragraph(module: str) -> str:
    if not module:
        return "Further names"
    text = FOLDERS.get(module) or importlib.import_module(module).__doc__ or module
    text = COMPOSED.sub("", text).split("\n\n")[0]
    return ASIDE.sub("", " ".join(text.split()))


def _title_and_rest(about: str, names: Collection[str]) -> tuple[str, str]:
    """Take a description apart into a title and what else it says; a list of some of the names says nothing new."""
    end = re.search(r"[.:](?=\s|$)", about)
    if end is None:
        return about, ""
    title, rest = about[: end.start()], about[end.end() :].strip().rstrip(".")
    words = re.findall(r"[\w.]+", rest)
    if not words or all(word in names or word.startswith("tangrad.") for word in words) or rest.startswith("`"):
        return title, ""
    return title, (rest if words[0] in names else rest[0].upper() + rest[1:]) + ("" if rest[-1] in "?…" else ".")


# --- pages ----------------------------------------------------------------------------------------------------------


def pages() -> dict[str, str]:
    """Return the path below `docs/` and the Markdown of every page of the reference."""
    all_packages = packages()
    first = first_places(all_packages)
    texts = {source(package.name): _page(package, first) for package in all_packages.values()}
    return {"reference/index.md": _overview(all_packages), extension.PAGE: extension.page(), **texts}


def anchors() -> dict[str, str]:
    """Return dotted public name -> page and anchor, `reference/numpy.md#tangrad.numpy.sin`."""
    found = {}
    for package in packages().values():
        page = source(package.name)
        found[package.name] = f"{page}#{package.name}"
        found.update({name.full: f"{page}#{name.full}" for name in package.names()})
    return found


def menu() -> list[dict[str, Any]]:
    """Return the part of the navigation that is the reference; sections of several packages fold."""
    entries: list[dict[str, Any]] = [{"Overview": "reference/index.md"}, {extension.TITLE: extension.PAGE}]
    sections: dict[str, list[dict[str, str]]] = {section: [] for section in SECTIONS}
    for package in packages().values():
        sections[package.section].append({package.name: source(package.name)})
    return entries + [pages[0] if len(pages) == 1 else {section: pages} for section, pages in sections.items()]


def first_places(all_packages: Mapping[str, Package]) -> dict[int, Name]:
    """Return for each object the name under which it is described; its other names only point there."""
    first: dict[int, Name] = {}
    names = [name for package in all_packages.values() for name in package.names() if name.docstring]
    for name in sorted(names, key=lambda one: (not one.is_canonical, all_packages[one.package].rank)):
        first.setdefault(id(name.value), name)
    return first


def _overview(all_packages: Mapping[str, Package]) -> str:
    lines = [
        "# Reference",
        "",
        "Every public name with its signature, its errors and an example, made of what is installed. The examples are",
        f"run as tests. What a package can register is on a page of its own: [{extension.TITLE}](entry-points.md).",
        "",
        "| package | what is in it | names |",
        "|---|---|---|",
    ]
    for package in all_packages.values():
        page = source(package.name).removeprefix("reference/")
        count = sum(1 for _ in package.names())
        lines.append(f"| [`{package.name}`]({page}#{package.name}) | {_in_a_cell(about_package(package))} | {count} |")
    return "\n".join([*lines, "", *_distributions()]) + "\n"


def about_package(package: Package) -> str:
    """Return what a package is, in a line of Markdown."""
    return SECTIONS.get(package.name) or escape(_first_clause(package.docstring))


def _first_clause(docstring: str) -> str:
    """Return what a docstring says first, on one line: a cell of a table has no paragraphs."""
    first = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"[:.](?:\s|$)", first)[0]


def _distributions() -> list[str]:
    """What can be installed by itself, as the tree has it."""
    lines = ["## Distributions", "", "Each can be installed by itself; what it needs comes with it.", ""]
    lines += ["| distribution | what it brings | folder |", "|---|---|---|"]
    for part in distributions().values():
        folder = part.folder.relative_to(ROOT).as_posix()
        lines.append(f"| `{part.name}` | {escape(str(part.project['description']))} | `{folder}/` |")
    return lines


def _page(package: Package, first: Mapping[int, Name]) -> str:
    head = [f"# `{package.name}` {{: #{package.name} }}", "", to_markdown(package.docstring)]
    return "\n".join([*head, _package(package, first, 2)])


def _package(package: Package, first: Mapping[int, Name], level: int) -> str:
    lines: list[str] = []
    for about, names in package.groups.items():
        title, rest = _title_and_rest(about, {name.name for name in names})
        if title:
            lines += [f"{'#' * level} {escape(title)}", "", escape(rest), ""]
        lines += [_table(names, first), ""]
        for name in names:
            if first.get(id(name.value), name) is name:
                lines += [_entry(name, level + 1), ""]
    return "\n".join(lines)


def _table(names: list[Name], first: Mapping[int, Name]) -> str:
    """A line for each name of a group, with its summary."""
    lines = ["| name | what it is |", "|---|---|"]
    for name in names:
        place = first.get(id(name.value), name)
        if place is name:
            lines.append(f"| [`{name.name}`](#{name.full}) | {_in_a_cell(about(name))} |")
        else:
            lines.append(f"| `{name.name}`{{: #{name.full} }} | the same as `{place.full}` |")
    return "\n".join(lines)


def about(name: Name) -> str:
    """Return what a name is, in a line of Markdown."""
    if name.docstring:
        return summary(name.docstring)
    if isinstance(name.value, Mapping):
        return "A dictionary with the keys " + ", ".join(f"`{key}`" for key in name.value) + "."
    return "" if len(repr(name.value)) > 60 else f"`{without_address(name.value)}`"


def _in_a_cell(text: str) -> str:
    return text.replace("|", "&#124;")


def _entry(name: Name, level: int) -> str:
    """One name in full."""
    parameters, text = signature(name.name, name.value)
    lines = [f"{'#' * level} `{name.name}` {{: #{name.full} .name }}", ""]
    if text:
        lines += ["```{ .python .signature }", text, "```", ""]
    lines += [to_markdown(name.docstring, parameters) if name.docstring else about(name), ""]
    if isinstance(name.value, type):
        lines += [_members(name.value)]
    if name.value is Array:
        lines += [_methods_of_arrays()]
    lines += [f"From {name.distribution}", "{: .provenance }", ""]
    return "\n".join(lines)


# --- members ---------------------------------------------------------------------------------------------------------


def _members(owner: type) -> str:
    """The public methods and properties that a class defines itself, each with its summary."""
    if is_an_error(owner) or isinstance(owner, enum.EnumMeta) or not is_ours(owner):
        return ""
    lines = []
    for name, member in vars(owner).items():
        function = getattr(member, "__func__", getattr(member, "fget", member))
        text = inspect.getdoc(function) if inspect.isfunction(function) else None
        if name.startswith("_") or not text:
            continue
        shown = name if isinstance(member, property) else signature(name, function)[1]
        shown = re.sub(r"\((self|cls)(, )?", "(", " ".join(shown.split()).replace("( ", "(").replace(", )", ")"))
        lines.append(f"- `{shown}`: {summary(text)}")
    return "\n".join(["**Members**", "{: .section }", "", *lines, ""]) if lines else ""


def _methods_of_arrays() -> str:
    """What arrays can do, as plugins provide it; operators are left out."""
    lines = ["**Methods and properties of arrays**", "{: .section }", ""]
    public = set(" ".join(PUBLIC_NAMES.values()).split())
    for plugin in sorted(composition().entries(ATTRIBUTES_GROUP), key=lambda plugin: plugin.name.lower()):
        name, member = plugin.name, plugin.load()
        if name.startswith("__"):
            continue
        same = f"numpy.{name}" in public and getattr(tangrad.numpy, name) is member
        text = f"as `tangrad.numpy.{name}`" if same else summary(inspect.getdoc(member) or "")
        lines.append(f"- `x.{name}`: {text}".rstrip(": "))
    return "\n".join([*lines, ""])
