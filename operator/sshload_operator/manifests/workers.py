"""The Locust workers: an Indexed Job, so that each knows its share of the load."""

from collections.abc import Iterator
from typing import Any

from sshload_operator.manifests.in_path import in_path
from sshload_operator.manifests.labels import LOCUST_PORT, child_name, metadata
from sshload_operator.manifests.mounts import (
    CONFIG_DIR,
    KEYS_FOLDER,
    RUN_FILE,
    TOKEN_FILE,
    config_source,
    config_volume,
    file_source,
    hop_folder,
    login_files,
    run_keys_source,
    secret_sources,
)
from sshload_operator.manifests.pod import Container, away_from, job_limits, load_pod_spec, pod_template
from sshload_operator.planning.plan import Plan, pods_asked
from sshload_operator.state import DEPLOYED, Manifest, Role

_NAMES_AS_THEY_ARE = {"name": "ndots", "value": "1"}
"""A name with a dot is first looked up as it is. By default the lookup in the test's namespace comes first."""
_POD_SPEC = {**load_pod_spec(), "dnsConfig": {"options": [_NAMES_AS_THEY_ARE]}}


def workers_job(plan: Plan) -> Manifest:
    """Return the workers' Job: a worker that fails is not replaced, and does not end the others.

    With a plain backoffLimit of 0 the first failure would end all workers, and a replacement would hide the loss.
    """
    replicas = plan.spec.workers.replicas
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(plan, Role.WORKER),
        "spec": {
            "completionMode": "Indexed",
            "completions": replicas,
            "parallelism": replicas,
            "backoffLimitPerIndex": 0,
            **job_limits(plan),
            "template": pod_template(
                plan, _container(plan), plan.spec.workers, _POD_SPEC, away_from(plan, *_measured(plan))
            ),
        },
    }


def _container(plan: Plan) -> Container:
    command = ("python", "-m", "sshload_worker", "--role", "worker", "--config", f"{CONFIG_DIR}/{RUN_FILE}")
    return Container(
        role=Role.WORKER,
        command=(*command, "--master-host", child_name(plan, Role.MASTER), "--master-port", str(LOCUST_PORT)),
        ports={},
        readiness_port="",
        volumes=(config_volume(plan, config_source(plan, RUN_FILE), *_credentials(plan), *_files(plan)),),
    )


def _credentials(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the run's token, and the files for logins at the target and at each jump host before it."""
    spec = plan.spec
    if spec.target.managed is None:
        yield run_keys_source(plan, (TOKEN_FILE,))
        yield from secret_sources(spec.target, KEYS_FOLDER)
    elif spec.target.access.speaks_ssh:
        yield run_keys_source(plan, (TOKEN_FILE, *login_files(plan, spec.target)))
    else:
        callers = (file for program in in_path(spec.target) for file in program.caller_files)
        yield run_keys_source(plan, (TOKEN_FILE, *callers))
    for hop, host in enumerate(spec.via):
        yield from secret_sources(host, hop_folder(hop))


def _measured(plan: Plan) -> Iterator[Role]:
    """Yield the roles of what is measured: workers on the same cores would distort the measurement."""
    return (role for role in pods_asked(plan.spec) if role in DEPLOYED)


def _files(plan: Plan) -> Iterator[dict[str, Any]]:
    return (file_source(name, file) for name, file in plan.spec.files.items())
