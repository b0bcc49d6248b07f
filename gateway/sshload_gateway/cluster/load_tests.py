"""SSHLoadTests that callers start: created in one namespace of a list, by an account that may do nothing else."""

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from sshload_contract.shortened import printable

from sshload_gateway.bounded import joined

_ANSWER_S: Final = 10.0
_LARGEST_ANSWER: Final = 4 * 1024 * 1024
_LONGEST_REASON: Final = 2_000
_REFUSALS: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)
REQUESTED_BY: Final = "sshload.dev/requested-by"
"""The annotation of a test that has the `sub` of the caller who started it."""


class RefusedError(Exception):
    """The API server does not take the test, with its words, printable and bounded."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class ClusterUnavailableError(Exception):
    """The API server did not answer, not in time, or not as expected. Nobody knows whether it made the test."""


@dataclass(frozen=True, slots=True)
class ApiServer:
    """Where the API server is, and the files of the account that asks it, which the kubelet renews."""

    url: str
    token_file: Path
    ca_file: Path


@dataclass(frozen=True, slots=True)
class LoadTests:
    """Creates SSHLoadTests."""

    server: ApiServer

    def __post_init__(self) -> None:
        import_module("aiohttp")  # not while a request waits, and not in a gateway that creates no tests

    async def create(self, namespace: str, spec: Mapping[str, Any], requested_by: str) -> str:
        """Create a test with a name that the API server makes up; return the name.

        Raises RefusedError, and ClusterUnavailableError.
        """
        test = {
            "apiVersion": "sshload.dev/v1alpha1",
            "kind": "SSHLoadTest",
            "metadata": {"generateName": "load-", "annotations": {REQUESTED_BY: requested_by}},
            "spec": spec,
        }
        try:
            status, answer = await self._post(namespace, test)
        except (OSError, ValueError) as error:  # TimeoutError is an OSError
            raise _unavailable(error) from error
        said = answer if isinstance(answer, dict) else {}
        if status in _REFUSALS:
            raise RefusedError(status, _one_line(said.get("message")))
        name = said.get("metadata", {}).get("name") if status == HTTPStatus.CREATED else None
        if not isinstance(name, str):
            raise ClusterUnavailableError(f"the API server answers {status}")
        return name

    async def _post(self, namespace: str, test: Mapping[str, Any]) -> tuple[int, Any]:
        import aiohttp  # noqa: PLC0415

        server = self.server
        path = f"/apis/sshload.dev/v1alpha1/namespaces/{namespace}/sshloadtests"
        token = server.token_file.read_text(encoding="utf-8").strip()
        tls = ssl.create_default_context(cafile=server.ca_file)
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_ANSWER_S)) as session,
                session.post(
                    f"{server.url}{path}",
                    params={"fieldValidation": "Strict"},
                    json=test,
                    headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
                    ssl=tls,
                    allow_redirects=False,
                ) as answer,
            ):
                pieces = answer.content.iter_chunked(_LARGEST_ANSWER)
                return answer.status, json.loads(await joined(pieces, _LARGEST_ANSWER, "the answer"))
        except aiohttp.ClientError as error:
            raise _unavailable(error) from error


def _unavailable(error: Exception) -> ClusterUnavailableError:
    return ClusterUnavailableError(f"the API server does not answer: {type(error).__name__}")


def _one_line(message: object) -> str:
    text = " ".join(str(message).split())
    return printable(text)[:_LONGEST_REASON]
