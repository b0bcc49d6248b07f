"""ssh2-python as the worker's image has it. Properties are about values: how long an example takes says nothing."""

from hypothesis import settings
from own_ssh2 import import_own_ssh2

import_own_ssh2()
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
