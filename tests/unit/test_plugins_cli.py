"""The command `tangrad`: plugins, rules, doctor; as text, JSON and HTML."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import tangrad
from tangrad._console.cli import main
from tangrad._console.report.model import BAD, Entry, Report, Table
from tangrad._console.report.render import to_html, to_json, to_text
from tangrad._console.report.rules import rules_report
from tangrad._core.composition.registry import composition
from tangrad.core import PrimitiveSet, RuleKind, RuleSet, find_primitive, register
from tests.unit.plugin_site import Site
from tools.workspace import distributions

VOID = {"meta", "input", "wbr"}


class Outline(HTMLParser):
    """Checks that tags nest and that nothing is loaded, and collects the texts of cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        for name, value in attrs:
            assert name != "src" and not name.startswith("on"), "the page needs something beside itself"
            assert name != "href" or (value or "").startswith("#"), "the page needs something beside itself"
        if tag in ("td", "th"):
            self.cells.append("")
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & {*self.stack}:
            self.cells[-1] += data

    def all(self, attribute: str) -> list[str]:
        return [value or "" for name, value in self.attributes if name == attribute]


@pytest.fixture
def matrix() -> Any:
    """A family of primitives under a kind, with one cell of every sort."""
    family = PrimitiveSet("cli_family", api=1)
    names = ("ruled", "inapplicable", "missing", "contested")
    primitives = {name: family.primitive(lambda x: x, name=name) for name in names}
    family.primitive(lambda x: x, name="derived", decompose=lambda x: x)
    kind = RuleKind("cli_kind", api=1, signature="(x)", doc="does", derive=lambda primitive: lambda x: x)
    rules = RuleSet("cli_kind", api=1)
    rules.table({primitives["ruled"]: lambda x: x, primitives["contested"]: lambda x: x})
    rules.not_applicable("it is <constant>", primitives["inapplicable"])
    rivals = RuleSet("cli_kind", api=1)
    rivals.table({primitives["contested"]: lambda x: x})
    with register(family), register(kind), register(rules), register(rivals):
        yield


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(arguments)
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.usefixtures("matrix")
def test_rules_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(output(capsys, "rules", "--family", "cli_family", "--kind", "cli_kind", "--json"))
    cells = {cell["primitive"]: cell for cell in data["cells"]}
    assert {name: cell["status"] for name, cell in cells.items()} == {
        "cli_family.ruled": "rule",
        "cli_family.inapplicable": "not applicable",
        "cli_family.missing": "missing",
        "cli_family.contested": "conflict",
        "cli_family.derived": "derived",
    }
    assert cells["cli_family.ruled"]["distribution"] == "(by hand)"
    assert "it is <constant>" in cells["cli_family.inapplicable"]["explanation"]
    assert "@cli_kind.rule(missing)" in cells["cli_family.missing"]["explanation"]
    assert data["problems"] == []


@pytest.mark.usefixtures("matrix")
def test_rules_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "rules", "--family", "cli_family", "--kind", "cli_kind")
    assert "5 primitives, 1 rule kinds: 1 rule, 1 derived, 1 not applicable, 1 conflict, 1 missing." in text
    rows = dict(line.split() for line in text.split("family cli_family\n")[1].splitlines()[2:])
    assert rows == {"ruled": "R1", "inapplicable": "-1", "missing": "?!", "contested": "C!", "derived": "D1"}
    assert "Providers: 1 (by hand)." in text and "Cells: R a rule, G the rule of a more general platform" in text
    assert "2 holes in the matrix." in text


def test_overrides_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    replacement = RuleSet("jvp", api=1, override=True)
    for name in ("tanh", "sin"):
        replacement.add(find_primitive(f"elementwise.{name}"), lambda primals, tangents, **params: None)
    with register(replacement):
        (table,) = [t for t in rules_report("elementwise", "jvp").tables if t.title == "Overrides"]
        assert [[entry.text for entry in row] for row in table.rows] == [
            ["jvp", "elementwise", "(by hand)", "tangrad-lax", "sin, tanh"]
        ]
        cells = {
            one["primitive"]: one for one in json.loads(output(capsys, "rules", "--kind", "jvp", "--json"))["cells"]
        }
        assert cells["elementwise.sin"]["overrides"] == ["tangrad-lax:tangrad.rules.jvp:elementwise"]
        assert cells["elementwise.cos"]["overrides"] == []


