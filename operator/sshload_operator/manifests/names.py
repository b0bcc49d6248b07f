"""The names of a run's objects: the same plan, the same names, and never those of another run."""

from enum import StrEnum, unique

from sshload_operator.api.names import dns_label
from sshload_operator.planning.plan import Plan

_TEST_CHARACTERS = 40


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
    """Return `<test>-<run id>-<part>`: at most 59 characters, with a test's name that is longer than 40 cut.

    The four that are left hold the hyphen and the completion index of a worker's host name.
    """
    return run_child_name(plan.test.name, plan.run_id, part)


def run_child_name(test_name: str, run_id: str, part: Part) -> str:
    """Return the name of a run's object where there is no plan of that run any more."""
    return f"{dns_label(test_name, _TEST_CHARACTERS)}-{run_id}-{part}"


SSH_PORT = 2222
TARGET_HTTP_PORT = 9200
LOCUST_PORT = 5557
MASTER_HTTP_PORT = 9201
DNS_PORT = 53

SSH_PORT_NAME = "ssh"
LOCUST_PORT_NAME = "locust"
METRICS_PORT_NAME = "metrics"
