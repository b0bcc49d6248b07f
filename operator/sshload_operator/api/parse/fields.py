"""Fields: one object of a spec, read field by field, so that what is wrong or unknown is named by its path."""

from typing import Any, TypeVar

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.readers import Reader, mapping

T = TypeVar("T")


class Fields:
    """The object `value` at `path`. A known field of null is as if it was not there, as the API server has it.

    After the last field has been read, `end` refuses those that nobody asked for.
    """

    def __init__(self, value: Any, path: str) -> None:
        self._value = mapping(value, path)
        self._read: set[str] = set()
        self.path = path

    def required(self, name: str, read: Reader[T]) -> T:
        """Return the field, which must be there."""
        value = self._take(name)
        if value is None:
            raise SpecError(self.at(name), "is required, and missing")
        return read(value, self.at(name))

    def optional(self, name: str, read: Reader[T]) -> T | None:
        """Return the field, None where it is absent."""
        value = self._take(name)
        return None if value is None else read(value, self.at(name))

    def defaulted(self, name: str, read: Reader[T], default: Any) -> T:
        """Return the field; where it is absent, `default` is read in its place, written as in a spec."""
        value = self._take(name)
        return read(default if value is None else value, self.at(name))

    def one_of(self, *names: str) -> str:
        """Return the one of `names` that is there; none, or several, are refused."""
        present = [name for name in names if self._take(name) is not None]
        if len(present) != 1:
            raise SpecError(self.path, f"exactly one of {', '.join(names[:-1])} and {names[-1]} must be set")
        return present[0]

    def end(self) -> None:
        """Refuse the fields that have not been read."""
        for name in self._value:
            if name not in self._read:
                raise SpecError(self.at(name), "unknown field")

    def at(self, name: str) -> str:
        """Return the path of a field of this object."""
        return f"{self.path}.{name}" if self.path else name

    def _take(self, name: str) -> Any:
        self._read.add(name)
        return self._value.get(name)