def test_rules_of_a_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "rules", "--distribution", "Tangrad_Nn")
    families = [line for line in text.splitlines() if line.startswith("family ")]
    assert families == [
        f"family {name}" for name in sorted(distributions()["tangrad-nn"].entry_points["tangrad.primitives"])
    ]
    assert main(["rules", "--distribution", "no-such"]) == 2
    assert "no distribution 'no-such' with plugins is installed" in capsys.readouterr().err


@pytest.mark.usefixtures("matrix")
def test_rules_as_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = output(capsys, "rules", "--family", "cli_family", "--kind", "cli_kind", "--html")
    outline = Outline(page)
    assert {"inapplicable", "R1", "?!", "D1", "-1"} <= {*outline.cells}
    assert "it is &lt;constant&gt;" in page and "<constant>" not in page
    assert outline.tags.count("script") == 1 and "link" not in outline.tags
    assert {"R 1", "?!", "D 1"} <= {*outline.all("data-signs")} and {"R", "?!", "1"} <= {*outline.all("data-sign")}
    (tip,) = [title for title in outline.all("title") if title.startswith("cli_kind of ruled: a rule")]
    assert "from (by hand)" in tip and f"{__name__}, line " in tip
    for tone in ("good", "made", "quiet", "bad"):  # each has a look of its own
        assert tone in outline.all("class")


