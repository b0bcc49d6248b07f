"""A plugin of pytest: tests marked `root` do not run for an ordinary user. The report as XML names them."""

import os

import pytest
from _pytest import junitxml


@pytest.hookimpl(trylast=True)  # when all others have left out what does not run here anyway
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave them out, and name them."""
    if os.geteuid() == 0:
        return
    left_out = [item for item in items if item.get_closest_marker("root")]
    items[:] = [item for item in items if not item.get_closest_marker("root")]
    config.hook.pytest_deselected(items=left_out)
    report = config.stash.get(junitxml.xml_key, None)
    if report is not None:
        for item in left_out:
            report.add_global_property("needs root", item.nodeid)
