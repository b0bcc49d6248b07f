"""Whether two tests measured the same: the same server, with the same scenario and the same load.

The configuration of a managed server may differ, because a baseline shows the effect of its change. The resources that
the installation gave the pods must be the same: they were not changed for their effect on the server.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields

from sshload_contract.wire.codec import to_plain

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.status.installed import InstalledResources, PodResources
from sshload_operator.api.status.results import Agreement, Results


def difference(ours: LoadTestSpec, baseline: LoadTestSpec) -> str:
    """Return in words the first difference that makes the figures of the two incomparable, empty if there is none."""
    for field, read in _FIELDS:
        here, there = read(ours), read(baseline)
        if here != there:
            return f"{field} is {here} here and {there} there" if isinstance(here, str | int) else f"{field} differs"
    return ""


def installed_difference(ours: InstalledResources | None, theirs: InstalledResources | None) -> str:
    """Return in words how the resources that the installation gave the pods of two runs differ, empty if they do not.

    Only roles whose resources both specs leave to the installation are compared, or both state where the cluster set
    others besides: a spec that states them may do so for their effect on the server. A status of an earlier release
    does not have them.
    """
    if ours is None or theirs is None:
        return ""
    for role in fields(InstalledResources):
        our: PodResources | None = getattr(ours, role.name)
        their: PodResources | None = getattr(theirs, role.name)
        if our is None or their is None or (our.given is None) != (their.given is None):
            continue
        if our != their:
            return f"the installation's resources of {role.name} pods are {our.words} here and {their.words} there"
    return ""


def other_login(ours: Results | None, theirs: Results | None) -> str:
    """Return in words what the logins of two runs agreed on differently, empty for nothing, or if it is not known.

    Neither spec needs to differ for that: the server, or the client's library, was another one. It costs time that the
    figures of a login have, and it may be the very change that is measured, so it makes no two runs incomparable.
    """
    if ours is None or theirs is None:
        return ""
    agreed = other_agreement(ours.negotiated, theirs.negotiated, "here", "there").values()
    differing = ", ".join((*agreed, *_other_sshd(ours, theirs)))
    return f"the login is not the same: {differing}" if differing else ""


def other_agreement(ours: Iterable[Agreement], theirs: Iterable[Agreement], here: str, there: str) -> Mapping[str, str]:
    """Return in words, by the field of an Agreement, what some logins (`here`) and others (`there`) agreed on.

    Without what is the same, or known of one of the two only. Of several values none counts more: it may be chance.
    """
    mine, others = tuple(ours), tuple(theirs)
    found = ((field, what, _values(mine, field), _values(others, field)) for field, what in _AGREED.items())
    return {
        field: f"{what} is {' or '.join(one)} {here} and {' or '.join(other)} {there}"
        for field, what, one, other in found
        if one and other and one.keys() != other.keys()
    }


def comparable_hash(spec: LoadTestSpec) -> str:
    """Return a hash of everything that `difference` compares: equal for two specs without a difference."""
    canonical = json.dumps([to_plain(read(spec)) for _, read in _FIELDS], sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _via(spec: LoadTestSpec) -> str:
    return ", ".join(host.identity for host in spec.via) or "no jump host"


def _promises(spec: LoadTestSpec) -> object:
    """Return the thresholds that each trial of a search must meet: they are part of the meaning of its capacity."""
    return tuple(sorted(set(spec.thresholds), key=repr)) if spec.load.is_search else ()


def _values(agreed: Iterable[Agreement], field: str) -> dict[str, None]:
    found = filter(None, (getattr(one, field) for one in agreed))
    return dict.fromkeys(_OTHER_NAMES.get(one, one) for one in found)


def _other_sshd(ours: Results, theirs: Results) -> Iterator[str]:
    """Yield how the sshd of the targets differ in words; their versions where no login told their servers."""
    here, there = (None if one.negotiated or one.target is None else one.target.sshd_version for one in (ours, theirs))
    if here and there and here != there:
        yield f"sshd is {here} here and {there} there"
    if ours.target is None or theirs.target is None:
        return
    for field, what in _MADE_OF.items():
        mine, other = getattr(ours.target, field), getattr(theirs.target, field)
        if None not in (mine, other) and mine != other:
            yield f"{what} is {_YES_OR_NO.get(mine, mine)} here and {_YES_OR_NO.get(other, other)} there"


_MADE_OF: Mapping[str, str] = {
    "distribution": "the distribution",
    "as_root": "root's sshd",
    "pam": "UsePAM",
    "accounts": "the source of accounts",
}
_YES_OR_NO = {True: "yes", False: "no"}
_OTHER_NAMES: Mapping[str, str] = {
    "curve25519-sha256@libssh.org": "curve25519-sha256",  # RFC 8731
    "sntrup761x25519-sha512@openssh.com": "sntrup761x25519-sha512",  # RFC 9941
}
"""Names from before a standard, of what has the same messages and the same cost by its name there."""

_AGREED: Mapping[str, str] = {
    "kex": "the key exchange",
    "cipher": "the cipher",
    "mac": "the MAC",
    "host_key": "the host key",
    "server_version": "the server",
}

_FIELDS: tuple[tuple[str, Callable[[LoadTestSpec], object]], ...] = (
    ("spec.target", lambda spec: spec.target.identity),
    ("spec.via", _via),
    ("spec.client.users", lambda spec: spec.users),
    ("spec.load", lambda spec: spec.load.identity),
    ("spec.warmUp", lambda spec: f"{spec.warm_up_s:g} s" if spec.load.recorded else ""),
    ("spec.thresholds", _promises),
    ("spec.client.auth", lambda spec: str(spec.auth)),
    ("spec.client.library", lambda spec: str(spec.client.library)),
    ("spec.client", lambda spec: spec.client),
    ("spec.scenario.locustfile", lambda spec: spec.locustfile),
    ("spec.scenario", lambda spec: spec.scenario),
    ("spec.workers.replicas", lambda spec: spec.workers.replicas),
    ("spec.workers.processesPerPod", lambda spec: spec.workers.processes_per_pod or "the pod's CPUs"),
)