@pytest.mark.usefixtures("matrix")
def test_a_page_is_written_to_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "rules.html"
    only = ("rules", "--family", "cli_family", "--kind", "cli_kind")
    assert output(capsys, *only, "--html", str(file)) == f"{file}: 2 holes in the matrix.\n"
    assert "inapplicable" in Outline(file.read_text(encoding="utf-8")).cells
    assert main([*only, "--html", str(tmp_path / "no" / "folder.html")]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.usefixtures("matrix")
def test_holes_and_checks(capsys: pytest.CaptureFixture[str]) -> None:
    only = ("rules", "--family", "cli_family", "--kind", "cli_kind")
    assert main([*only, "--check"]) == 1
    assert main(only) == 0
    capsys.readouterr()
    data = json.loads(output(capsys, *only, "--holes", "--json"))
    assert [cell["primitive"] for cell in data["cells"]] == ["cli_family.missing", "cli_family.contested"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["rules", "--kind", "no_kind"], "there is no rule kind 'no_kind'")],
)
def test_wrong_requests_say_what_there_is(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_an_unknown_family_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--family", "no_family", "--check"]) == 1
    assert "no installed distribution provides primitives of family 'no_family'" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["unheard-of"], ["plugins", "--json", "--html"], ["rules", "new"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert "usage: tangrad" in capsys.readouterr().err


# --- in a process of its own, with plugins of its own ---------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path / "site")
    modules = {"cli_good.py": "x = 1", "cli_bad.py": "raise ValueError('<b>no</b>')"}
    site.add("good-plugin", {"tangrad.api": {"cli_good": "cli_good:x"}}, "1.5", modules)
    site.add("bad-plugin", {"tangrad.api": {"cli_bad": "cli_bad:x"}, "tangrad.rules.no_kind": {"no_family": "m:x"}})
    return site


def run(site: Site, *arguments: str, **environment: str) -> tuple[int, str]:
    result = site.run("", "-m", "tangrad", *arguments, **environment)
    assert result.stderr == ""
    return result.returncode, result.stdout


def test_plugins_lists_each_with_its_status(site: Site) -> None:
    status, text = run(site, "plugins", "--json", "--load", TANGRAD_DENY="good-plugin")
    plugins = {plugin["identity"]: plugin for plugin in json.loads(text)["plugins"]}
    assert status == 0
    good, bad = plugins["good-plugin:tangrad.api:cli_good"], plugins["bad-plugin:tangrad.api:cli_bad"]
    assert (good["status"], good["version"], good["object"]) == ("denied", "1.5", "cli_good:x")
    assert "TANGRAD_DENY" in good["explanation"]
    assert (bad["status"], bad["explanation"]) == ("broken", "ValueError: <b>no</b>")
    assert plugins["bad-plugin:tangrad.rules.no_kind:no_family"]["status"] == "dormant"


def test_plugins_set_aside_fail_a_check(site: Site) -> None:
    assert run(site, "plugins", "--load", "--check", "--distribution", "bad-plugin")[0] == 1
    assert run(site, "plugins", "--load", "--check", "--distribution", "good-plugin")[0] == 0
    assert run(site, "plugins", "--load", "--check", TANGRAD_DENY="bad-plugin")[0] == 0  # denied by choice


def test_plugins_imports_nothing_unless_asked(site: Site) -> None:
    _, text = run(site, "plugins", "--distribution", "Bad_Plugin", "--group", "api", "--json")
    (plugin,) = json.loads(text)["plugins"]
    assert plugin["status"] == "available"


def test_plugins_as_text_and_page(site: Site) -> None:
    _, text = run(site, "plugins", "--group", "tangrad.api", "--load")
    assert "bad-plugin 1.0" in text and "broken: ValueError: <b>no</b>" in text
    _, page = run(site, "plugins", "--load", "--html")
    assert "broken: ValueError: <b>no</b>" in Outline(page).cells and "<b>no" not in page


def test_help_lists_the_commands_of_plugins_too(site: Site) -> None:
    site.add("command-plugin", {"tangrad.commands": {"greet": "cli_greet:main", "oops": "cli_bad:main"}})
    source = "def main(arguments):\n    'Say it.\\n\\nMore.'\n    print(arguments)\n    return 5"
    (site.folder / "cli_greet.py").write_text(source)
    status, text = run(site, "--help")
    assert status == 0 and all(command in text for command in ("plugins", "rules", "doctor"))
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("    ")}
    assert "Say it." in lines["greet"] and "More" not in text and "cannot be used" in lines["oops"]
    assert run(site, "greet", "a", "--b") == (5, "['a', '--b']\n")
    result = site.run("", "-m", "tangrad", "oops")
    assert result.returncode == 2 and "ValueError: <b>no</b>" in result.stderr and "Traceback" not in result.stderr


def test_a_command_that_is_not_installed_names_its_distribution(site: Site) -> None:
    result = site.run("", "-m", "tangrad", "new", "primitive", TANGRAD_DENY="tangrad-conformance")
    assert result.returncode == 2 and "TANGRAD_DENY" in result.stderr
    program = """
        import sys, tangrad._console.cli as cli
        cli.composition().find = lambda group, name: None
        sys.exit(cli.main(["new", "primitive"]))
    """
    result = site.run(dedent(program))
    assert result.returncode == 2 and "pip install tangrad-conformance" in result.stderr


def test_a_command_that_returns_nothing_has_succeeded(site: Site) -> None:
    site.add("quiet", {"tangrad.commands": {"quiet": "quiet:main"}}, modules={"quiet.py": "def main(arguments): 'Is.'"})
    result = site.run("", "-m", "tangrad", "quiet")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_command_must_be_a_function(site: Site) -> None:
    site.add("command-plugin", {"tangrad.commands": {"number": "cli_good:x"}})
    result = site.run("", "-m", "tangrad", "number")
    assert result.returncode == 2 and "expected a function of the arguments, got 1" in result.stderr


# --- tracing --------------------------------------------------------------------------------------------------------


def test_a_program_is_traced(site: Site, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys, tangrad\nprint(sys.argv[1:])\ntangrad.grad\nprint(__name__)\n")
    result = site.run("", "-m", "tangrad", "plugins", "--json", "--trace", str(program), "--epochs", "3")
    data = json.loads(result.stdout)  # what the program prints goes elsewhere
    assert "['--epochs', '3']\n__main__" in result.stderr and result.returncode == 0
    (question,) = [one for one in data["questions"] if one["about"] == "grad"]
    assert question["hook"] == "tangrad_api" and question["answers"] == ["tangrad-autodiff:tangrad.api:grad"]
    assert "tangrad-autodiff" in question["asked"] and 0 < question["seconds"] < 60
    assert {"tangrad-autodiff", "tangrad-console"} <= {*data["plugins"]} and "good-plugin" not in data["plugins"]
    text = site.run("", "-m", "tangrad", "plugins", "--trace", str(program)).stdout
    assert re.search(r"tangrad_api +grad +.*tangrad-autodiff +[0-9.]+\n", text)
    assert re.search(r"[0-9]+ questions to [0-9]+ plugins, answered in [0-9.]+ ms", text)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import tangrad; tangrad.grad; 1 / 0", "ended with ZeroDivisionError: division by zero."),
        ("import sys, tangrad; tangrad.grad; sys.exit(3)", "ended with exit status 3."),
        ("import sys, tangrad; tangrad.grad; sys.exit(0)", ""),
    ],
)
def test_a_program_that_ends_early_is_traced_until_then(site: Site, tmp_path: Path, source: str, words: str) -> None:
    (tmp_path / "program.py").write_text(source)
    result = site.run("", "-m", "tangrad", "plugins", "--trace", str(tmp_path / "program.py"))
    assert words in result.stdout and "tangrad_api  grad" in result.stdout, result.stderr
    assert ("ended with" in result.stdout) is bool(words)


