"""An SSHLoadTest spec that is held against a baseline."""

from specs.small import SMALL
from specs.spec import Spec

RELATIVE: Spec = {
    **SMALL,
    "thresholds": [
        {"latency": {"step": "total", "percentile": 95, "within": "10%"}},
        {"throughput": {"within": "2.5%"}},
        {"errorRate": {"below": "1%"}},
    ],
    "baseline": {"testRef": {"name": "last-week"}},
}
