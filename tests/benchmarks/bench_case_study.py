"""The case study again: a page for each part, with a table for each figure and claim, as they come."""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

from record import add_folder, keep, machine
from study_figures import Scale, figure_1, listing, outlier, uptime, windows, within_two_seconds
from study_gateway import gateway, policies
from study_path import WAYS, in_the_path
from study_runs import Study

_WHAT: Final = """\
[How it was measured, and what it shows](../../explanation/case-study.md). `make bench WHAT=case-study ONLY={part}`
measures again; `{part}.json` has the tests."""
_PARTS: Final[Mapping[str, tuple[str, Callable[[Study, Scale], Iterator[str]]]]] = {
    "gateway": ("what the gateway costs", gateway),
    "policies": ("policies of the gateway", policies),
    "figure-1": ("figure 1, response time by rate", figure_1),
    "outlier": ("figure 1, its outlier", outlier),
    "windows": ("windows at 20 ms of round trip", windows),
    "figure-2-uptime": ("figure 2, many clients at one instant with `uptime`", uptime),
    "figure-2-ls": ("figure 2, many clients at one instant with `ls`", listing),
    "figure-2-spread": ("figure 2, as many clients within two seconds", within_two_seconds),
    "in-the-path": ("what stands in the path", in_the_path),
}


def main() -> None:
    """Measure what was chosen, print each table once it is there, and keep them."""
    options = _options()
    scale = Scale(**{one.name: getattr(options, one.name) for one in fields(Scale)})
    until_s = time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory() as name:
        for part in options.only:
            study = Study(Path(name), until_s)
            if study.has_time:
                _measure(part, study, scale, options.out)
            else:
                print(f"{part}: there was no time left for it.", flush=True)  # noqa: T201 - likewise


def _measure(part: str, study: Study, scale: Scale, folder: Path) -> None:
    """Measure a part, and keep each of its tables once it is there."""
    title, measure = _PARTS[part]
    where = machine("ssh2-python", "asyncssh", "uvicorn")
    paragraphs = [f"# The case study: {title}", _WHAT.format(part=part)]
    for paragraph in measure(study, scale):
        print(f"{paragraph}\n", flush=True)  # noqa: T201 - its output is what it is for
        paragraphs.append(paragraph)
        keep(folder / "case-study" / part, where, paragraphs, study.kept)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(_PARTS), default=list(_PARTS))
    parser.add_argument("--minutes", type=float, default=25, help="what has not been measured by then is left out")
    parser.add_argument(
        "--seconds", type=int, default=8, help="of a test at a rate; those of as many users as can are half as long"
    )
    parser.add_argument("--warm-up-seconds", type=int, default=1, help="before each test but those of figure 2")
    parser.add_argument("--commands", nargs="+", default=["uptime", "sleep 0.1"], help="of the policies")
    parser.add_argument("--rates", help="requests per second of figure 1, as a sweep has them")
    parser.add_argument("--clients", help="clients of figure 2, as a sweep has them")
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="of the outlier and the gateway; 3 at most at a rate and in the path, 2 of policies and windows",
    )
    parser.add_argument("--trials", type=int, default=10, help="of each command and number of clients of figure 2")
    parser.add_argument("--many-users", type=int, default=40, help="of the policies")
    parser.add_argument("--rate", type=int, default=90, help="commands per second of the gateway beside plain SSH")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="of what is in the path")
    add_folder(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
