import os
import signal

import pytest
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess


def test_nobody_waits_for_an_operator_that_has_died(cluster: LiveCluster, operator: OperatorProcess) -> None:
    operator.start()
    os.kill(operator.pid, signal.SIGKILL)
    cluster.apply(load_test("waiting"))
    with pytest.raises(AssertionError, match=r"the operator ended with -9: .*sshload"):
        cluster.finished("waiting")
