"""The Lua that the chart brings for Argo CD, run in Lua 5.1 with what Argo CD lets a script have."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from lupa.lua51 import LuaRuntime, lua_type

FILE: Final = Path(__file__).parents[3] / "charts/sshload/argocd/argocd-cm.yaml"
KINDS: Final = ("SSHLoadTest", "SSHLoadTestSchedule", "SSHLoadTestComparison")
# A script has the base and table libraries, and `os` with these two.
_BARE: Final = """
function(now)
  for _, name in ipairs({"io", "string", "math", "debug", "coroutine", "python", "jit", "bit"}) do
    _G[name], package.loaded[name] = nil, nil
  end
  getmetatable("").__index = nil
  local os_date = os.date
  os = {date = function(form) return os_date(form, now) end, time = function() return now end}
  package.loaded.os = os
end
"""

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Customization:
    """The scripts of one kind: its health, which actions there are, and each action."""

    health: str
    discovery: str
    actions: Mapping[str, str]


@cache
def customizations() -> Mapping[str, Customization]:
    """Return the scripts by kind, as Argo CD reads them from its ConfigMap."""
    data = yaml.load(FILE.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["data"]
    return {kind: _customization(data, f"sshload.dev_{kind}") for kind in KINDS}


def _customization(data: Mapping[str, str], key: str) -> Customization:
    actions = yaml.safe_load(data[f"resource.customizations.actions.{key}"])
    definitions = {definition["name"]: definition["action.lua"] for definition in actions["definitions"]}
    return Customization(data[f"resource.customizations.health.{key}"], actions["discovery.lua"], definitions)


def run(script: str, obj: Object, now: float | None = None) -> Any:
    """Return what a script returns for `obj`, at `now` in Unix time. An empty table comes back as an empty list."""
    lua = LuaRuntime(unpack_returned_tuples=True, register_eval=False, register_builtins=False)
    lua.eval(_BARE)(int(time.time() if now is None else now))
    lua.globals().obj = lua.table_from(obj, recursive=True)
    return _plain(lua.execute(script))


def health(obj: Object) -> dict[str, str]:
    """Return status and message of an object as Argo CD shows them."""
    found: dict[str, str] = run(customizations()[obj["kind"]].health, obj)
    return found


def offered(obj: Object) -> list[str]:
    """Return the names of the actions that Argo CD offers for an object, disabled ones left out."""
    found = run(customizations()[obj["kind"]].discovery, obj)
    return sorted(name for name, action in found.items() if not action.get("disabled"))


def after(action: str, obj: Object, now: float | None = None) -> dict[str, Any]:
    """Return the object as an action changes it."""
    returned = run(customizations()[obj["kind"]].actions[action], obj, now)
    changed: dict[str, Any] = _with_empty_maps(returned, obj)
    return changed


def made_now(schedule: Object, now: float | None = None) -> dict[str, Any]:
    """Return the test that the action run-now of a schedule has Argo CD create."""
    (impact,) = run(customizations()[schedule["kind"]].actions["run-now"], schedule, now)
    assert impact["operation"] == "create"
    test: dict[str, Any] = impact["resource"]
    return test


def _plain(value: Any) -> Any:
    if lua_type(value) != "table":
        return value
    if not len(value) and list(value):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(value[index]) for index in range(1, len(value) + 1)]


def _with_empty_maps(changed: Any, before: Any) -> Any:
    """Return a value with the empty maps that it had before: Lua cannot tell them from empty lists; Argo CD does so."""
    if isinstance(changed, dict) and isinstance(before, Mapping):
        return {key: _with_empty_maps(item, before.get(key)) for key, item in changed.items()}
    if changed == [] and isinstance(before, Mapping):
        return {}
    if isinstance(changed, list) and isinstance(before, Sequence):
        return [_with_empty_maps(*pair) for pair in zip(changed, before, strict=True)]
    return changed
