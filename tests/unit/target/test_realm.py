"""The users of a target's own realm, as entries in a dump of its database."""

from pathlib import Path

import pytest
from sshload_target.system.kerberos import add_users

DUMP = """\
kdb5_util load_dump version 7
princ\t38\t26\t1\t1\t0\tkrbtgt/SSHLOAD.TEST@SSHLOAD.TEST\t8388608\t36000\tkey\t-1;
princ\t38\t22\t4\t1\t0\tuser00001@SSHLOAD.TEST\t128\t36000\tuser00001's key\t-1;
"""


@pytest.mark.parametrize(("name", "length"), [("user00002", "22"), ("user100000", "23")])
def test_another_user_differs_from_the_first_in_the_name_and_its_length_alone(
    tmp_path: Path, name: str, length: str
) -> None:
    dump = tmp_path / "dump"
    dump.write_text(DUMP)
    add_users(dump, "user00001", [name])
    *before, added = dump.read_text().splitlines()
    assert before == DUMP.splitlines()
    assert added.split("\t") == [
        *("princ", "38", length, "4", "1", "0", f"{name}@SSHLOAD.TEST", "128", "36000", "user00001's key", "-1;")
    ]
