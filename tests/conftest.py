"""How examples are drawn in all tests: the same ones in every run, and however slow the machine is.

A red run then means a change of this project. New examples are looked for with `--hypothesis-profile=search`, by chance
and ten times as many.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "search", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("same")
