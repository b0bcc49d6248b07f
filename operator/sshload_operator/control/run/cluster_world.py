"""A cluster as the world in which decisions are carried out: the children of a run, its status, and its Events.

All names follow from the run, so an interrupted pass is simply repeated. The master's Job is deleted last: by it a
restarted operator sees whether a run was swept.
"""

import asyncio
import secrets
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

from sshload_contract.shortened import shortened
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.master_log import proof_sha256

from sshload_operator.api.kinds import TEST
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.control.api_server import announcement
from sshload_operator.control.api_server.cluster import REFUSED, Cluster, Object, object_path
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.run.observe import Observations, Rejection
from sshload_operator.decision.life_cycle import MESSAGE_LIMIT_CHARACTERS
from sshload_operator.manifests import (
    ChildRef,
    child_name,
    child_ref,
    children,
    keys_secret,
    results_ref,
    swept,
)
from sshload_operator.manifests.labels import PROOF_SHA256_ANNOTATION, run_child_name
from sshload_operator.manifests.run_config import login_to_managed
from sshload_operator.planning.plan import Plan, TestIdentity
from sshload_operator.state import Announcement, Manifest, Role
from sshload_operator.world.execute import Status
from sshload_operator.world.gateway_secrets import make_gateway_secrets
from sshload_operator.world.keys import KeysAsked, make_keys

_SECRETS: Final = {InPath.GATEWAY: make_gateway_secrets}
"""What makes the secrets of a program in the path that has some."""
_PODS_COME_FROM: Final = ("Deployment", "Job")
# An admission webhook that is briefly away fails in the same way. With the back-off between passes, eight failures take
# more than half a minute.
_FAILED_STARTS: Final = 8
# The message of an admission webhook can have any length.
_REFUSAL_LIMIT_CHARACTERS: Final = 1_000


