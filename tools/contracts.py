"""The import contracts of the house: which module may import which.

    python -m tools.contracts SITE      check the packages installed from wheels below SITE (a `site-packages` folder)
    python -m tools.contracts           check the tree

Checked, each against what the tree declares, so that no list is kept twice:
- every module of every distribution is in the graph, and none that no distribution ships;
- a module imports only its own distribution, those that its `pyproject.toml` requires, and the standard library; a name
  taken from a composed package (`lax.scan`) counts as an import of the distribution that ships the name;
- a distribution imports everything that it requires, but for what `UNSEEN` lists with a reason;
- kinds of distributions require only the kinds that the architecture allows (`MAY_REQUIRE`);
- a rule file may also import the owners of the rule kind and the family that it serves, where it serves one kind; no
  module imports rule files;
- who is not the kernel takes from it only what its public modules export (`tools/import_graph.py` lists them), but for
  the files in `PRIVILEGED`;
- a distribution takes from another its public names and those of its door (`tangrad.extend.lax`), and imports none of
  its inner modules (`tangrad._lax.checks`);
- the state of a thread (the current trace, the named axes in scope) is assigned by core alone;
- no cycle between modules, as they are executed: the packages above what is imported count, and so do imports inside
  functions and those for type checkers;
- the rooms of `core/` stand on each other in one order (`ORDER`);
- nothing of ours is imported inside a function, except in the files listed in `LAZY` (what is not ours may be: that
  saves time at import, and can make no cycle);
- `jaxlib` is touched by the files in `ONLY_IN` alone;
- no file has more lines than `LONGEST`, and all of `core/` no more lines of code than `CORE_LINES`.

It reads source text and imports nothing. import-linter was rejected: in editable installs it sees only one part of the
namespace and passes vacuously, and it has no word for rule files.
"""

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from tools.docs.rooms import code_lines
from tools.generate_api import composes, door_names, public_api
from tools.import_graph import Exports, Imports, cycles, read_imports
from tools.workspace import ROOT, Distribution, distributions, module_name

CORE = "tangrad-core"
LONGEST = 500
# All rooms of `core/` together: a limit for each was met by moving code next door. Neither blank lines nor comments
# count; docstrings do.
CORE_LINES = 11_035
# The rooms of `core/`, each of which imports those before it alone. Modules beside the rooms are doors to them.
ORDER = ("tree", "settings", "diagnostics", "dtypes", "composition", "kernel")
RULES = "tangrad.rules."
SAMPLES = "tangrad.samples"  # loaded by the conformance kit alone

# What each kind of distribution may require. Transformations and backends know the kernel alone (lowerings are rules).
# A deployment is a library that brings a backend along: who installs it can compute.
MAY_REQUIRE = {
    "core": set(),
    "transformation": {"core"},
    "backend": {"core"},
    "primitives": {"core", "primitives", "library"},
    "library": {"core", "primitives", "transformation", "library", "deployment"},
    "deployment": {"core", "primitives", "library", "backend"},
}

# Files that import inside functions, and why: everything else states its imports at its top.
LAZY = {
    "tangrad._core.composition.api": "resolves public names at their first use, and claims of others on modules",
    "tangrad._core.kernel.backend": "reads capsules of other libraries where there are some",
    "tangrad.core": "resolves rarely needed names at their first use",
    "tangrad._core.composition.policy": "resolves deprecated names",
    "tangrad._core.composition.doors": "loads the modules behind doors at the first use of a name",
    "tangrad._core.composition.plugin": "loads what an entry point names",
    "tangrad._core.composition.discovery": "asks other finders than those of folders only where there are some",
    "tangrad._core.composition.registry": "loads pluggy at the first look-up",
    "tangrad._core.composition.missing_names": "imports modules under their new names",
    "tangrad._core.composition.manager": "examines hook objects only where there are some",
    "tangrad._backend_xla.backend": "loads the compiler at the first computation: moving data needs none",
    "tangrad._backend_xla.executable": "loads the persistent cache of programs where one is asked for",
    "tangrad._backend_xla.jaxlib_version": "describes an installation only where it is found wanting",
    "tangrad._backend_numpy.backend": "as XLA's: asking which backends there are does not load the compiler",
    "tangrad._backend_xla.gpus": "loads the PJRT plugin that is installed",
    "tangrad._jit.regions.hook": "loads the pass for the first program that is long enough",
    "tangrad._jit.stages": "loads reports where one is asked for",
    "tangrad._kernels.passes": "loads the pass over rows for the first program that is long enough",
    "tangrad._numba.entry": "loads numba for the first loop that pays for it",
    "tangrad._export.structures": "loads the type of a result that a file names",
    "tangrad._compat.finder": "imports what a module of the alias stands for when that is imported",
    "tangrad._console.report.composed": "looks into the packages that entries name",
}

