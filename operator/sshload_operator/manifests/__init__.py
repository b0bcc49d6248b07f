"""The Kubernetes objects of one run, as plain dicts made from a Plan. Pure: the same plan, the same objects."""

from sshload_operator.manifests.children import (
    KEY_FILES,
    ChildRef,
    child_ref,
    children,
    key_files,
    keys_secret,
    results_ref,
    swept,
)
from sshload_operator.manifests.labels import Part, child_name
from sshload_operator.manifests.results import results_config_map
from sshload_operator.manifests.run_config import Places, cluster_places, run_config
from sshload_operator.manifests.target import target_config

__all__ = [
    "KEY_FILES",
    "ChildRef",
    "Part",
    "Places",
    "child_name",
    "child_ref",
    "children",
    "cluster_places",
    "key_files",
    "keys_secret",
    "results_config_map",
    "results_ref",
    "run_config",
    "swept",
    "target_config",
]
