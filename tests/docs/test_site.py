"""The site as a whole: it builds without a warning, names link to the reference, sources of the pages are sound."""

import json
import re
import urllib.parse
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from tests.docs.test_examples import PAGES
from tools import metadata
from tools.docs import browser, reference, search
from tools.docs.hook import LINKS, links, page_of_repository
from tools.workspace import ROOT

IMAGES = sorted((ROOT / "docs" / "images").iterdir())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; a warning is an error."""
    build = pytest.importorskip("mkdocs.commands.build")
    config = pytest.importorskip("mkdocs.config")
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        build.build(config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


@pytest.mark.slow
def test_names_in_the_text_link_to_the_reference(site):
    tutorial = (site / "tutorial" / "index.html").read_text()
    assert '<a class="name" href="../reference/tangrad/#tangrad.grad"><code>tangrad.grad</code></a>' in tutorial
    assert 'id="tangrad.grad"' in (site / "reference" / "tangrad" / "index.html").read_text()


@pytest.mark.slow
def test_files_of_the_repository_are_pages(site, pages):
    assert {f"../{address}" for address in LINKS.values()} <= set(pages[site / "tutorial" / "index.html"].targets)
    assert "[0.1.0" not in pages[site / "changelog" / "index.html"].text
    assert "../roadmap/#security" in pages[site / "security" / "index.html"].targets


@pytest.mark.slow
def test_no_home_is_linked_where_none_is_named(site):
    if not metadata.home():
        assert not [path for path in site.rglob("*.html") if "Edit this page" in path.read_text()]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.is_relative_to(ROOT / "docs")], ids=lambda page: page.name
)
def test_every_page_is_in_the_menu(page):
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    assert f": {page.relative_to(ROOT / 'docs').as_posix()}\n" in menu


def test_links_to_the_home_are_where_one_is_named(monkeypatch):
    assert "Source" not in links() or metadata.home()
    monkeypatch.setattr(metadata, "home", lambda: "https://example.org/it")
    assert links()["Issues"] == "https://example.org/it/issues"
    assert "(https://example.org/it/blob/main/changes/README.md)" in page_of_repository("CHANGELOG.md")


def test_a_named_home_has_an_editor_for_each_page(monkeypatch):
    pytest.importorskip("mkdocs.config")
    from mkdocs.config import load_config
    from mkdocs.structure.files import get_files
    from mkdocs.structure.pages import Page

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(metadata, "home", lambda: "https://example.org/it")
    config = load_config(str(ROOT / "mkdocs.yml"))
    config = config.plugins.on_config(config)
    file = get_files(config).get_file_from_path("contrib/index.md")
    assert Page(None, file, config).edit_url == "https://example.org/it/edit/main/docs/contrib/index.md"


@pytest.mark.slow
def test_the_search_finds_what_words_stand_for(site, pages):
    script = (site / search.SCRIPT).read_text()
    rows = json.loads(script.removeprefix("found(").removesuffix(");\n"))
    others = {(address, other) for _, _, address, _, words in rows for other in words.split()}
    anchors = reference.anchors()
    for word, targets in search.synonyms().items():
        for target in targets:
            assert (anchors.get(target, target).replace(".md#", "/#"), word) in others, f"{word}: {target}"
    for _, _, address, _, _ in rows:
        path, _, anchor = address.partition("#")
        assert not anchor or anchor in pages[site / path / "index.html"].anchors
    assert ["einsum", "tangrad.numpy", "reference/numpy/#tangrad.numpy.einsum"] in [row[:3] for row in rows]


def test_pages_are_searched_part_by_part():
    first = '<h1 id="a">A<a class="headerlink" href="#a">#</a></h1><p>one</p>'
    page = first + '<h2 id="b"><code>b</code> c</h2>two <b>three</b>'
    assert search.Parts(page).found == [("A", "a", "one"), ("b c", "b", "two three")]


@pytest.mark.slow
def test_the_site_fetches_nothing(site):
    for page in site.rglob("*.html"):
        assert not re.search(r"<(script|link|img)[^>]*(src|href)=\"(https?:)?//", page.read_text()), page


RAW = re.compile(  # Markdown that was not understood as such
    r"^\s*\|.*\||\]\(|\{: ?[#.]|```|(?<!\w)\*\*\w|^#+ \w|^\s*[-*] \w.*\n\s*[-*] \w|(?<!`)`[\w.]+`", re.MULTILINE
)


class Prose(HTMLParser):
    """The text of a page without code, and what it links to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.targets, self.anchors, self._code = "", [], set(), 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self._code += tag in ("code", "pre", "script", "style")
        found = dict(attributes)
        self.anchors.add(found.get("id"))
        if tag == "a" and found.get("href"):
            self.targets.append(found["href"])

    def handle_endtag(self, tag):
        self._code -= tag in ("code", "pre", "script", "style")

    def handle_data(self, data):
        self.text += "" if self._code else data