# Files outside the kernel that look into its rooms, what they look into, and why there is no public way yet. An entry
# that is not needed any more is a breach, too.
PRIVILEGED = {
    ("tangrad._console.report.composed", "tangrad._core.composition.hook_names"): "lists the groups that exist",
    (
        "tangrad._compat.names.private",
        "tangrad._core.tree.definition",
    ): "distinguishes types of nodes from others",
    (
        "tangrad._console.report.plugins",
        "tangrad._core.composition.plugin",
    ): "prints answers as the composition shortens them",
}

# Third-party packages that only these modules may touch.
JAXLIB_FILES = ("jaxlib_api", "jaxlib_calls", "jaxlib_coordination", "jaxlib_profiler", "mlir")
ONLY_IN = {"jaxlib": {f"tangrad._backend_xla.{name}" for name in JAXLIB_FILES}}

# Packages used where they are installed, and never required.
OPTIONAL = {"ml_dtypes", "mpi4py", "scipy"}

# What is required and needed without an import that could be seen, and what for.
UNSEEN = {
    (
        "tangrad-conformance",
        "ml_dtypes",
    ): "samples have its dtypes, by name; the kernel imports it where it is installed",
    ("tangrad-backend-xla", "scipy"): "jaxlib takes the addresses of LAPACK's functions from it",
    ("tangrad-compat", "tangrad-jit"): "`jax.jit` and `jax.stages`, found by their names",
    ("tangrad-custom-rules", "tangrad-numpy"): "the operators of arrays",
    (
        "tangrad-sharding",
        "tangrad-collectives",
    ): "what has no rule for split axes is named along both parts by its rule kind",
    ("tangrad-runtime", "tangrad-backend-numpy"): "computes what is loaded; it is asked for by its name",
    (
        "tangrad-runtime",
        "tangrad-lax",
    ): "loops, conditionals and symbolic sizes of saved programs, found by their names",
    ("tangrad-conformance", "tangrad-console"): "`tangrad new` is a command of its `tangrad`",
    ("tangrad-sharding", "tangrad-debug"): "its pictures are names of `tangrad.debug`",
}


def kind_of(part: Distribution) -> str:
    """Return which row of `MAY_REQUIRE` a distribution belongs to, from its folder and its entry points."""
    if part.name == CORE:
        return "core"
    if "tangrad.backends" in part.entry_points:
        return "backend"
    if part.folder.parent.name == "primitives":
        return "primitives"
    if any([name.startswith("tangrad-backend-") for name in part.first_party_requirements]):
        return "deployment"
    return "transformation" if "tangrad.transformations" in part.entry_points else "library"


def _files_below(site: Path) -> dict[str, Path]:
    return {module_name(path.relative_to(site)): path for path in sorted((site / "tangrad").rglob("*.py"))}


def _files_of(parts: dict[str, Distribution]) -> dict[str, Path]:
    return {name: path for part in parts.values() for name, path in part.modules.items()}


