"""The tables of a page that a browser shows."""

from playwright.sync_api import Page

_CELLS = """(table) => [...table.tBodies].flatMap((body) => [...body.rows]).map(
    (row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent))"""
"""All cells at once: each question to a browser takes milliseconds, and some tables have hundreds of rows."""


def cells(page: Page, table: str) -> list[list[str]]:
    """Return the texts of the table with this label by rows, headings excepted; it may be folded away."""
    found: list[list[str]] = page.locator(f'table[aria-label="{table}"]').evaluate(_CELLS)
    return found
