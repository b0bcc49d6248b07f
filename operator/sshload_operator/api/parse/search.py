"""What a search for the capacity asks of the rest of a spec, and what asks for a search."""

from sshload_operator.api.errors import SpecError
from sshload_operator.api.spec import LoadTestSpec, RelativeCapacity


def check_search(spec: LoadTestSpec) -> None:
    """Raise SpecError for a search whose trials nothing judges, and for thresholds that do not suit the load."""
    relative_capacity = any(isinstance(threshold, RelativeCapacity) for threshold in spec.relative_thresholds)
    if spec.capacity is None:
        if spec.capacity_thresholds or relative_capacity:
            raise SpecError("spec.thresholds", "capacity is for load.capacity only: no other load searches it")
        return
    if not spec.thresholds:
        raise SpecError(
            "spec.thresholds",
            "load.capacity needs what each trial has to keep: latency.below, errorRate or throughput.above",
        )
    if any(not isinstance(threshold, RelativeCapacity) for threshold in spec.relative_thresholds):
        raise SpecError(
            "spec.thresholds",
            "latency.within and throughput.within are not for load.capacity: its trials differ from the baseline's;"
            " use capacity.within",
        )
