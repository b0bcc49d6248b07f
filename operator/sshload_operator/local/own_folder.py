"""The folders of a run, which have its keys: each is removed with the run, or by the next one if that was killed.

A run holds a lock on its folders (flock(2)), which ends with its process however that ends. So a folder that is not
locked was left behind, or is so new that nothing is in it.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Final

_PREFIX: Final = "sshload-run-"


@contextmanager
def own_folder(above: Path) -> Iterator[Path]:
    """Make a folder that only this user can read, and remove it at the end, with what is in it then.

    Those that killed runs of this user have left beside it are removed first.
    """
    for left in above.glob(f"{_PREFIX}*"):
        _remove_if_left(left)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=above) as folder, _opened(Path(folder)) as descriptor:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Path(folder)


def _remove_if_left(folder: Path) -> None:
    """Remove a folder of this user with its content, if no run holds it. What others made under such a name stays."""
    with suppress(OSError), _opened(folder) as descriptor:
        if os.fstat(descriptor).st_uid != os.geteuid():
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if any(folder.iterdir()):
            rmtree(folder)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
