"""The spec of an SSHLoadTest, as it is written, to a LoadTestSpec: strictly, with the CRD's defaults.

It accepts what the CRD accepts and refuses what it refuses (tests hold it against a real API server), so that
`sshload run FILE` needs no cluster, and so that an object of an older or a looser CRD ends in a clear condition. The
size of a whole spec is bounded here alone, because a CRD cannot bound it.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.baseline import check_baseline, read_baseline
from sshload_operator.api.parse.client import read_client
from sshload_operator.api.parse.consistency import check_consistency
from sshload_operator.api.parse.external import read_via
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.load import read_load
from sshload_operator.api.parse.placement import read_image, read_image_pull_secrets, read_placement
from sshload_operator.api.parse.readers import Reader, duration, entries, flag, integer, text, whole
from sshload_operator.api.parse.scenario import read_scenario
from sshload_operator.api.parse.search import check_search
from sshload_operator.api.parse.target import read_target
from sshload_operator.api.parse.thresholds import check_aborting, check_measured, read_thresholds
from sshload_operator.api.search_time import search_budget_s
from sshload_operator.api.spec import LoadTestSpec, TimeToLive, Workers

SPEC_LIMIT_BYTES: Final = 32 * 1024
"""The most that a spec may take as compact JSON in UTF-8. The largest example takes 1 KB."""

_NUMBER_BITS: Final = 64

_TIME_TO_LIVE = duration("0s", "87600h")
_TRIGGERS = entries(text(longest=253), most=20)
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME_CHARACTERS = 40


def check_name(name: str) -> None:
    """Raise SpecError for a test's name that the CRD refuses, because the names of its pods are made from it."""
    if len(name) > _NAME_CHARACTERS or _NAME.fullmatch(name) is None:
        raise SpecError(
            "metadata.name",
            f"is {name!r}, but must be at most {_NAME_CHARACTERS} lower-case letters, digits and hyphens, beginning"
            " with a letter and ending with a letter or digit",
        )


def parse(body_spec: Mapping[str, Any]) -> LoadTestSpec:
    """Return the values of `body_spec`, which is what stands under `spec`; raises SpecError naming the field."""
    fields = Fields(body_spec, "spec")
    check_size(body_spec)
    client, auth = fields.defaulted("client", read_client, {})
    scenario, locustfile = fields.required("scenario", read_scenario)
    count = integer if scenario.pool_sessions else whole  # the CRD computes with the workers of a pool
    deadline_s = fields.defaulted("deadline", duration("10s", "168h"), "30m")
    start_timeout_s = fields.defaulted("startTimeout", duration("1s", "24h"), "2m")
    budget_s = search_budget_s(deadline_s, start_timeout_s)
    load, capacity = fields.required("load", lambda value, path: read_load(value, path, budget_s))
    thresholds = fields.defaulted("thresholds", read_thresholds, [])
    spec = LoadTestSpec(
        target=fields.required("target", lambda value, path: read_target(value, path, auth)),
        via=fields.optional("via", read_via) or (),
        auth=auth,
        client=client,
        scenario=scenario,
        locustfile=locustfile,
        load=load,
        capacity=capacity,
        warm_up_s=fields.defaulted("warmUp", duration("0s", "1h"), "5s"),
        thresholds=thresholds.of_run,
        capacity_thresholds=thresholds.of_capacity,
        relative_thresholds=thresholds.relative,
        baseline=fields.optional("baseline", read_baseline),
        workers=fields.defaulted("workers", lambda value, path: _read_workers(value, path, count), {}),
        deadline_s=deadline_s,
        start_timeout_s=start_timeout_s,
        time_to_live=fields.defaulted("ttlAfterFinished", _read_time_to_live, {}),
        triggers=fields.optional("triggers", _TRIGGERS) or {},
        abort=fields.defaulted("abort", flag, default=False),
        suspend=fields.defaulted("suspend", flag, default=False),
        login_before_load=fields.defaulted("loginBeforeLoad", flag, default=True),
    )
    fields.end()
    check_consistency(spec)
    check_measured(spec)
    check_aborting(spec)
    check_search(spec)
    check_baseline(spec)
    return spec


def _read_workers(value: Any, path: str, count: Callable[[int, int], Reader[int]]) -> Workers:
    fields = Fields(value, path)
    workers = Workers(
        replicas=fields.defaulted("replicas", count(1, 200), 1),
        processes_per_pod=fields.optional("processesPerPod", count(1, 64)),
        image=read_image(fields),
        image_pull_secrets=read_image_pull_secrets(fields),
        placement=read_placement(fields),
    )
    fields.end()
    return workers


def _read_time_to_live(value: Any, path: str) -> TimeToLive:
    fields = Fields(value, path)
    time_to_live = TimeToLive(
        passed_s=fields.optional("passed", _TIME_TO_LIVE), failed_s=fields.optional("failed", _TIME_TO_LIVE)
    )
    fields.end()
    return time_to_live


def check_size(spec: Mapping[str, Any]) -> None:
    """Raise SpecError for a spec that takes more than SPEC_LIMIT_BYTES.

    The time does not grow with the spec, not even with one that contains itself, as YAML can say: counting ends at the
    limit.
    """
    size_bytes = 0
    uncounted: list[Any] = [spec]
    while uncounted:
        value = uncounted.pop()
        size_bytes += _own_bytes(value)
        if size_bytes > SPEC_LIMIT_BYTES:
            raise SpecError(
                "spec",
                f"takes more than {SPEC_LIMIT_BYTES} bytes as compact JSON, which is the most: shorten long lists and"
                " texts, such as by one label of nodes in place of their many names",
            )
        if isinstance(value, Mapping):
            uncounted += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            uncounted += value


def _own_bytes(value: Any) -> int:
    """Return the bytes of a value without those of what it holds."""
    match value:
        case Mapping():
            return max(2, 2 * len(value) + 1)
        case list() | tuple():
            return max(2, len(value) + 1)
        case int() if value.bit_length() > _NUMBER_BITS:
            return 0  # the parser refuses it by its field, and str may refuse to write it
        case _:
            return len(json.dumps(value, ensure_ascii=False, default=str).encode(errors="surrogatepass"))
