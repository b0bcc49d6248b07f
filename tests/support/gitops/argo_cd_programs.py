"""Argo CD's application controller and repo server, kustomize, and the CRDs of Argo CD, from their own Go modules.

Run as a program, this module compiles them, if they are not compiled yet: some minutes on 2 cores.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from go_programs import FEW_OPTIMISATIONS, ROOT, Go, compiled

_MODULE = ROOT / "tests/gitops/argo"
_ARGO = "github.com/argoproj/argo-cd/v3"
_KUSTOMIZE = "sigs.k8s.io/kustomize/kustomize/v5"


@dataclass(frozen=True, slots=True)
class ArgoPrograms:
    """The program `argo` with both servers, the folder that holds the program `kustomize`, and that of the CRDs."""

    argo: Path
    kustomize_folder: Path
    crds: Path


def argo_programs() -> ArgoPrograms:
    """Return Argo CD's programs, compiled where they are not there yet."""
    folder = compiled("argo", [*_MODULE.iterdir(), Path(__file__)], _compile)
    return ArgoPrograms(folder / "argo", folder, folder / "crds")


def _compile(go: Go, made: Path) -> None:
    go.run(_MODULE, "build", "-trimpath", *FEW_OPTIMISATIONS, "-o", made / "argo", ".")
    go.run(_MODULE, "build", "-trimpath", *FEW_OPTIMISATIONS, "-o", made / "kustomize", _KUSTOMIZE)
    (made / "crds").mkdir()
    crds = Path(go.run(_MODULE, "list", "-m", "-f", "{{.Dir}}", _ARGO).strip(), "manifests/crds")
    for name in ("application", "appproject"):
        shutil.copy(crds / f"{name}-crd.yaml", made / "crds")


if __name__ == "__main__":
    argo_programs()
