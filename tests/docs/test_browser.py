"""The check of pages in a real browser: it finds what is wrong with a page that is."""

import pytest

from tools.docs import browser

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
