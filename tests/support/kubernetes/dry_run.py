"""What an API server says of objects, without keeping them: strict server-side dry runs over one connection."""

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from api_server import administrator
from live_cluster import LiveCluster
from sshload_operator.api.kinds import API_VERSION, TEST, Kind


class DryRun:
    """Creates objects of one kind in a namespace, each with `dryRun=All` and `fieldValidation=Strict`.

    It is the administrator who does, or `user`.
    """

    def __init__(self, cluster: LiveCluster, kind: Kind = TEST, user: str = "") -> None:
        self._kind = kind
        server = administrator(cluster.kubeconfig)
        self._connection = http.client.HTTPSConnection(urlsplit(server.url).netloc, context=server.tls, timeout=60)
        self._headers = {**server.login, "Content-Type": "application/json"}
        if user:
            self._headers["Impersonate-User"] = user
        path = f"/apis/{API_VERSION}/namespaces/{cluster.namespace}/{kind.plural}"
        self._path = f"{path}?dryRun=All&fieldValidation=Strict"

    def refusal(self, spec: Mapping[str, Any] | None, name: str = "dry") -> str:
        """Return the message with which the server refuses an object of this spec, empty where it accepts it."""
        status, answer = self._create(spec, name)
        assert status in {201, 400, 403, 422}, answer
        return "" if status == http.client.CREATED else answer["message"]

    def completed(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the spec as the server completes it; raises AssertionError where it refuses it."""
        status, answer = self._create(spec, "dry")
        assert status == http.client.CREATED, answer["message"]
        completed: dict[str, Any] = answer["spec"]
        return completed

    def _create(self, spec: Mapping[str, Any] | None, name: str) -> tuple[int, Any]:
        body: dict[str, Any] = {
            "apiVersion": API_VERSION,
            "kind": self._kind.name,
            "metadata": {"name": name},
        }
        if spec is not None:
            body["spec"] = spec
        self._connection.request("POST", self._path, json.dumps(body), self._headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())
