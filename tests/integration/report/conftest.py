"""A real browser, which has no network, and the pages that it shows.

One lane has the browser, and runs all tests that ask for it before any others: they take most of a minute of CPU. When
it goes on with other tests, the browser has ended, whose event loop no other loop may run beside.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from operator_process import operator, proxy
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from sshload_operator.report.document import report_document
from sshload_operator.report.html_page import html_page
from sshload_operator.report.saved_run import SavedRun

__all__ = ["operator", "proxy"]

Shown = Callable[[SavedRun], Page]
ShownDocument = Callable[[Mapping[str, Any]], Page]
BROWSER_WITHIN_MS = 300_000.0
"""A deadline that only a fault reaches: Playwright's own of 30 s is none on a busy machine."""

_SCREENSHOTS = os.environ.get("SSHLOAD_SCREENSHOTS", "")
"""The folder for pictures of the pages: who looks at them names one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one lane run the tests that ask for the browser, first of all."""
    asking = {item for item in items if "browser" in getattr(item, "fixturenames", ())}
    for item in asking:
        item.add_marker(pytest.mark.xdist_group("browser"))
    items.sort(key=lambda item: item not in asking)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    path = shutil.which("chromium")
    assert path is not None, "there is no chromium: run scripts/debian-packages chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [], timeout=BROWSER_WITHIN_MS
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def offline_page(browser: Browser) -> Iterator[Page]:
    """A page without a network for all files: each new one starts a process, which compiles all scripts."""
    for context in _context(browser, offline=True):
        yield context.new_page()


@pytest.fixture
def file_page(offline_page: Page) -> Iterator[Page]:
    """The page for files, as a new one. Files keep nothing in a browser."""
    offline_page.emulate_media(media="null", color_scheme="null")
    yield offline_page
    offline_page.goto("about:blank")


@pytest.fixture
def online(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that takes the operator's own certificate."""
    yield from _context(browser, ignore_https_errors=True)


def _context(browser: Browser, **options: bool) -> Iterator[BrowserContext]:
    with closing(browser.new_context(viewport={"width": 1280, "height": 900}, **options)) as context:
        context.set_default_timeout(BROWSER_WITHIN_MS)
        yield context


@pytest.fixture
def shown(shown_document: ShownDocument) -> Shown:
    """What shows the report of a run."""
    return lambda run: shown_document(report_document(run, "0.1.0"))


@pytest.fixture
def shown_document(file_page: Page, tmp_path: Path) -> Iterator[ShownDocument]:
    """What shows a report as a file; a complaint of the browser, or a request, fails the test."""
    file, said = tmp_path / "report.html", list[str]()
    listeners: dict[Any, Callable[[Any], None]] = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "request": lambda request: None if request.url == file.as_uri() else said.append(request.url),
    }

    def show(document: Mapping[str, Any]) -> Page:
        file.write_text(html_page(document), encoding="utf-8")
        file_page.goto(file.as_uri())
        file_page.wait_for_selector("html[data-rendered]", state="attached")
        assert said == []
        return file_page

    for event, listener in listeners.items():
        file_page.on(event, listener)
    yield show
    for event, listener in listeners.items():
        file_page.remove_listener(event, listener)


@pytest.fixture
def screenshot() -> Callable[[Page, str], None]:
    """What keeps pictures of a whole page, light and dark, for people who have named a folder for them."""

    def keep(page: Page, name: str) -> None:
        if not _SCREENSHOTS:
            return
        folder = Path(_SCREENSHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.screenshot(path=folder / f"report-{name}-{scheme}.png", full_page=True)

    return keep