class House:
    """The modules on disk, who owns them, and what each imports."""

    def __init__(self, root: Path = ROOT, site: Path | None = None) -> None:
        self.parts = distributions(root)
        self.owner = {name: part.name for part in self.parts.values() for name in part.modules}
        self.files = _files_below(site) if site else _files_of(self.parts)
        self.api = public_api(self.parts.values())
        self.composed = {name for name, path in self.files.items() if composes(path)}
        doors = {name: names for name, path in self.files.items() if (names := door_names(path))}
        self.behind_doors = {f"{door}.{name}": module for door in doors for name, module in doors[door].items()}
        self.imports: dict[str, Imports] = {
            name: read_imports(name, path, set(self.files), self.composed | doors.keys())
            for name, path in self.files.items()
        }

    @cached_property
    def exports(self) -> Exports:
        """What the kernel's public modules export."""
        own = {name: path for name, path in self.files.items() if self.owner.get(name) == CORE}
        own.pop("tangrad.extend", None)  # the package of all doors
        return Exports(own)

    @cached_property
    def rule_files(self) -> dict[str, set[str]]:
        """Module -> the distributions it may import besides the required ones: those that all of its rule sets may.

        A set may import the owners of its kind and family. A file with sets of several kinds is imported where the
        owner of one is installed, and those of the others need not be.
        """
        kinds = self._owners_of("tangrad.rule_kinds")
        families = self._owners_of("tangrad.primitives")
        result: dict[str, set[str]] = {}
        for part in self.parts.values():
            for group, entries in part.entry_points.items():
                for name, value in entries.items() if group.startswith(RULES) else ():
                    owners = kinds.get(group.removeprefix(RULES)), families.get(name.split(".")[0])
                    # What a family requires is installed wherever it is.
                    beside = self.parts[owners[1]].first_party_requirements if owners[1] in self.parts else ()
                    allowed = {owner for owner in (*owners, *beside) if owner is not None}
                    module = value.partition(":")[0].strip()
                    result[module] = allowed & result.get(module, allowed)
                for value in entries.values() if group == SAMPLES else ():
                    result[value.partition(":")[0].strip()] = {"tangrad-conformance"}
        return result

    @cached_property
    def named_directly(self) -> set[str]:
        """The modules that entry points outside the rule groups name: they are loaded for their own sake."""
        return {
            value.partition(":")[0].strip()
            for part in self.parts.values()
            for group, entries in part.entry_points.items()
            for value in (() if group.startswith(RULES) or group == SAMPLES else entries.values())
        }

    def _owners_of(self, group: str) -> dict[str, str]:
        return {name: part.name for part in self.parts.values() for name in part.entry_points.get(group, {})}

    @cached_property
    def rule_side(self) -> dict[str, set[str]]:
        """The rule files, and the modules beside them that only they import, each with what it may import."""
        importers: dict[str, set[str]] = defaultdict(set)
        for name, imports in self.imports.items():
            for target in imports.modules.keys() - self.named_directly:
                importers[target].add(name)
        side = {name: set(allowed) for name, allowed in self.rule_files.items()}
        grown = True
        while grown:
            grown = False
            for name, users in importers.items():
                if users <= side.keys() and {self.owner.get(user) for user in users} == {self.owner.get(name)}:
                    allowed = side.get(name, set()).union(*(side[user] for user in users))
                    grown |= allowed != side.get(name)
                    side[name] = allowed
        return side

    def value_module(self, name: str) -> str | None:
        """Return the module that the public name (`tangrad.lax.sin`) comes from, or None if it is no public name."""
        if name in self.behind_doors:
            return self.behind_doors[name]
        entry = self.api.get(name.removeprefix("tangrad."))
        return entry[1].partition(":")[0] if entry else None


def check_graph(house: House) -> list[str]:
    """Every module that a distribution ships is there, and no other."""
    missing, foreign = house.owner.keys() - house.files.keys(), house.files.keys() - house.owner.keys()
    return [f"{house.owner[name]}: module {name} is missing from the graph" for name in sorted(missing)] + [
        f"module {name} belongs to no distribution" for name in sorted(foreign)
    ]


