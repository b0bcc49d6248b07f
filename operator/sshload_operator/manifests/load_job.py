"""What the Jobs of the master and of the workers have in common."""

from math import ceil
from typing import Any

from sshload_operator.planning.plan import Plan

_DEADLINE_MARGIN_S = 60
_GRACE_PERIOD_S = 5


def job_limits(plan: Plan) -> dict[str, Any]:
    """Return the Job fields that bound a load pod's life.

    The deadline is a backstop for a run whose operator is gone: the operator's own comes first. There is no TTL, since
    it would take the master's log away, and no second try: a pod that was lost belongs in the result.
    """
    return {
        "activeDeadlineSeconds": ceil(plan.spec.deadline_s) + _DEADLINE_MARGIN_S,
        "podReplacementPolicy": "Failed",
    }


def load_pod_spec() -> dict[str, Any]:
    """Return the pod fields of both: never restarted, and quick to go."""
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": _GRACE_PERIOD_S}
