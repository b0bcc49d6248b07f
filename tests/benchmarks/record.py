"""Measurements as they are kept: a table and the figures behind it, both with date, commit, machine and versions."""

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from programs import ROOT

FOLDER = ROOT / "docs/measurements"
"""Where measurements are kept, unless a benchmark is told another folder."""


def machine(*packages: str) -> dict[str, str]:
    """Return when, of which commit, where and by what versions something is measured."""
    cpus = Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": _commit(),
        "cpu": f"{os.cpu_count()} x " + next(line.partition(": ")[2] for line in cpus if line.startswith("model name")),
        "kernel": platform.release(),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def _commit() -> str:
    """Return the commit of the sources, which ends with -dirty where they were changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    return subprocess.check_output(command, cwd=ROOT, text=True).strip()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, figures to the right."""
    lines = [list(head), ["---", *("---:" for _ in head[1:])], *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add the option for the folder that `keep` writes to, as `out`."""
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the tables and the figures behind them")


def keep(path: Path, where: Mapping[str, str], paragraphs: Sequence[str], figures: Sequence[Mapping[str, Any]]) -> None:
    """Write the tables to PATH.md, and the figures behind them to PATH.json."""
    path.parent.mkdir(parents=True, exist_ok=True)
    title, *others = paragraphs
    path.with_suffix(".md").write_text("\n\n".join([title, measured_on(where), *others]) + "\n", encoding="utf-8")
    behind = {"measured": dict(where), "figures": list(figures)}
    path.with_suffix(".json").write_text(json.dumps(behind, indent=1) + "\n", encoding="utf-8")


def measured_on(where: Mapping[str, str]) -> str:
    """Return the line at the top of each page of measurements: when, of which commit, on what, with which versions."""
    date, commit, cpu, kernel = (where[what] for what in ("date", "commit", "cpu", "kernel"))
    versions = (f"{what} {value}" for what, value in where.items() if what not in {"date", "commit", "cpu", "kernel"})
    return f"Measured on {date} at {commit} with {', '.join((cpu, f'Linux {kernel}', *versions))}."
