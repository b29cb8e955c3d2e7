"""The built site in a real browser: what is too wide, cut, unreadable, not shown, or shown as markup; and the search.

`python -m tools.docs.browser site` shows ten pages light and dark, on a phone and on a desk, keeps pictures of them and
says what is wrong; `--all` shows every page, on a phone. It needs Playwright and a Chromium, on the PATH or named by
CHROMIUM; where one is missing it says so and passes.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PAGES = (
    "",
    "installation/",
    "tutorial/",
    "coming-from-jax/",
    "speed/",
    "gpus/",
    "plugin-guide/",
    "reference/",
    "reference/numpy/",
    "reference/_backend_numpy.lowering/",
)
WINDOWS = {"phone": {"width": 390, "height": 844}, "desk": {"width": 1440, "height": 900}}
COLOURS = ("light", "dark")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHECK = Path(__file__).with_suffix(".js").read_text()
# What is typed -> a result that must come: its words, and where it leads to.
SEARCHES = {
    "einsum": ("tangrad.numpy", "reference/numpy/#tangrad.numpy.einsum"),
    "conv2d": ("tangrad.lax", "reference/lax/#tangrad.lax.conv_general_dilated"),
    "dataloader": ("Tutorial", "tutorial/#a-model-that-learns"),
    "jnp.fft.fft": ("tangrad.numpy.fft", "reference/numpy.fft/#tangrad.numpy.fft.fft"),
    "where it runs": ("Tutorial", "tutorial/#where-it-runs"),
}
TIME_OUT = 120_000  # milliseconds, for what hangs


def browser() -> str | None:
    """Return the path of a browser that can be driven, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


def missing() -> str:
    """Return what is missing to run this, or nothing."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed (`make browser` installs it)"
    return "" if browser() else f"none of {', '.join(BROWSERS)} is on the PATH"


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder on a loopback address while the block runs."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing of each request."""


@contextmanager
def started() -> Iterator[Any]:
    """Start the browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=browser(), timeout=TIME_OUT)
        try:
            yield one
        finally:
            one.close()


def flaws(page: Any, address: str) -> list[str]:
    """Open a page, and return what is wrong with it."""
    problems: list[str] = []
    note = problems.append
    page.on("pageerror", lambda error: note(f"its script fails: {error}"))
    page.on("response", lambda answer: answer.status >= 400 and note(f"{answer.url} answers {answer.status}"))
    page.goto(address, wait_until="load", timeout=TIME_OUT)
    return problems + page.evaluate(CHECK)


def check_pages(one: Any, address: str, pages: tuple[str, ...], windows: dict[str, Any], pictures: Path) -> list[str]:
    """Show pages in every window, light and dark, and return what is wrong; a picture of each is kept."""
    problems = []
    for window, size in windows.items():
        for colour in COLOURS:
            context = one.new_context(viewport=size, color_scheme=colour)
            for path in pages:
                page = context.new_page()
                problems += [f"{path or 'index'} ({window}, {colour}): {flaw}" for flaw in flaws(page, address + path)]
                name = path.strip("/").replace("/", "-") or "index"
                page.screenshot(path=pictures / f"{name}-{window}-{colour}.png", timeout=TIME_OUT)
                page.close()
            context.close()
    return problems


def check_search(one: Any, address: str) -> list[str]:
    """Type queries before the index has come, and return those that are not answered as they should be."""
    problems = []
    for typed, (module, target) in SEARCHES.items():
        page = one.new_page()
        held = _hold(page, "**/search/index.js")
        page.goto(address, timeout=TIME_OUT)
        page.locator("#search-query").press_sequentially(typed)
        page.locator("#search-results p").wait_for(timeout=TIME_OUT)  # that it loads
        held[0].continue_()
        page.locator("#search-results a").first.wait_for(timeout=TIME_OUT)
        links = page.locator("#search-results a")
        found = {link.get_attribute("href"): link.inner_text() for link in links.all()}
        texts = [text for place, text in found.items() if place and place.endswith(target)]
        if not texts or module not in texts[0]:
            problems.append(f"search for {typed!r}: {target} of {module} is not among {list(found)[:5]}")
        page.close()
    return problems


def _hold(page: Any, address: str) -> list[Any]:
    """Answer no request for an address; return the list that they are put into."""
    held: list[Any] = []

    def handler(route: Any) -> None:
        held.append(route)

    page.route(address, handler)
    return held


def main(arguments: list[str] | None = None) -> int:
    """Check the built site; the exit status is 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="the folder that `make docs` has written")
    parser.add_argument("--all", action="store_true", help="every page, on a phone")
    parser.add_argument("--pictures", type=Path, default=Path("build/screenshots"))
    options = parser.parse_args(arguments)
    if reason := missing():
        print(f"The pages were not shown in a browser: {reason}.")
        return 0
    options.pictures.mkdir(parents=True, exist_ok=True)
    every = tuple(sorted(f"{path.parent.relative_to(options.site)}/" for path in options.site.rglob("index.html")))
    pages, windows = (every, {"phone": WINDOWS["phone"]}) if options.all else (PAGES, WINDOWS)
    with served(options.site) as address, started() as one:
        problems = check_pages(one, address, pages, windows, options.pictures) + check_search(one, address)
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(pages)} pages, {' and '.join(windows)}, light and dark, and {len(SEARCHES)} searches: ", end="")
    print(f"{len(problems)} flaws" if problems else "nothing is wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
