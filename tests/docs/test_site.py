"""The site as a whole: it builds without a warning, names link to the reference, sources of the pages are sound."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.docs.test_examples import PAGES
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
def test_the_site_fetches_nothing(site):
    for page in site.rglob("*.html"):
        assert not re.search(r"<(script|link|img)[^>]*(src|href)=\"(https?:)?//", page.read_text()), page


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
