"""Who would apply a test anew if it were deleted, by the marks that GitOps controllers leave on what they apply."""

from collections.abc import Mapping
from typing import Any, Final

# Argo CD applies what a hook is only when it syncs, and that is then meant.
_ARGO_CD_HOOK: Final = "argocd.argoproj.io/hook"
_MARKS: Final = (
    ("Argo CD", "annotations", "argocd.argoproj.io/tracking-id"),
    ("Flux", "labels", "kustomize.toolkit.fluxcd.io/name"),
)


def applier(metadata: Mapping[str, Any]) -> str:
    """Return the name of the controller that keeps the object as it is in Git, empty where none is known."""
    if _ARGO_CD_HOOK in (metadata.get("annotations") or {}):
        return ""
    return next((name for name, place, mark in _MARKS if mark in (metadata.get(place) or {})), "")