def check_requirements(house: House) -> list[str]:
    """Declared requirements follow the architecture."""
    problems = []
    for part in house.parts.values():
        for required in part.first_party_requirements:
            kind = kind_of(house.parts[required])
            if kind not in MAY_REQUIRE[kind_of(part)]:
                problems.append(f"{part.name} ({kind_of(part)}) requires {required} ({kind})")
    return problems


def check_arrows(house: House) -> list[str]:
    """Imports stay within what the distribution requires."""
    problems = []
    for name, imports in house.imports.items():
        part = house.parts.get(house.owner.get(name, ""))
        if part is None:
            continue  # reported by check_graph
        allowed = {part.name, *part.first_party_requirements, *house.rule_side.get(name, ())}
        for target, line in imports.all_first_party(house.value_module):
            owner = house.owner.get(target)
            if owner is not None and owner not in allowed:
                problems.append(f"{name}:{line} imports {target}, but {part.name} does not require {owner}")
        required = (*part.requirements, *house.parts[CORE].requirements)  # what core needs is there wherever core is
        external = {name.lower().replace("-", "_") for name in required} | OPTIONAL
        for package, line in imports.external:
            if package not in external and package not in sys.stdlib_module_names:
                problems.append(f"{name}:{line} imports {package}, which {part.name} does not require")
            if name not in ONLY_IN.get(package, {name}):
                problems.append(f"{name}:{line} imports {package}: only {', '.join(sorted(ONLY_IN[package]))} may")
    return problems


def check_used(house: House) -> list[str]:
    """A distribution imports what it requires: a requirement that nothing imports costs an installation for nothing."""
    problems = []
    for part in house.parts.values():
        imports = [house.imports[name] for name in part.modules if name in house.imports]
        packages = {package for found in imports for package, _ in found.external}
        owners = {
            house.owner.get(target) for found in imports for target, _ in found.all_first_party(house.value_module)
        }
        for required in sorted(set(part.requirements) - {CORE}):  # whose `tangrad` every import begins with
            used = required in owners if required in house.parts else required.lower().replace("-", "_") in packages
            if not used and (part.name, required) not in UNSEEN:
                problems.append(f"{part.name} requires {required}, and none of its modules imports it")
    return problems


def check_rule_files(house: House) -> list[str]:
    """Rule files are loaded by their kind's owner, never imported."""
    return [
        f"{name}:{line} imports the rule file {target}"
        for name, imports in house.imports.items()
        for target, line in imports.modules.items()
        if target in house.rule_files
    ]


def check_kernel_names(house: House) -> list[str]:
    """Plugins, ours included, take from the kernel only what it exports."""
    problems = []
    unused = {(name, room) for name, room in PRIVILEGED if name in house.files}
    for name, path in house.files.items():
        if house.owner.get(name) == CORE:
            continue
        for room, line, problem in house.exports.breaches(path):
            unused.discard((name, room))
            if (name, room) not in PRIVILEGED:
                problems.append(f"{name}:{line} {problem}")
    return problems + [f"PRIVILEGED lists {name} with {room}, which it does not need" for name, room in sorted(unused)]


def check_doors(house: House) -> list[str]:
    """What a distribution is made of is imported by no other: each has a public module for that, and so has core.

    The kernel's inner modules are looked at name by name, see `check_kernel`.
    """
    problems = []
    for name, imports in house.imports.items():
        taken = [*imports.modules.items(), *imports.nested, *imports.checked.items()]
        for target, line in taken:
            owner = house.owner.get(target)
            if is_inner(target) and owner not in (None, CORE, house.owner.get(name)):
                problems.append(f"{name}:{line} imports {target}, which is {owner}'s own: take it from its door")
    return problems


