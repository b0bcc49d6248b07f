"""Plan: one run of one test, with all names and numbers settled. Pure: the same test and generation, the same plan."""

from dataclasses import dataclass

from sshload_operator.spec import LoadTestSpec


@dataclass(frozen=True, slots=True)
class AllowedTarget:
    """External targets that the installer allows: a host pattern (fnmatch) or CIDR, and ports (empty: any)."""

    host: str
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Installation:
    """What the installer settled: images, pull rules, allowed external targets. Read from the operator's config."""

    worker_image: str
    target_image: str
    image_pull_policy: str
    image_pull_secrets: tuple[str, ...]
    allowed_targets: tuple[AllowedTarget, ...]


@dataclass(frozen=True, slots=True)
class TestIdentity:
    """Which object it is, as its metadata says."""

    __test__ = False  # not a pytest class

    namespace: str
    name: str
    uid: str
    generation: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. `run_id` is unique over all runs of all objects, ever; `load_s` is warm-up and load, without drain.

    `spec_hash` covers what is measured: not `abort` and not the times to live.
    """

    test: TestIdentity
    run: int
    run_id: str
    spec: LoadTestSpec
    spec_hash: str
    installation: Installation
    load_s: float
