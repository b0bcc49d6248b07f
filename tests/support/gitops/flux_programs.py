"""Flux's kustomize-controller and the CRDs of its objects, from their own Go modules.

Run as a program, this module compiles it, if it is not compiled yet: some minutes on 2 cores.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from go_programs import FEW_OPTIMISATIONS, ROOT, Go, compiled

_MODULE = ROOT / "tests/gitops/flux"
_CONTROLLER = "github.com/fluxcd/kustomize-controller"
_SOURCES_CRDS = "github.com/fluxcd/source-controller@v1.9.5"
"""Only for its CRDs: the tests play what its program does."""


@dataclass(frozen=True, slots=True)
class FluxPrograms:
    """What was compiled, and the folder of the CRDs."""

    kustomize_controller: Path
    crds: Path


def flux_programs() -> FluxPrograms:
    """Return Flux's programs, compiled where they are not there yet."""
    folder = compiled("flux", [*_MODULE.iterdir(), Path(__file__)], _compile)
    return FluxPrograms(folder / "kustomize-controller", folder / "crds")


def _compile(go: Go, made: Path) -> None:
    go.run(_MODULE, "build", "-trimpath", *FEW_OPTIMISATIONS, "-o", made, _CONTROLLER)
    sources = json.loads(go.run(_MODULE, "mod", "download", "-json", _SOURCES_CRDS))["Dir"]
    for module in (go.run(_MODULE, "list", "-m", "-f", "{{.Dir}}", _CONTROLLER).strip(), sources):
        shutil.copytree(Path(module, "config/crd/bases"), made / "crds", dirs_exist_ok=True)


if __name__ == "__main__":
    flux_programs()