def check_thread_state(house: House) -> list[str]:
    """The state of a thread is assigned by its owners in core; others use `holding` and `call_under`."""
    problems = []
    for name, path in house.files.items():
        text = path.read_text()
        if house.owner.get(name) == CORE or "thread" not in text:
            continue
        tree = ast.parse(text, str(path))
        if "thread" in kernel_imports(tree):
            problems += [f"{name}:{line} assigns thread.{field}: use holding" for field, line in fields_set(tree)]
    return problems


def kernel_imports(tree: ast.Module) -> set[str]:
    """Return the names that a module imports from the kernel's door."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "tangrad.core"]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def fields_set(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the fields of `thread` that a module assigns, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            if node.value.id == "thread":
                yield node.attr, node.lineno


def is_inner(module: str) -> bool:
    """Return whether a module is one that a distribution is made of (`tangrad._lax.checks`)."""
    return module.startswith("tangrad._")


def check_cycles(house: House) -> list[str]:
    """No module imports itself, however indirectly; nor do its functions, or the types of its annotations, need it."""
    graph = {name: executed(name, house) for name in house.imports}
    return ["import cycle: " + " -> ".join(cycle) for cycle in cycles(graph)]


def executed(name: str, house: House) -> set[str]:
    """Return the modules that are executed for a module, early or late: what it imports, and the packages above that.

    The packages above the module itself are executed before it.
    """
    imports = house.imports[name]
    targets = {*imports.with_composed(house.value_module), *imports.checked, *[target for target, _ in imports.nested]}
    packages = {above for target in targets for above in _above(target) if not f"{name}.".startswith(f"{above}.")}
    return (targets | packages) & house.files.keys() - {name}


def _above(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def check_order(house: House) -> list[str]:
    """Each room of the kernel's distribution imports the rooms below it alone."""
    height = {f"tangrad._core.{room}": number for number, room in enumerate(ORDER)}
    problems = []
    for name in house.imports:
        own = height.get(_room(name), len(ORDER))
        for target in executed(name, house) if house.owner.get(name) == CORE else ():
            if target not in ("tangrad", "tangrad._core") and height.get(_room(target), len(ORDER)) > own:
                problems.append(f"{name} imports {target}, which is above it: {' < '.join(ORDER)}")
    return problems


def _room(name: str) -> str:
    return ".".join(name.split(".")[:3])


def check_lazy(house: House) -> list[str]:
    """Our own modules are imported at the top of a file, except in the loaders."""
    problems = [f"LAZY lists {name}, which does not exist" for name in LAZY if name not in house.files]
    for name, imports in house.imports.items():
        for target, line in imports.nested if name not in LAZY else ():
            problems.append(f"{name}:{line} imports {target} inside a function")
    return problems


def check_lengths(house: House) -> list[str]:
    """Each file is one room with one job."""
    lengths = {name: path.read_text().count("\n") for name, path in house.files.items()}
    return [f"{name} has {lines} lines, more than {LONGEST}" for name, lines in lengths.items() if lines > LONGEST]


def check_sizes(house: House) -> list[str]:
    """What every installation has can be read in a few days."""
    counted = [path for name, path in house.files.items() if house.owner.get(name) == CORE]
    lines = sum(map(code_lines, counted))
    return [f"{CORE} has {lines} lines of code, more than {CORE_LINES}"] if lines > CORE_LINES else []


CHECKS = (
    check_graph,
    check_requirements,
    check_arrows,
    check_rule_files,
    check_kernel_names,
    check_doors,
    check_thread_state,
    check_used,
    check_cycles,
    check_order,
    check_lazy,
    check_lengths,
    check_sizes,
)


def main(arguments: list[str] | None = None) -> int:
    """Print every broken contract. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", nargs="?", type=Path, help="a site-packages folder; the tree if left out")
    house = House(site=parser.parse_args(arguments).site)
    problems = [problem for check in CHECKS for problem in check(house)]
    print("\n".join([*problems, f"{len(house.files)} modules, {len(problems)} broken contracts"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
