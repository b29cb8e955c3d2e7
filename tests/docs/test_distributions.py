"""The page on the distributions names each of them once, by the rule that it states."""

import re

from tools.workspace import ROOT, distributions, umbrella

PAGE = (ROOT / "docs/distributions.md").read_text()


def test_every_distribution_has_a_row():
    rows = re.findall(r"^\| `(tangrad[a-z-]*)` \| [^|]+ \| [^|]*\|$", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted([umbrella().name, *distributions()])


def test_folder_distribution_and_package_have_one_name():
    for part in distributions().values():
        name = part.name.removeprefix("tangrad-").replace("-", "_")
        group = part.folder.parent.name
        assert part.folder.name == name.removeprefix("backend_" if group == "backends" else ""), part.name
        inner = {module.split(".")[1] for module in part.modules if re.match(r"tangrad\._[a-z]", module)}
        assert inner == {f"_{name}"}, part.name


def test_former_distributions_are_gone():
    former = re.findall(r"`(tangrad-[a-z-]+)`", PAGE.partition("| former |")[2])
    gone = [name for name in former if name not in distributions()]
    assert len(gone) == 14
