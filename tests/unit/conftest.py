"""Unit tests go to the lanes in batches: to hand out thousands one by one takes longer than many of them do."""

import pytest

_BATCH = 25


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Make a batch of each file, of a long one several; a test that names a group of its own stays in that."""
    counts: dict[str, int] = {}
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            name = item.path.stem
            counts[name] = counts.get(name, -1) + 1
            item.add_marker(pytest.mark.xdist_group(f"{name} {counts[name] // _BATCH}"))
