"""A run of one worker, as the passes of the operator have brought it so far."""

import pytest
from passes import Passes
from plans import quickstart
from runs import pod, snapshot, summary
from sshload_operator.state import Role

_ALL = (pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER))


@pytest.fixture
def running() -> Passes:
    """Return a run whose worker has connected."""
    kept = {"passed": "1h", "failed": "24h"}
    passes = Passes(quickstart(workers={"replicas": 1}, deadline="10m", ttlAfterFinished=kept))
    passes.run()
    passes.run(*_ALL, after_s=3, snapshot=snapshot(workers_connected=1))
    return passes


@pytest.fixture
def finished(running: Passes) -> Passes:
    """Return the run when it has ended."""
    running.run(*_ALL, after_s=35, summary=summary())
    assert running.said() == ("Passed", "NoThresholds")
    return running
