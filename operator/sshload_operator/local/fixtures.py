"""A local target's fixtures, made visible where its sessions begin: in the real home of the user.

The target makes them in a folder of the run. sshd takes its sessions to the home that the user database states, and
nowhere else; so for the time of the run, links stand there.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from sshload_operator.local.sshd import LocalRunError


@contextmanager
def linked_fixtures(paths: Sequence[str], made_in: Path, home: Path) -> Iterator[None]:
    """Link the first part of each path from `home` into `made_in`, and take the links away at the end.

    Raises LocalRunError where something of that name is there already: nothing of the user's is touched.
    """
    names = sorted({PurePosixPath(path).parts[0] for path in paths})
    made: list[Path] = []
    try:
        for name in names:
            link = home / name
            try:
                link.symlink_to(made_in / name)
            except FileExistsError:
                raise LocalRunError(
                    f"{link} exists, so that the fixture {name} cannot stand there: move it, or rename the fixture"
                ) from None
            made.append(link)
        yield
    finally:
        for link in made:
            link.unlink(missing_ok=True)
