"""`python -m sshload_target.user_namespace`: proves that root here is nobody on the node, before anything is root.

Kubernetes may ignore a pod's `hostUsers: false` without a word: an API server that does not know the field, or whose
feature gate is off, drops it. So the pod itself says what the kernel made of it.
"""

import argparse
import sys
from pathlib import Path

from sshload_target.errors import NoUserNamespaceError

_MAPS = ("uid_map", "gid_map")
_OWN = Path("/proc/self")
_UNIT = 65_536


def prove(process: Path = _OWN) -> None:
    """Return if the users and groups of a process are those of a user namespace that a kubelet made for its pod.

    The kubelet maps 0 and those after it to a multiple of as many ids of the node, 65,536 or a multiple of that, never
    to 0 (kubernetes, pkg/kubelet/userns/userns_manager.go). The node's own namespace has another map, and so has one in
    which the whole node runs, as with LXC and rootless engines (user_namespaces(7)). Raises NoUserNamespaceError.
    """
    for name in _MAPS:
        text = (process / name).read_text(encoding="ascii")
        if not _is_of_a_pod(text):
            shown = "; ".join(" ".join(line.split()) for line in text.splitlines())
            raise NoUserNamespaceError(f"its {name} is {shown}")


def _is_of_a_pod(text: str) -> bool:
    extents = [tuple(map(int, line.split())) for line in text.splitlines()]
    if len(extents) != 1:
        return False
    ((inside, outside, length),) = extents
    return inside == 0 and outside >= length >= _UNIT and length % _UNIT == 0 and outside % length == 0


def main() -> int:
    """Return 0 if there is a user namespace, else an exit code of its own, with the map on stderr."""
    parser = argparse.ArgumentParser(
        prog="python -m sshload_target.user_namespace",
        description="Ends with 0 only in a pod with a user namespace of its own.",
    )
    parser.parse_args()
    try:
        prove()
    except NoUserNamespaceError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
