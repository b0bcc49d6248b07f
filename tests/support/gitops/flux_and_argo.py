"""What Flux's own kstatus, and Lua as Argo CD's own interpreter runs it, make of an object: by a small Go program.

Run as a program, this module compiles it, if it is not compiled yet.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argo_lua import customizations
from go_programs import Go, compiled

SOURCES = Path(__file__).parent / "gitops_reader"

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reader:
    """The program, which answers one question at a time."""

    process: "subprocess.Popen[str]"

    def kstatus(self, obj: Object) -> str:
        """Return what Flux waits for: InProgress, Current, Failed, Terminating."""
        return str(self._ask({"object": obj})["Status"])

    def health(self, obj: Object) -> dict[str, str]:
        """Return the status and the message that Argo CD shows."""
        found: dict[str, str] = self._ask({"object": obj, "script": customizations()[obj["kind"]].health})
        return found

    def offered(self, obj: Object) -> list[str]:
        """Return the names of the actions that Argo CD offers for an object, disabled ones left out."""
        found = self._ask({"object": obj, "script": customizations()[obj["kind"]].discovery})
        return sorted(name for name, action in found.items() if not action.get("disabled"))

    def after(self, action: str, obj: Object) -> Any:
        """Return what an action answers, with empty lists for empty maps: Lua cannot tell them apart."""
        return self._ask({"object": obj, "script": customizations()[obj["kind"]].actions[action]})

    def _ask(self, question: Mapping[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        assert "error" not in reply, reply
        return reply["answer"]


@contextmanager
def reader() -> Iterator[Reader]:
    """Run the program until the block ends; it is compiled where it is not there yet."""
    with subprocess.Popen([_compiled()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        try:
            yield Reader(process)
        finally:
            process.stdin.close()  # which is what ends it


def _compiled() -> Path:
    """Return the program, compiled from these sources."""
    return compiled("gitops_reader", SOURCES.iterdir(), _compile) / "reader"


def _compile(go: Go, made: Path) -> None:
    go.run(SOURCES, "build", "-trimpath", "-o", made / "reader", ".")


if __name__ == "__main__":
    _compiled()
