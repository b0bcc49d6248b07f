"""Workers have ssh2-python as in their image."""

from own_ssh2 import import_own_ssh2

import_own_ssh2()
