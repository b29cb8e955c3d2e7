"""What is said of each distribution when it is built: its own `pyproject.toml`, and what all of them have in common."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from tools.workspace import ROOT

SHARED = ROOT / "tools" / "shared_metadata.toml"
PARTS = ROOT / "tools" / "parts.toml"
# Relative to the project's home: what an index shows beside a distribution.
PAGES = {"Source": "", "Changelog": "/blob/main/CHANGELOG.md", "Issues": "/issues"}

# Lines of a `pyproject.toml` that hold in the checkout alone.
LEFT_OUT = re.compile(
    r"^readme = .*\n|^backend-path = .*\n|^# What all distributions share .*\n"
    r"|^\[tool\.hatch\.build\.hooks\.custom\]\npath = .*\n",
    re.MULTILINE,
)


def shared() -> dict[str, Any]:
    """Return what all distributions have in common."""
    return tomllib.loads(SHARED.read_text())


def parts() -> dict[str, dict[str, Any]]:
    """Return what each distribution has, who installs it alone, its keywords and an example, by its name."""
    return tomllib.loads(PARTS.read_text())


def parts_table() -> str:
    """Return the distributions as a table in Markdown."""
    rows = ["| distribution | what it has | who installs it without its neighbours |", "|---|---|---|"]
    rows += [f"| `{name}` | {part['has']} | {part['alone']} |" for name, part in parts().items()]
    return "\n".join(rows)


def home() -> str:
    """Return the address of the project's home, without a slash at its end; "" where it has none yet."""
    return shared()["home"].rstrip("/")


def urls(address: str) -> dict[str, str]:
    """Return the addresses that the metadata has: none where the project has no home.

    >>> urls("")
    {}
    """
    return {name: address + page for name, page in PAGES.items()} if address else {}


def portable(text: str, address: str) -> str:
    """Return a page of the repository as it can be read elsewhere: its links and pictures lead to the project's home.

    Where there is no home a link is its words alone, and a picture is left out.

    >>> portable("See [the tutorial](docs/tutorial.md#trees).", "")
    'See the tutorial.'
    """
    text = re.sub(r"<p><img [^>]*></p>\n*", "", text)
    picture = rf"![\1]({address}/raw/main/\2)" if address else ""
    text = re.sub(r"!\[([^]]*)\]\((?!https?:|#)([^)]+)\)", picture, text)
    link = rf"[\1]({address}/blob/main/\2)" if address else r"\1"
    text = re.sub(r"(?<!!)\[([^]]*)\]\((?!https?:|#)([^)]+)\)", link, text)
    return re.sub(r"\n{3,}", "\n\n", text)


def readme(folder: Path, project: dict[str, Any]) -> str:
    """Return the long description of a distribution, in Markdown."""
    if "readme" in project:
        return portable((folder / project["readme"]).read_text(), home())
    part = parts()[project["name"]]
    return shared()["readme"].format_map({**project, **part, "example": part["example"].strip()}).lstrip()


def configuration(folder: Path) -> dict[str, Any]:
    """Return the `pyproject.toml` of a distribution, with what all of them have in common.

    What it states itself comes first. Build hooks are left out: who builds by this makes the stubs (`tools.stubs`), and
    compiles nothing.
    """
    own = tomllib.loads((folder / "pyproject.toml").read_text())
    build = own.get("tool", {}).get("hatch", {}).get("build", {})
    for section in (build, build.get("targets", {}).get("wheel", {})):
        section.pop("hooks", None)
    text = {"text": readme(folder, own["project"]), "content-type": "text/markdown"}
    addresses = {"urls": urls(home())} if home() else {}
    keywords = {"keywords": parts()[own["project"]["name"]]["keywords"]}
    project = {**shared()["project"], **keywords, **addresses, **own["project"], "readme": text}
    return {**own, "project": project}


def complete_text(folder: Path) -> str:
    """Return the text of the `pyproject.toml` of a source distribution: complete, for a folder that stands alone."""
    text = (folder / "pyproject.toml").read_text()
    own = tomllib.loads(text)["project"]
    added = {name: value for name, value in configuration(folder)["project"].items() if name not in own}
    lines = "".join(f"{name} = {_toml(value)}\n" for name, value in {**added, "readme": "README.md"}.items())
    text = LEFT_OUT.sub("", text)
    text = re.sub(r"^build-backend = .*", 'build-backend = "hatchling.build"', text, flags=re.M)
    return text.replace("[project]\n", f"[project]\n{lines}", 1)


def _toml(value: Any) -> str:
    """Return a string, a list or a table as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
