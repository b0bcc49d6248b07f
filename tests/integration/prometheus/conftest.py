"""Workers have ssh2-python as in their image; the operator is a process that a played master talks to."""

from operator_fixtures import operator, proxy
from own_ssh2 import import_own_ssh2

__all__ = ["operator", "proxy"]

import_own_ssh2()
