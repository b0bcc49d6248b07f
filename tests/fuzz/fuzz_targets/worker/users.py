"""Files of users, which people bring in a Secret, in CSV or YAML, packed or not, as `read_users` reads them.

Input: the file.
Oracle: only GeneratorFaultError is raised. Each user has a name that can log in, no two have the same, and each field
and weight is within its bounds.
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

from sshload_contract.users import USER_PATTERN
from sshload_worker.login.users_file import FIELDS, USER, read_users
from sshload_worker.outcomes import GeneratorFaultError

_FILE = Path(mkdtemp(prefix="sshload-fuzz-")) / "users"
_CSV = b"""user,password,key,certificate,totp,weight,sourceAddress
ann,"a,""b",,,JBSWY3DPEHPK3PXP,2.5,::1
bob,,"x
y",,,,
"""
_YAML = (
    b"# all\n- user: ann\n  password: 'a, b'\n  weight: 2.5\n- {user: bob, key: \"x\\ny\", totp: JBSWY3DPEHPK3PXP}\n"
)


def seeds() -> Iterator[bytes]:
    """Yield files of each form."""
    for whole in (_CSV, _YAML, b"user\r\nann\r\n", b"\xef\xbb\xbfuser\nann\n", b"---\n[{user: a}, {user: b}]\n..."):
        yield whole
        yield gzip.compress(whole, mtime=0)


def check(data: bytes) -> None:
    """Read the file."""
    _FILE.write_bytes(data)
    try:
        users = read_users(str(_FILE), "the users")
    except GeneratorFaultError:
        return
    names = [users.field(place, USER) for place in range(len(users))]
    assert all(re.fullmatch(USER_PATTERN, name) for name in names)
    assert len(set(names)) == len(names) > 0
    assert all(0 < weight <= 1_000_000 for weight in users.weights)
    assert all(len(users.field(place, name)) <= 16_384 for place in range(len(users)) for name in FIELDS)
