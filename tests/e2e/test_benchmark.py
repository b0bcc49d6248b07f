"""The benchmark of the operator with small parameters: it runs to its end, and its table is complete."""

import pytest
from benchmarks import benchmark_rows, lacking_figures


@pytest.mark.full
@pytest.mark.usefixtures("prefix")  # the operators of the other tests watch their own namespaces only
def test_the_benchmark_of_the_operator_has_figures_in_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSHLOAD_BENCH_NAMESPACED", "1")
    rows = benchmark_rows(
        "bench_operator", "--finished-tests", "3", "--at-once", "2", "--idle-seconds", "1", "--rest-seconds", "1",
        "--short-load-seconds", "3", "--long-load-seconds", "3",
    )  # fmt: skip
    assert len(rows) == 17
    assert not lacking_figures([row for row in rows if row[0] != "its verdict"])
