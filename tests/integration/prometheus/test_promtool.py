"""promtool finds what it is asked to find, so that its silence on our pages means something."""

from prometheus_server import promtool_faults


def test_promtool_finds_a_counter_without_total() -> None:
    page = "# HELP sshload_things Things.\n# TYPE sshload_things counter\nsshload_things 1\n"
    assert 'counter metrics should have "_total" suffix' in promtool_faults(page)


def test_promtool_finds_a_unit_that_is_no_base_unit() -> None:
    page = "# HELP sshload_lag_milliseconds Lag.\n# TYPE sshload_lag_milliseconds gauge\nsshload_lag_milliseconds 1\n"
    assert "use base unit" in promtool_faults(page)


def test_promtool_takes_a_good_page() -> None:
    page = "# HELP sshload_things_total Things.\n# TYPE sshload_things_total counter\nsshload_things_total 1\n"
    assert promtool_faults(page) == ""
