"""The Locust workers: an Indexed Job, so that each knows its share of the load."""

from typing import Any

from sshload_operator.api.spec import ExternalTarget
from sshload_operator.manifests.labels import metadata, role_selector
from sshload_operator.manifests.load_job import WORKER_RESOURCES, job_limits, load_pod_spec
from sshload_operator.manifests.mounts import (
    CONFIG_DIR,
    EXTERNAL_CREDENTIALS_FILES,
    KNOWN_HOSTS_FILE,
    PRIVATE_KEY_FILE,
    RUN_FILE,
    config_source,
    config_volume,
    run_keys_source,
    user_secret_source,
)
from sshload_operator.manifests.names import Part, child_name
from sshload_operator.manifests.pod import Container, image_pull_secrets, placement, pod_template
from sshload_operator.manifests.ports import LOCUST_PORT
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Role


def workers_job(plan: Plan) -> Manifest:
    """Return the workers' Job: a worker that fails is not replaced, and takes none of the others with it.

    A plain backoffLimit of 0 would kill all of them with the first, and a replacement would hide the loss.
    """
    replicas = plan.spec.workers.replicas
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(plan, Part.WORKERS, Role.WORKER),
        "spec": {
            "completionMode": "Indexed",
            "completions": replicas,
            "parallelism": replicas,
            "backoffLimitPerIndex": 0,
            **job_limits(plan),
            "template": pod_template(plan, _container(plan), _pod_spec(plan)),
        },
    }


def _container(plan: Plan) -> Container:
    workers = plan.spec.workers
    command = ("python", "-m", "sshload_worker", "--role", "worker", "--config", f"{CONFIG_DIR}/{RUN_FILE}")
    return Container(
        role=Role.WORKER,
        image=workers.image or plan.installation.worker_image,
        command=(*command, "--master-host", child_name(plan, Part.MASTER), "--master-port", str(LOCUST_PORT)),
        ports={},
        resources=workers.placement.resources or WORKER_RESOURCES,
        readiness_port="",
        mounts=(),
        volumes=(config_volume(config_source(plan, RUN_FILE), *_credentials(plan)),),
    )


def _credentials(plan: Plan) -> tuple[dict[str, Any], ...]:
    target = plan.spec.target
    if not isinstance(target, ExternalTarget):
        return (run_keys_source(plan, (PRIVATE_KEY_FILE, KNOWN_HOSTS_FILE)),)
    credentials = user_secret_source(target.credentials_secret, EXTERNAL_CREDENTIALS_FILES[target.auth])
    if target.insecure_ignore_host_key:
        return (credentials,)
    return (credentials, user_secret_source(target.known_hosts_secret, KNOWN_HOSTS_FILE))


def _pod_spec(plan: Plan) -> dict[str, Any]:
    workers = plan.spec.workers
    return {
        **load_pod_spec(),
        **image_pull_secrets(plan, workers.image_pull_secrets),
        **placement(workers.placement, _away_from_the_target(plan)),
    }


def _away_from_the_target(plan: Plan) -> dict[str, Any]:
    """Return the wish not to share a node with a managed target: sharing cores with sshd distorts what is measured."""
    if isinstance(plan.spec.target, ExternalTarget):
        return {}
    term = {
        "labelSelector": {"matchLabels": role_selector(plan, Role.TARGET)},
        "topologyKey": "kubernetes.io/hostname",
    }
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
