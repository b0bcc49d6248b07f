"""The benchmarks on a cluster with small parameters: each runs to its end, and its table is complete."""

from pathlib import Path

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


@pytest.mark.full
@pytest.mark.usefixtures("prefix")  # likewise
def test_the_benchmark_of_floods_has_figures_in_every_row(tmp_path: Path) -> None:
    rows = benchmark_rows("bench_floods", "--seconds", "1", "--ports", "target, counts", "--out", tmp_path)
    assert [row[0] for row in rows] == ["none", "target, counts", "target, counts"]
    assert not lacking_figures([[row[0], *row[2:6], *row[7:]] for row in rows[1:]])
    assert (tmp_path / "floods.md").read_text(encoding="utf-8").startswith("# ")
