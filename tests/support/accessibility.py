"""What axe-core finds on a page that a browser shows."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_WHAT_IS_TOLD = {"resultTypes": ["violations"]}
"""To describe each element that passed a rule would take as long as all rules do on a page of many rows."""


def violations(page: Page) -> str:
    """Return the report of all violations of axe-core's rules, empty where there are none."""
    found = Axe().run(page, options=_WHAT_IS_TOLD)
    return found.generate_report() if found.violations_count else ""
