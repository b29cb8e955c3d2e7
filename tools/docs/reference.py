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
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import tangrad.numpy
from tangrad._console.explanations.catalogue_data import PUBLIC_NAMES
from tangrad._core.composition.attributes import ATTRIBUTES_GROUP
from tangrad.core import Array, composition
from tools.docs import extension
from tools.docs.docstrings import escape, summary, to_markdown
from tools.generate_api import public_api
from tools.kernel_names import exported_names
from tools.workspace import ROOT, Distribution, distributions

# Page -> the packages on it. What is below a page's package and is not named here is put on that page, too.
PAGES = {
    "tangrad": "Transformations, settings, devices",
    "tangrad.numpy": "NumPy's functions",
    "tangrad.lax": "Primitives and control flow",
    "tangrad.nn": "Neural networks",
    "tangrad.random": "Random numbers",
    "tangrad.tree": "Pytrees",
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
# Public under another name than that of the module: an attribute of the package above.
KNOWN_AS = {"tangrad.core.dtypes": "tangrad._core.dtypes.system"}
ON_OTHER_PAGES = {"tangrad.tree_util": "tangrad.tree"}
# What a module says of itself as a file, in its first paragraph.
ASIDE = re.compile(r"\s*\b(This file only|The public names are|Each file holds)[^.]*\.(?:[^.\s][^.]*\.)*(?=\s|$)")
MAKERS = ("__init__", "__new__")
STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
FEW = 25  # names need no groups
WIDTH = 92  # of a signature on one line
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
        if _is_ours(type(value)) or (callable(value) and _is_ours(value)):
            return inspect.getdoc(value) or ""
        if isinstance(value, type):
            return f"The class `{value.__module__}.{value.__qualname__}`, for those who ask for it here."
        return ""


def _is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("tangrad")


@dataclass
class Package:
    """A public package: its names in groups, in the order in which they are shown."""

    name: str
    docstring: str
    groups: dict[str, list[Name]] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """The package whose page this one is on."""
        if self.name in ON_OTHER_PAGES:
            return ON_OTHER_PAGES[self.name]
        return max((page for page in PAGES if f"{self.name}.".startswith(f"{page}.")), key=len)

    def names(self) -> Iterator[Name]:
        """Yield all names."""
        for names in self.groups.values():
            yield from names


def source(page: str) -> str:
    """Return the path of a page below `docs/`."""
    return f"reference/{page.removeprefix('tangrad.')}.md"


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
    for package, module in KNOWN_AS.items():
        handed_on = _handed_on(importlib.import_module(module), "tangrad-core")
        found[package] = [replace(name, package=package) for name in handed_on]
    return {name: _grouped(name, found[name], parts) for name in sorted(found)}


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
    docstring = importlib.import_module(KNOWN_AS.get(package, package)).__doc__ or ""
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
    text = COMPOSED.sub("", importlib.import_module(module).__doc__ or module).split("\n\n")[0]
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
    first = _first_places(all_packages)
    texts = {source(page): _page(page, all_packages, first) for page in PAGES}
    return {"reference/index.md": _overview(all_packages), extension.PAGE: extension.page(), **texts}


def anchors() -> dict[str, str]:
    """Return dotted public name -> page and anchor, `reference/numpy.md#tangrad.numpy.sin`."""
    found = {}
    for package in packages().values():
        found[package.name] = f"{source(package.page)}#{package.name}"
        found.update({name.full: f"{source(package.page)}#{name.full}" for name in package.names()})
    return found


def _first_places(all_packages: Mapping[str, Package]) -> dict[int, Name]:
    """Return for each object the name under which it is described; its other names only point there."""
    first: dict[int, Name] = {}
    names = [name for package in all_packages.values() for name in package.names() if name.docstring]
    ranks = {page: rank for rank, page in enumerate(PAGES)}
    for name in sorted(names, key=lambda one: (not one.is_canonical, ranks[all_packages[one.package].page])):
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
    for package in sorted(all_packages.values(), key=lambda one: (list(PAGES).index(one.page), one.name)):
        page = source(package.page).removeprefix("reference/")
        count = sum(1 for _ in package.names())
        about = PAGES.get(package.name) or _in_a_cell(escape(_first_clause(package.docstring)))
        lines.append(f"| [`{package.name}`]({page}#{package.name}) | {about} | {count} |")
    return "\n".join([*lines, "", *_distributions()]) + "\n"


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


def _page(page: str, all_packages: Mapping[str, Package], first: Mapping[int, Name]) -> str:
    here = [package for package in all_packages.values() if package.page == page]
    main = [f"# `{page}` {{: #{page} }}", "", to_markdown(all_packages[page].docstring)]
    main += [_package(all_packages[page], first, 2)]
    for package in here:
        if package.name != page:
            main += [f"## `{package.name}` {{: #{package.name} }}", "", to_markdown(package.docstring)]
            main += [_package(package, first, 3)]
    return "\n".join(main)


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
            lines.append(f"| [`{name.name}`](#{name.full}) | {_in_a_cell(_about(name))} |")
        else:
            lines.append(f"| `{name.name}`{{: #{name.full} }} | the same as `{place.full}` |")
    return "\n".join(lines)


def _about(name: Name) -> str:
    if name.docstring:
        return summary(name.docstring)
    if isinstance(name.value, Mapping):
        return "A dictionary with the keys " + ", ".join(f"`{key}`" for key in name.value) + "."
    return "" if len(repr(name.value)) > 60 else f"`{_without_address(name.value)}`"


def _in_a_cell(text: str) -> str:
    return text.replace("|", "&#124;")


def _entry(name: Name, level: int) -> str:
    """One name in full."""
    parameters, text = signature(name.name, name.value)
    lines = [f"{'#' * level} `{name.name}` {{: #{name.full} .name }}", ""]
    if text:
        lines += ["```{ .python .signature }", text, "```", ""]
    lines += [to_markdown(name.docstring, parameters) if name.docstring else _about(name), ""]
    if isinstance(name.value, type):
        lines += [_members(name.value)]
    if name.value is Array:
        lines += [_methods_of_arrays()]
    lines += [f"From {name.distribution}", "{: .provenance }", ""]
    return "\n".join(lines)


# --- signatures -----------------------------------------------------------------------------------------------------


def signature(name: str, value: Any) -> tuple[list[str], str]:
    """Return the names of the parameters, and the signature as Python shows it, in several lines where it is long."""
    if not callable(value) or isinstance(value, enum.EnumMeta) or _is_an_error(value):
        return [], ""
    if isinstance(value, type) and not _is_ours(value):
        return [], ""
    if isinstance(value, type) and all(getattr(value, made) is getattr(object, made) for made in MAKERS):
        return [], ""  # takes nothing: users never call it
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return [], ""
    parts = _parameters(found)
    result = _annotation(found.return_annotation)
    arrow = f" -> {result}" if result else ""
    line = f"{name}({', '.join(parts)}){arrow}"
    if len(line) > WIDTH:
        line = "\n".join([f"{name}(", *[f"    {part}," for part in parts], f"){arrow}"])
    return list(found.parameters), line


def _is_an_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _parameters(found: inspect.Signature) -> list[str]:
    parts: list[str] = []
    kinds = inspect.Parameter
    before: Any = None
    for one in found.parameters.values():
        if one.name.startswith("_"):
            continue  # between parts of the house
        if before is kinds.POSITIONAL_ONLY and one.kind is not kinds.POSITIONAL_ONLY:
            parts.append("/")
        if one.kind is kinds.KEYWORD_ONLY and before not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
            parts.append("*")
        parts.append(_parameter(one))
        before = one.kind
    return [*parts, "/"] if before is kinds.POSITIONAL_ONLY else parts


def _parameter(one: inspect.Parameter) -> str:
    stars = STARS.get(one.kind, "")
    annotation = _annotation(one.annotation)
    text = f"{stars}{one.name}: {annotation}" if annotation else stars + one.name
    if one.default is inspect.Parameter.empty:
        return text
    return f"{text} = {_default(one.default)}" if annotation else f"{text}={_default(one.default)}"


def _annotation(annotation: Any) -> str:
    """The annotation as it was written; nothing for `Any` and `None`, which say nothing."""
    if annotation is inspect.Parameter.empty or annotation is Any:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return "" if text in ("Any", "typing.Any", "None") else text.replace("typing.", "")


def _default(value: Any) -> str:
    if isinstance(value, (type, ModuleType)) or inspect.isroutine(value):
        return str(getattr(value, "__name__", value))
    return _without_address(value)


def _without_address(value: Any) -> str:
    """The `repr`, unless it holds an address, which would change with every build."""
    text = repr(value)
    return "..." if " at 0x" in text else text


def _members(owner: type) -> str:
    """The public methods and properties that a class defines itself, each with its summary."""
    if _is_an_error(owner) or isinstance(owner, enum.EnumMeta) or not _is_ours(owner):
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
