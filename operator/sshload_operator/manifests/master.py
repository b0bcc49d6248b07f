"""The Locust master: a Job of one pod, and the headless Service through which workers find it."""

from dataclasses import replace

from sshload_operator.api.pods import Pods
from sshload_operator.manifests.labels import (
    LOCUST_PORT,
    LOCUST_PORT_NAME,
    MASTER_HTTP_PORT,
    METRICS_PORT_NAME,
    PROOF_SHA256_ANNOTATION,
    TEST_UID_ANNOTATION,
    metadata,
    role_selector,
)
from sshload_operator.manifests.mounts import (
    CONFIG_DIR,
    RUN_FILE,
    TOKEN_FILE,
    config_source,
    config_volume,
    run_keys_source,
)
from sshload_operator.manifests.pod import Container, job_limits, load_pod_spec, pod_template
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Role


def master_service(plan: Plan) -> Manifest:
    """Return the headless Service. It resolves before the master is ready: workers make it ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(plan, Role.MASTER),
        "spec": {
            "clusterIP": "None",
            "selector": role_selector(plan, Role.MASTER),
            "publishNotReadyAddresses": True,
            "ports": [
                {"name": LOCUST_PORT_NAME, "port": LOCUST_PORT, "targetPort": LOCUST_PORT_NAME, "protocol": "TCP"},
                {
                    "name": METRICS_PORT_NAME,
                    "port": MASTER_HTTP_PORT,
                    "targetPort": METRICS_PORT_NAME,
                    "protocol": "TCP",
                },
            ],
        },
    }


def master_job(plan: Plan, proof_sha256: str) -> Manifest:
    """Return the master's Job: one attempt, and the pod stays until it is deleted, because its log is the result.

    By its annotation the operator, even after a restart, knows that results were printed by a holder of the token.
    """
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            **metadata(plan, Role.MASTER),
            "annotations": {PROOF_SHA256_ANNOTATION: proof_sha256, TEST_UID_ANNOTATION: plan.test.uid},
        },
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 0,
            **job_limits(plan),
            "template": pod_template(plan, _container(plan), _pods(plan), load_pod_spec(), {}),
        },
    }


def _container(plan: Plan) -> Container:
    return Container(
        role=Role.MASTER,
        command=("python", "-m", "sshload_worker", "--role", "master", "--config", f"{CONFIG_DIR}/{RUN_FILE}"),
        ports={LOCUST_PORT_NAME: LOCUST_PORT, METRICS_PORT_NAME: MASTER_HTTP_PORT},
        readiness_port=METRICS_PORT_NAME,
        volumes=(config_volume(plan, config_source(plan, RUN_FILE), run_keys_source(plan, (TOKEN_FILE,))),),
    )


def _pods(plan: Plan) -> Pods:
    """Return the workers' pod settings for the master: the same kind of node, but no affinity and no topology spread.

    The variables and volumes for the author's code are left out, because the master runs none of it.
    """
    return replace(plan.spec.workers, affinity={}, topology_spread_constraints=(), env=(), volumes=())
