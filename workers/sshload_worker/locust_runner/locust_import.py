"""Import Locust: only its runner for a run of the spec's steps, all of it for a run of a locustfile.

Locust's package imports its web UI and two HTTP clients, which take most of its CPU and memory. A run of the spec's
steps never uses them. It needs `locust.env` and what that imports: runners, events, statistics and messages.

A process at its start takes 36 MB and 0.34 s of CPU with the runner only, 48 MB and 0.54 s with all but the web UI, and
56 MB and 0.91 s with that (nine interleaved starts each).
"""

import gc
import importlib
import sys
from importlib.machinery import PathFinder
from types import ModuleType

_LOCUST = "locust"
_WEB_UI = "locust.web"


def import_runner() -> None:
    """Patch this process with gevent, and import `locust.env` without Locust's users, HTTP clients and web UI.

    The packages `locust` and `locust.user` get stand-ins, so that only modules that are used are imported.
    `locust.argument_parser`, `locust.web` and `configargparse` get stand-ins that are empty except for a class that
    `locust.env` names.
    They remain, so a locustfile cannot be loaded in this process. A process that has imported Locust keeps it.

    Raises ImportError if Locust's modules no longer fit together in this way.
    """
    _patch(ssl=False)  # no TLS connection is opened here
    if _LOCUST in sys.modules:
        return
    package = _stand_in_for_package(_LOCUST, None)
    version = importlib.import_module("locust._version").version
    vars(package)["__version__"] = version
    _stand_in_for_package("locust.user", list(package.__path__), "User")
    _stand_in("locust.argument_parser")
    _stand_in(_WEB_UI, "WebUI")
    _stand_in("configargparse", "Namespace")
    importlib.import_module("locust.env")


def import_whole() -> None:
    """Patch this process with gevent, and import all of Locust except its web UI, which is imported when one is made.

    Later imports of `locust.web` get the real module.
    """

    def make_web_ui(*arguments: object, **named: object) -> object:
        return importlib.import_module(_WEB_UI).WebUI(*arguments, **named)

    _patch(ssl=True)
    vars(_stand_in(_WEB_UI))["WebUI"] = make_web_ui
    try:
        importlib.import_module("locust.env")
    finally:
        del sys.modules[_WEB_UI]


def _patch(*, ssl: bool) -> None:
    """Patch this process, without searching the installed packages for plug-ins for gevent.

    gevent searches at each of 25 steps, and each search reads the metadata of all packages.
    """
    from gevent import events, monkey  # noqa: PLC0415 - the parent of several processes has no gevent

    gc.freeze()  # gevent searches all objects for locks that are held now, and none is
    vars(events)["notify_and_call_entry_points"] = vars(events)["notify"]
    monkey.patch_all(ssl=ssl)


def _stand_in(name: str, *classes: str) -> ModuleType:
    """Return a new module that stands in for another, with classes of these names that are never instantiated."""
    module = sys.modules[name] = ModuleType(name)
    vars(module).update({of_class: type(of_class, (), {}) for of_class in classes})
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, module)
    return module


def _stand_in_for_package(name: str, path: list[str] | None, *classes: str) -> ModuleType:
    """Do as `_stand_in` for a package: its modules are found as usual, but the code of the package does not run."""
    spec = PathFinder.find_spec(name, path)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(f"{name} is not a package any more", name=name)
    module = _stand_in(name, *classes)
    module.__spec__ = spec
    module.__path__ = spec.submodule_search_locations
    return module
