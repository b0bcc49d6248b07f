"""Names of objects: those that the API server accepts, and others."""

from typing import Final

FIT: Final = ("a", "a" * 40, "a-1", "a" * 41, "a" * 253, "1a", "9", "a.b", "a.1-b.c", f"{'a.' * 126}a")
UNFIT: Final = ("a" * 254, "a-", "-a", ".a", "a.", "a..b", "a.-b", "a-.b", "A", "a_b", "a\n", "é")
