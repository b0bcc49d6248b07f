"""What axe-core finds on a page that a browser shows, in its light and its dark colours."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_WHAT_IS_TOLD = {"resultTypes": ["violations"]}
"""To describe each element that passed a rule would take as long as all rules do on a page of many rows."""

_ABOUT_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""All rules that can find something in one scheme and not in the other: the rest look at what has no colour."""


def violations(page: Page) -> str:
    """Return the report of all violations of axe-core's rules, empty where there are none; leave the page light.

    The style sheets change nothing but colours in the dark scheme, so there the rules about these are asked alone.
    """
    page.emulate_media(color_scheme="dark")
    dark = _found(page, _ABOUT_COLOURS)
    page.emulate_media(color_scheme="light")
    return dark + _found(page, {})


def _found(page: Page, rules: dict[str, Any]) -> str:
    found = Axe().run(page, options={**_WHAT_IS_TOLD, **rules})
    return found.generate_report() if found.violations_count else ""