@pytest.fixture(scope="module")
def pages(site):
    """The pages of the site, as they are shown."""
    return {path: Prose(path.read_text()) for path in site.rglob("*.html")}


@pytest.mark.slow
def test_no_markdown_is_left_in_what_is_shown(pages):
    left = {str(path): RAW.findall(page.text)[:3] for path, page in pages.items() if RAW.search(page.text)}
    assert not left


@pytest.mark.slow
def test_what_is_not_rendered_would_be_found():
    assert RAW.search(Prose("<p>These are events.\n | 13 |\n| <a href='x'>ops</a> | Segments | 4 |</p>").text)
    assert not RAW.search(Prose("<table><tr><td>ops</td><td>a | b</td></tr></table><pre>| x |</pre>").text)


@pytest.mark.slow
def test_links_within_the_site_lead_somewhere(site, pages):
    dead = set()
    for path, page in pages.items():
        for target in page.targets:
            address, _, anchor = urllib.parse.unquote(target).partition("#")
            if re.match(r"\w+:|/", address) or path.name == "404.html":
                continue
            there = (path.parent / address).resolve() if address else path
            there = there / "index.html" if there.is_dir() else there
            if not there.exists() or (there in pages and anchor and anchor not in pages[there].anchors):
                dead.add((str(path.relative_to(site)), target))
    assert not dead


@pytest.mark.slow
def test_the_front_page_of_the_reference_has_a_row_for_each_package(pages, site):
    text = (site / "reference" / "index.html").read_text()
    rows = re.findall(r'<td><a href="[^"]*#(tangrad[\w.]*)"><code>', text)
    assert rows == list(dict.fromkeys(rows)) and set(rows) == set(reference.packages())


@pytest.mark.slow
def test_sessions_are_coloured_as_sessions(site):
    assert '<span class="gp">&gt;&gt;&gt; </span>' in (site / "tutorial" / "index.html").read_text()


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.name)
def test_pictures(path):
    assert path.stat().st_size < 200_000
    if path.suffix == ".svg":
        root = ElementTree.fromstring(path.read_text())
        assert root.find("{http://www.w3.org/2000/svg}title") is not None, "for those who cannot see it"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)|src=\"([^\":]+)\"", text):
        path = page.parent / (target[0] or target[1])
        generated = "reference" in path.parts
        assert generated or path.exists(), f"{page.name} names {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pictures_say_what_they_show(page):
    for text in re.findall(r"!\[([^\]]*)\]\(", page.read_text()):
        assert len(text) > 20, text


# --- The check of pages in a real browser: it finds what is wrong with a page that is ---


FLAWED = """<!DOCTYPE html><html><body style="margin: 0"><header></header><nav><a style="display: block; width: 2em;
white-space: nowrap; overflow: hidden" href="#">a long name that is cut</a></nav><main>
<p>This **was** meant, &lt;code&gt;x&lt;/code&gt; too.</p><p>And {: .name } here.</p><p><code>a ** b</code> is fine.</p>
<p style="width: 2000px">wide</p><p style="color: #ddd">faint</p><img src="missing.png" width="9" height="9">
</main></body></html>"""
FOUND = (
    "is 2000 wide",
    "is cut in the menu",
    "missing.png answers 404",
    "is not shown",
    "**was**",
    "{: .name",
    "is faint",
)


def test_where_no_browser_is_found_it_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(browser, "missing", lambda: "none is there")
    assert browser.main([str(tmp_path)]) == 0
    assert "not shown in a browser: none is there" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of the driver's pipes
def test_what_is_wrong_is_found(tmp_path):
    (tmp_path / "index.html").write_text(FLAWED)
    with browser.served(tmp_path) as address, browser.started() as one:
        problems = browser.flaws(one.new_page(viewport=browser.WINDOWS["phone"]), address)
    assert not [wanted for wanted in FOUND if not any(wanted in problem for problem in problems)], problems
    assert not any("a ** b" in problem for problem in problems)
