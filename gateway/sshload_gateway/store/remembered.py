"""What was read from a database, for as long as nobody has written to it."""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

_AT_MOST: Final = 250
"""A credential has at most some 60 kB, and 3 kB as a rule."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Remembered(Generic[_Key, _Value]):
    """Values by key, all of one version of the database. Those that nobody asks for go first."""

    def __init__(self) -> None:
        self._version: int | None = None
        self._values: OrderedDict[_Key, _Value] = OrderedDict()

    def find(self, key: _Key, version: int | None) -> _Value | None:
        """Return what was kept of this version, None if nothing was. A version of None is unlike every other."""
        if version is None or version != self._version:
            return None
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def keep(self, key: _Key, value: _Value, version: int | None) -> None:
        """Keep what was read after the database was found to have this version."""
        if version is None:
            return
        if version != self._version:
            self._values.clear()
            self._version = version
        self._values[key] = value
        if len(self._values) > _AT_MOST:
            self._values.popitem(last=False)
