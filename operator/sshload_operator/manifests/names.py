"""The names of a run's objects: the same plan, the same names, and never those of another run."""

from enum import StrEnum, unique

from sshload_operator.planning.plan import Plan


@unique
class Part(StrEnum):
    """What an object is within its run, as the last part of its name. Objects of different kinds share a part."""

    TARGET = "target"
    MASTER = "master"
    WORKERS = "workers"
    CONFIG = "config"
    KEYS = "keys"
    RESULTS = "results"


def child_name(plan: Plan, part: Part) -> str:
    """Return `<test>-<run id>-<part>`: at most 59 characters, as a test's name has at most 40.

    The four that are left hold the hyphen and the completion index of a worker's host name.
    """
    return run_child_name(plan.test.name, plan.run_id, part)


def run_child_name(test_name: str, run_id: str, part: Part) -> str:
    """Return the name of a run's object where there is no plan of that run any more."""
    return f"{test_name}-{run_id}-{part}"