def test_without_a_program_all_rules_are_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    composition().refresh()
    data = json.loads(output(capsys, "plugins", "--json", "--trace"))
    abouts = {question["about"] for question in data["questions"]}
    assert {"jvp elementwise", "elementwise"} <= abouts and data["failure"] is None


def test_what_is_denied_and_what_fails_shows(site: Site) -> None:
    source = "import tangrad\ntry: tangrad.cli_good\nexcept tangrad.errors.PluginError: pass"
    (site.folder / "program.py").write_text(source)
    program = str(site.folder / "program.py")
    result = site.run("", "-m", "tangrad", "plugins", "--trace", program, TANGRAD_DENY="good-plugin")
    assert re.search(r"tangrad_api +cli_good +.* nothing ", result.stdout), result.stdout


# --- rendering ------------------------------------------------------------------------------------------------------

HOSTILE = Report(
    "<title>",
    ["<script>alert(1)</script>"],
    [Table("<h2>", ["<th>", "b"], [[Entry("<td>", BAD, '"><script>'), Entry("größer \u0000")]])],
    {"text": "</script>é"},
)


def test_a_page_escapes_everything() -> None:
    page = to_html(HOSTILE, footer="<footer>")
    outline = Outline(page)
    assert {*outline.tags} == {
        *("html", "head", "meta", "title", "style", "body", "main", "header", "h1", "span", "p", "div", "input"),
        *("output", "section", "h2", "table", "thead", "tbody", "tr", "th", "td", "footer", "script"),
    }
    assert outline.tags.count("script") == 1 and outline.tags.count("footer") == 1
    assert 'title="&quot;&gt;&lt;script&gt;"' in page and "alert(1)" in page and "<script>alert" not in page


def test_a_page_allows_only_its_own_script() -> None:
    page = to_html(HOSTILE)
    (policy,) = [text for text in Outline(page).all("content") if "script-src" in text]
    script = page.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert not re.search(r"https?:|url\(|@import", page)


def test_text_and_json() -> None:
    assert to_text(HOSTILE).splitlines()[:3] == ["<title>", "=======", "<script>alert(1)</script>"]
    assert json.loads(to_json(HOSTILE)) == {"text": "</script>é"}
    empty = Report("Empty", [], [Table("", ["a", "bb"], [])], {})
    assert to_text(empty).splitlines()[-2:] == ["a  bb", "-  --"]
    rows = [[Entry("what is wrong"), Entry("what to do")]]
    long = Report("Long", [], [Table("Problems", ["problem", "cure"], rows, long=True)], {})
    assert to_text(long).splitlines()[-2:] == ["- what is wrong", "  cure: what to do"]


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"tangrad {tangrad.__version__}\n"


def test_no_command_shows_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    """As click, clap and argparse's own required commands: the help on stderr, and the status of wrong usage."""
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("usage: tangrad")
    for command in ("doctor", "plugins", "rules", "stubs"):
        assert f"\n    {command} " in said.err