@dataclass(slots=True)
class ClusterWorld:
    """One test in a cluster. `newest` is the object as the API server returned it last, None if it is gone.

    `occasion` is the run that Events are about. `status_error` is why the status could not be written.
    """

    cluster: Cluster
    test: TestIdentity
    occasion: str
    observations: Observations
    now: datetime
    newest: Object | None
    status_error: ApiError | None = None

    async def discard_results(self, run_ids: Sequence[str]) -> None:
        """Delete the results ConfigMaps."""
        await _all(*(_delete(self.cluster, results_ref(self.test, run_id)) for run_id in run_ids))

    async def start(self, plan: Plan) -> None:
        """Create all children of a run, its Jobs and Deployments last. `observations` keeps the refusal of a child.

        A refusal is final if the API server says so, or if it answers 500 again and again. Jobs and Deployments are
        created once and not applied again: an operator of another release would write another pod template, which a Job
        does not accept and which would replace the pods of a Deployment.
        """
        cluster, observations = self.cluster, self.observations
        try:
            manifests = children(plan, await _create_keys(cluster, plan))
            await _all(*(_apply(cluster, found) for found in manifests if found["kind"] not in _PODS_COME_FROM))
            pods_come_from = [found for found in manifests if found["kind"] in _PODS_COME_FROM]
            master = [found for found in pods_come_from if found["metadata"]["name"] == child_name(plan, Role.MASTER)]
            await _all(*(_create(cluster, found) for found in master))
            await _all(*(_create(cluster, found) for found in pods_come_from if found not in master))
        except _ChildError as failed:
            error = failed.error
            observations.failed_starts += error.status == HTTPStatus.INTERNAL_SERVER_ERROR
            if error.status not in REFUSED and observations.failed_starts < _FAILED_STARTS:
                raise error from None
            observations.refused = Rejection(failed.kind, shortened(str(error), _REFUSAL_LIMIT_CHARACTERS))
        else:
            observations.refused = None
        observations.failed_starts = 0

    async def store(self, results: Manifest, status: Status) -> Status:
        """Apply the results ConfigMap. If it is refused, the status says so and does not name it."""
        try:
            await self.cluster.apply(child_ref(results).api_path, results)
        except ApiError as error:
            if error.status not in REFUSED:
                raise
            whole = read_fitting(TestStatus, status)
            refused = shortened(f" The results ConfigMap was refused: {error}", _REFUSAL_LIMIT_CHARACTERS)
            said = shortened(whole.message, MESSAGE_LIMIT_CHARACTERS - len(refused))
            return written(replace(whole, results_config_map="", message=f"{said}{refused}".strip()))
        return status

    async def write_status(self, status: Status) -> bool:
        """Patch the status of the object as it was last seen."""
        if self.newest is None:
            return False
        try:
            self.newest = await self.cluster.write_status(TEST, self.newest, status)
        except ApiError as error:
            self.status_error = error
            raise
        self.observations.failed_writes = 0
        return self.newest is not None

    async def sweep(self, run_ids: Sequence[str]) -> None:
        """Delete the children of these runs, the masters' Jobs last."""
        await _all(*(self._sweep_one(run_id) for run_id in run_ids))
        self.observations.orphans = tuple(found for found in self.observations.orphans if found not in run_ids)

    async def _sweep_one(self, run_id: str) -> None:
        refs = swept(self.test, run_id)
        master = run_child_name(self.test.name, run_id, Role.MASTER)
        last = [ref for ref in refs if ref.kind == "Job" and ref.name == master]
        await _all(*(_delete(self.cluster, ref) for ref in refs if ref not in last))
        await _all(*(_delete(self.cluster, ref) for ref in last))

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Create Events."""
        test = self.test
        about = announcement.About(TEST, test.namespace, test.name, test.uid, self.occasion)
        await announcement.announce(self.cluster, about, announcements, self.now)

    async def delete_test(self) -> None:
        """Delete the object, unless somebody has changed it meanwhile."""
        if self.newest is not None:
            metadata = self.newest["metadata"]
            preconditions = {key: metadata[key] for key in ("uid", "resourceVersion")}
            await self.cluster.delete(object_path(TEST, metadata["namespace"], metadata["name"]), preconditions)


class _ChildError(Exception):
    """The API server did not make a child of this kind."""

    def __init__(self, kind: str, error: ApiError) -> None:
        self.kind = kind
        self.error = error


async def _apply(cluster: Cluster, manifest: Manifest) -> None:
    try:
        await cluster.apply(child_ref(manifest).api_path, manifest)
    except ApiError as error:
        raise _ChildError(manifest["kind"], error) from error


async def _create(cluster: Cluster, manifest: Manifest) -> bool:
    """Create a child, and return whether it was not there before."""
    try:
        return await cluster.create(child_ref(manifest).api_path, manifest)
    except ApiError as error:
        raise _ChildError(manifest["kind"], error) from error


async def _create_keys(cluster: Cluster, plan: Plan) -> str:
    """Create the run's Secret with a new token, and return the SHA-256 of the proof that belongs to it.

    If an interrupted attempt left a Secret, the annotation of the master's Job has that hash. That Job is created
    before all other Jobs and Deployments: without it no pod has the token, and the Secret is made again.
    """
    token = secrets.token_hex(32)
    secret = keys_secret(plan, token, await _keys(plan))
    path = child_ref(secret).api_path
    if await _create(cluster, secret):
        return proof_sha256(token)
    job = await cluster.read_job(plan.test.namespace, child_name(plan, Role.MASTER))
    known = (job or {"metadata": {}})["metadata"].get("annotations", {}).get(PROOF_SHA256_ANNOTATION)
    if known is not None:
        return str(known)
    await cluster.delete(path)
    await _create(cluster, secret)
    return proof_sha256(token)


async def _keys(plan: Plan) -> Mapping[str, str]:
    managed = plan.spec.managed
    if managed is None:
        return {}
    login, valid_s = login_to_managed(plan, managed), plan.spec.deadline_s
    keys = await make_keys(KeysAsked.of(plan.spec, managed, login.host, login.port, login.user))
    files = dict(keys.files())
    for make in (_SECRETS[part] for part in managed.in_path if part in _SECRETS):
        files |= await make(keys, login.host, login.port, login.user, valid_s)
    return files


async def _delete(cluster: Cluster, ref: ChildRef) -> None:
    await cluster.delete(ref.api_path)


async def _all(*steps: Coroutine[Any, Any, object]) -> None:
    """Run all steps concurrently, wait for all of them, then raise the first failure if there was any."""
    for result in await asyncio.gather(*steps, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
