"""Each benchmark that needs no cluster, with small parameters: it runs to its end, and its tables are complete.

Those that take longest run in `make test-all`.
"""

import os
from pathlib import Path

import pytest
from benchmarks import benchmark_rows, kept, lacking_figures

pytestmark = pytest.mark.xdist_group("benchmarks")  # they compile the same Go programs

SHORT = ("--repeats", "1", "--share", "0.01", "--double-seconds", "1", "--seconds", "2", "--warm-up-seconds", "0.2",
         "--download-bytes", "1048576", "--file-bytes", "1048576", "--small-files", "2", "--sessions", "20",
         "--pod-sessions", "20", "--held-seconds", "1",
         "--users", "4", "--wire-users", "4", "--no-instructions")  # fmt: skip


def kept_figures(path: Path) -> int:
    """Return how many figures were kept beside the page at this path, which says whence they are."""
    return len(kept(path.with_suffix(".md")))


def test_the_benchmark_of_the_search_has_figures_in_every_row(tmp_path: Path) -> None:
    rows = benchmark_rows("bench_search", "--searches", "1", "--out", tmp_path)
    searches, noises, confirms, tables = 3, 8, 2, 2
    assert len(rows) == noises * confirms * tables  # ours and one of MLRsearch side by side
    assert not lacking_figures(rows)
    assert kept_figures(tmp_path / "search") == searches * len(rows)


def test_the_benchmark_of_the_libraries_has_figures_in_every_row(tmp_path: Path) -> None:
    rows = benchmark_rows("bench_libraries", "--threads", "1", "--greenlets", "1", "--out", tmp_path)
    kinds = ["ssh2-python, 1", "ssh2-python of the image, 1", "paramiko, 1"]
    assert [row[0] for row in rows] == [*kinds, *kinds]
    assert not lacking_figures(rows)
    assert kept_figures(tmp_path / "libraries") == len(rows)


def test_the_benchmark_of_the_master_has_figures_in_every_row(tmp_path: Path) -> None:
    rows = benchmark_rows("bench_master", "--workers", "1", "4", "--seconds", "4", "--out", tmp_path)
    assert [row[0] for row in rows] == ["1", "4"]
    assert not lacking_figures(rows)
    assert kept_figures(tmp_path / "master") == 2


def test_the_benchmark_of_the_operators_scale_has_figures_in_every_row(tmp_path: Path) -> None:
    rows = benchmark_rows(
        "bench_scale", "--running", "0", "2", "--finished", "3", "--settle", "1", "--seconds", "2", "--out", tmp_path
    )
    assert [row[:2] for row in rows] == [["3", "0"], ["3", "2"]]
    assert not lacking_figures(rows)
    assert kept_figures(tmp_path / "scale") == 2


@pytest.mark.full
def test_the_benchmark_of_a_hostile_tenant_has_figures_in_every_row(tmp_path: Path) -> None:
    rows = benchmark_rows(
        "bench_hostile", "--turns", "1", "--creations", "1", "--attackers", "1",
        "--attacks", "none", "log", "spec", "pages",
        "--out", tmp_path,
    )  # fmt: skip
    assert len(rows) == 4
    assert not lacking_figures(rows)
    assert kept_figures(tmp_path / "hostile-tenants") == 4


def test_the_benchmark_of_windows_has_figures_in_every_row(tmp_path: Path) -> None:
    rows = benchmark_rows(
        "bench_window", "--megabytes", "1", "--repeats", "1", "--windows", "65536", "--read-sizes", "65536",
        "--round-trips-ms", "0", "2", "--out", tmp_path,
    )  # fmt: skip
    assert [row[0] for row in rows] == ["64 KiB", "64 KiB"]
    assert not lacking_figures(rows)
    assert kept_figures(tmp_path / "windows") == 4


@pytest.mark.full
def test_the_benchmark_of_speed_has_figures_in_every_row_against_the_cheap_server() -> None:
    rows = benchmark_rows("bench_speed", *SHORT, "--only", "double")
    assert len(rows) == 27
    assert not lacking_figures([[what, figure] for what, _, figure in rows])


def test_the_benchmark_of_speed_has_figures_in_every_row_against_sshd() -> None:
    wire = [] if os.geteuid() == 0 else ["--no-wire"]
    rows = benchmark_rows("bench_speed", *SHORT, "--only", "sshd", *wire)
    assert len(rows) == (1 if wire else 2)
    assert not lacking_figures([[what, figure] for what, _, figure in rows])


def test_the_benchmark_of_what_only_waits_has_figures_in_every_row(tmp_path: Path) -> None:
    rows = benchmark_rows("bench_held", "--objects", "3", "--seconds", "1", "--out", tmp_path)
    assert [row[1] for row in rows] == ["3"] * 5
    assert not lacking_figures(rows)
    assert kept_figures(tmp_path / "held") == 5


@pytest.mark.full
def test_the_benchmark_of_the_case_study_has_a_row_for_each_way_and_rate(tmp_path: Path) -> None:
    rows = benchmark_rows(
        "bench_case_study", "--only", "gateway", "policies", "outlier", "--seconds", "1", "--warm-up-seconds", "0",
        "--rounds", "1", "--commands", "true", "--rates", "10,20", "--rate", "10", "--many-users", "4",
        "--out", tmp_path,
    )  # fmt: skip
    ways, percentiles, policies, rates = 2, 3, 5, 2
    assert len(rows) == ways + percentiles + policies + rates
    assert not lacking_figures([["", row[1]] for row in (*rows[:ways], *rows[-rates:])]), rows
    assert [kept_figures(tmp_path / "case-study" / part) for part in ("gateway", "policies", "outlier")] == [2, 1, 1]


@pytest.mark.full
def test_the_benchmark_of_the_case_study_has_a_row_for_each_number_of_clients_and_each_way(tmp_path: Path) -> None:
    parts = ("figure-2-uptime", "figure-2-ls", "figure-2-spread", "in-the-path")
    rows = benchmark_rows(
        "bench_case_study", "--only", *parts, "--seconds", "2", "--warm-up-seconds", "0", "--rounds", "1",
        "--trials", "1", "--clients", "5,6", "--ways", "direct", "jump-host", "--out", tmp_path,
    )  # fmt: skip
    clients, commands, ways, concurrencies = 2, 2, 2, 2
    assert len(rows) == clients * 2 + commands + ways * concurrencies
    assert not lacking_figures([["", row[1]] for row in rows]), rows
    assert [kept_figures(tmp_path / "case-study" / part) for part in parts] == [1, 1, 1, 1]
