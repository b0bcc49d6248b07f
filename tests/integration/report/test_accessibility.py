"""What `violations` asks about: a table's rows that differ in their texts alone count as one, and every other row."""

import pytest
from accessibility import violations
from playwright.sync_api import Page

UNREADABLE = '<td style="color: #ccc; background: #fff">{}</td>'
DARK = "<style>@media (prefers-color-scheme: dark) {.last {color: #333; background: #000}}</style>"


def table(page: Page, *cells: str) -> Page:
    """Show a table with a row for each cell."""
    rows = "".join(f"<tr>{cell}</tr>" for cell in cells)
    page.set_content(
        f'<html lang="en"><head><title>A table</title>{DARK}</head><body><main><h1>A table</h1>'
        f'<table aria-label="all"><thead><tr><th scope="col">a</th></tr></thead><tbody>{rows}</tbody></table>'
        "</main></body></html>"
    )
    return page


@pytest.mark.parametrize(
    "last", [UNREADABLE.format("the third"), '<td class="last">the third</td>'], ids=["light", "dark"]
)
def test_a_row_that_differs_in_its_colours_is_asked_about(file_page: Page, last: str) -> None:
    page = table(file_page, "<td>the first</td>", "<td>the second</td>", last)
    assert "color-contrast" in violations(page)


def test_one_of_many_rows_alike_is_asked_about_and_all_are_shown_again(file_page: Page) -> None:
    page = table(file_page, *(UNREADABLE.format(f"row {number}") for number in range(3)))
    found = violations(page)
    assert found.count(UNREADABLE.format("row 0")) > 0
    assert UNREADABLE.format("row 1") not in found
    assert page.locator("tbody tr:visible").count() == 3


def test_an_empty_cell_is_asked_about_beside_full_ones(file_page: Page) -> None:
    page = table(file_page, '<th scope="row">a</th>', '<th scope="row"></th>')
    assert "empty-table-header" in violations(page)
