"""How examples are drawn in all tests: the same ones in every run, and however slow the machine is.

A red run then means a change of this project. New examples are looked for with `--hypothesis-profile=search`, by chance
and ten times as many.

What is imported before the first test is left out of all searches for garbage, as in a worker: nothing of it turns to
garbage, and a search through it takes a tenth of a second.
"""

import gc

from circles import draws
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

pytest_plugins = ("testing.costs", "testing.lanes", "testing.root")

gc.disable()


def pytest_collection_finish() -> None:
    """Prepare once what lanes are forked with: the table of characters that texts are drawn from takes each a second.

    Garbage is searched for from now on, among what is made from now on.
    """
    st.text().validate()
    gc.freeze()
    gc.enable()


settings.register_profile(
    "same",
    deadline=None,
    derandomize=True,
    max_examples=draws(50, 200),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("same")
