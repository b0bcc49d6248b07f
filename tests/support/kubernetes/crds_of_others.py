"""The CRDs of others of whose kinds the chart makes objects, as their own modules have them.

As a program, it fetches them: `make test` does so early, and the tests wait for nothing.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from go_programs import Go, compiled

_SOURCES: Final = Path(__file__).parent / "crd_modules"
_PROMETHEUS_OPERATOR: Final = (
    "github.com/prometheus-operator/prometheus-operator",
    "example/prometheus-operator-crd/monitoring.coreos.com",
)
_GATEWAY_API: Final = ("sigs.k8s.io/gateway-api", "config/crd/standard/gateway.networking.k8s.io")
_MADE_BY: Final[Mapping[str, tuple[str, str]]] = {
    "HTTPRoute": _GATEWAY_API,
    "PodMonitor": _PROMETHEUS_OPERATOR,
    "PrometheusRule": _PROMETHEUS_OPERATOR,
    "ServiceMonitor": _PROMETHEUS_OPERATOR,
}
"""The module of each kind, and the files in it by their beginning."""
KINDS: Final = frozenset(_MADE_BY)
"""The kinds."""


def crds() -> list[Path]:
    """Return the CRDs of the kinds, fetched where they are not there yet, from modules whose hashes go.sum locks."""
    return sorted(compiled("crds_of_others", [*_SOURCES.iterdir(), Path(__file__)], _fetch).iterdir())


def _fetch(go: Go, made: Path) -> None:
    for kind, (module, files) in _MADE_BY.items():
        folder = json.loads(go.run(_SOURCES, "mod", "download", "-json", module))["Dir"]
        shutil.copy(f"{folder}/{files}_{kind.lower()}s.yaml", made)


if __name__ == "__main__":
    crds()
