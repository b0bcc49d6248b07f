"""What axe-core finds on a page that a browser shows, in its light and its dark colours.

The tables of a page that a browser shows.
"""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_WHAT_IS_TOLD = {"resultTypes": ["violations"]}
"""To describe each element that passed a rule would take as long as all rules do on a page of many rows."""

_ABOUT_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""All rules that can find something in one scheme and not in the other: the rest look at what has no colour."""

_TAKE_OUT_ROWS_LIKE_OTHERS = """() => {
    const taken = [];
    for (const body of document.querySelectorAll("tbody")) {
        const seen = new Set();
        for (const row of [...body.rows]) {
            const copy = row.cloneNode(true), texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
            while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.trim() && "text";
            if (seen.has(copy.outerHTML)) {
                const place = document.createComment("");
                row.replaceWith(place);
                taken.push([place, row]);
            }
            seen.add(copy.outerHTML);
        }
    }
    return taken;
}"""
_PUT_BACK = "(taken) => { for (const [place, row] of taken) place.replaceWith(row); }"


def violations(page: Page) -> str:
    """Return the report of all violations of axe-core's rules, empty where there are none; leave the page light.

    The style sheets change nothing but colours in the dark scheme, so there the rules about these are asked alone. Of
    the rows of a table that differ in nothing but what their texts say, one is asked about: no style and no rule tells
    them apart, and the contrast of thousands of cells takes half a minute. Hidden, they would take as much as the rest.
    """
    taken = page.evaluate_handle(_TAKE_OUT_ROWS_LIKE_OTHERS)
    page.emulate_media(color_scheme="dark")
    dark = _found(page, _ABOUT_COLOURS)
    page.emulate_media(color_scheme="light")
    light = _found(page, {})
    page.evaluate(_PUT_BACK, taken)
    return dark + light


def _found(page: Page, rules: dict[str, Any]) -> str:
    found = Axe().run(page, options={**_WHAT_IS_TOLD, **rules})
    return found.generate_report() if found.violations_count else ""


_CELLS = """(table) => [...table.tBodies].flatMap((body) => [...body.rows]).map(
    (row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent))"""
"""All cells at once: each question to a browser takes milliseconds, and some tables have hundreds of rows."""


def cells(page: Page, table: str) -> list[list[str]]:
    """Return the texts of the table with this label by rows, headings excepted; it may be folded away."""
    found: list[list[str]] = page.locator(f'table[aria-label="{table}"]').evaluate(_CELLS)
    return found
