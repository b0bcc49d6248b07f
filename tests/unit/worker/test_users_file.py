"""A file of users is read within its bounds, and what is wrong with it is told without its content."""

import gzip
import secrets
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_worker.login.users_file import UsersOfFile, read_users
from sshload_worker.outcomes import GeneratorFaultError

ROLE = "the users"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
AS_CSV = f"""user,password,key,weight,sourceAddress
ann,"a,b",,2.5,
"bob",,"{KEY}",,127.0.0.2

DOM\\cy,"say ""hi""\",,,::1
"""
AS_YAML = f"""# of the morning
- user: ann
  password: 'a,b'
  weight: 2.5
- user: bob
  key: |
    {KEY.replace(chr(10), chr(10) + "    ").rstrip()}
  sourceAddress: 127.0.0.2
- {{user: 'DOM\\cy', password: say "hi", sourceAddress: "::1"}}
"""


def written(folder: Path, content: str | bytes) -> UsersOfFile:
    path = folder / "users"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_users(str(path), ROLE)


def refusal(folder: Path, content: str | bytes) -> str:
    with pytest.raises(GeneratorFaultError) as refused:
        written(folder, content)
    return str(refused.value)


@pytest.mark.parametrize("content", [AS_CSV, AS_YAML], ids=["csv", "yaml"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_file_has_the_same_users_in_each_of_its_forms(tmp_path: Path, content: str, *, is_packed: bool) -> None:
    users = written(tmp_path, gzip.compress(content.encode()) if is_packed else content)
    found = [[users.field(place, name) for name in ("user", "password", "key")] for place in range(len(users))]
    assert found == [["ann", "a,b", ""], ["bob", "", KEY], ["DOM\\cy", 'say "hi"', ""]]
    assert list(users.weights) == [2.5, 1, 1]
    assert [users.field(place, "sourceAddress") for place in range(3)] == ["", "127.0.0.2", "::1"]
    assert [users.field(place, "totp") for place in range(3)] == ["", "", ""]


def test_a_user_is_found_again_by_the_line_where_it_begins(tmp_path: Path) -> None:
    of_csv, of_yaml = written(tmp_path, AS_CSV), written(tmp_path, AS_YAML)
    assert [of_csv.where(place) for place in range(3)] == [f"{ROLE}, line {line}" for line in (2, 3, 8)]
    assert [of_yaml.where(place) for place in range(3)] == [f"{ROLE}, line {line}" for line in (2, 5, 11)]


def test_a_file_of_windows_is_read(tmp_path: Path) -> None:
    users = written(tmp_path, "\ufeffuser,password\r\nann,one\r\nbob,two\r\n")
    assert [(users.field(place, "user"), users.field(place, "password")) for place in range(2)] == [
        ("ann", "one"),
        ("bob", "two"),
    ]


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        pytest.param("", 0, "is empty", id="nothing"),
        pytest.param("# only a remark\n\n", 0, "is empty", id="a remark"),
        pytest.param("user,password\n", 0, "has no users", id="a head alone"),
        pytest.param("ann,secret\n", 1, "the first line of CSV must name the fields", id="no head"),
        pytest.param("user;password\nann;secret\n", 1, "with commas between them", id="semicolons"),
        pytest.param(
            "user,password\rann,secret\r", 1, "is not CSV: new-line character seen", id="line ends of old Macs"
        ),
        pytest.param("users:\n- {user: ann, password: secret}\n", 1, "YAML is a list of users", id="a mapping in YAML"),
        pytest.param("password\nsecret\n", 1, "must name the field user", id="no user"),
        pytest.param("user,user\nann,bob\n", 1, "each field once", id="a field twice"),
        pytest.param("user,password\nann\n", 2, "has 1 fields, and the first line names 2", id="too few fields"),
        pytest.param('user,password\nann,"secret', 2, "is not CSV", id="a quote that does not end"),
        pytest.param('user,password\nann,"sec"ret\n', 2, "is not CSV", id="text behind a quote"),
        pytest.param("user\n-ann\n", 2, "the field user must be a name", id="an option as a name"),
        pytest.param("user\n;ann\n", 2, "the field user must be a name", id="a command as a name"),
        pytest.param("user\n$(reboot)\n", 2, "the field user must be a name", id="an expansion as a name"),
        pytest.param("user\n../ann\n", 2, "the field user must be a name", id="a path as a name"),
        pytest.param('user\n"ann\n"\n', 2, "the field user must be a name", id="a line break in a name"),
        pytest.param(f"user\n{'a' * 101}\n", 2, "the field user must be a name", id="a long name"),
        pytest.param("user,password\n,secret\n", 2, "the field user must be a name", id="no name"),
        pytest.param("user\nann\nbob\nann\n", 4, "the field user is that of line 2", id="a name twice"),
        pytest.param("user,weight\nann,0\n", 2, "the field weight must be a number above 0", id="no weight"),
        pytest.param("user,weight\nann,nan\n", 2, "the field weight must be a number above 0", id="not a number"),
        pytest.param("user,weight\nann,1e7\n", 2, "the field weight must be a number above 0", id="a great weight"),
        pytest.param("user,sourceAddress\nann,here\n", 2, "the field sourceAddress is not an IP", id="no address"),
        pytest.param("user,totp\nann,secret1\n", 2, "the field totp is not base32", id="not base32"),
        pytest.param("user,password\nann,se\x07cret\n", 2, "the field password has a control", id="a bell"),
        pytest.param(f"user,password\nann,{'s' * 1025}\n", 2, "the field password is longer", id="a long password"),
        pytest.param(f"user,key\nann,{'s' * 16_385}\n", 2, "the field key is longer", id="a long key"),
        pytest.param(f"user,key\nann,{'s' * 65_536}\n", 2, "is longer than 65,536 bytes", id="a long line"),
        pytest.param(b"user\n\xff\n", 2, "is not UTF-8", id="not UTF-8"),
        pytest.param("- user: ann\n- [bob]\n", 2, "must be a list of users", id="a list in the list"),
        pytest.param("- user: ann\n  password: [secret]\n", 2, "must be a text", id="a list as a field"),
        pytest.param("- user: ann\n  shoe: secret\n", 2, "a user has only the fields", id="an unknown field"),
        pytest.param("- &a {user: ann}\n- *a\n", 2, "must be a list of users", id="an alias"),
        pytest.param("- user: ann\n\tpassword: x\n", 2, "is not YAML", id="no YAML"),
        pytest.param("[[ann]]", 1, "must be a list of users", id="a list of lists"),
        pytest.param("[" * 60_000, 1, "has more than 1,000 brackets", id="lists without end"),
        pytest.param(
            "".join(f"%TAG !a{number}! x\n" for number in range(3_000)),
            1_002,
            "has more than 1,000 brackets and directives",
            id="directives without end",
        ),
        pytest.param("user\rann\r", 1, "is not CSV", id="lines that end as on no system of today"),
        pytest.param("user,sourceAddress\nann,fe80::1% \x1b[2J\n", 2, "is not an IP address", id="a scope of control"),
        pytest.param(b"\x1f\x8b\x08\x00garbage", 0, "cannot be read: it is damaged", id="no gzip"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_field(tmp_path: Path, content: str | bytes, line: int, says: str) -> None:
    said = refusal(tmp_path, content)
    assert said.startswith(f"{ROLE}, line {line}: " if line else f"{ROLE}")
    assert says in said


@pytest.mark.parametrize("size", [1, 10, 20, 25])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, size: int) -> None:
    packed = gzip.compress(b"user,password\nann,secret\n")
    assert "damaged or incomplete" in refusal(tmp_path, packed[:-size])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(GeneratorFaultError, match="the users cannot be read: No such file"):
        read_users(str(tmp_path / "none"), ROLE)


@pytest.mark.slow
def test_a_small_file_does_not_become_a_large_one(tmp_path: Path) -> None:
    remarks = gzip.compress((b"#" * 60_000 + b"\n") * 1_200)
    assert len(remarks) < 100_000
    assert "more than 64 MiB" in refusal(tmp_path, remarks)


@pytest.mark.slow
def test_a_small_file_does_not_have_many_lines(tmp_path: Path) -> None:
    assert "more than 2,000,000 lines" in refusal(tmp_path, gzip.compress(b"user,password\n" + b"\n" * 2_000_001))


@pytest.mark.slow
def test_there_are_at_most_100_000_users(tmp_path: Path) -> None:
    names = [f"user{number}" for number in range(100_000)]
    assert len(written(tmp_path, "\n".join(["user", *names]))) == 100_000
    assert "more than 100,000 users" in refusal(tmp_path, "\n".join(["user", *names, "another"]))


_TEXTS = st.text(alphabet='ab,"\n\t -:[]{}&*!|>%@`\\x\x00#', max_size=60)


@given(before=_TEXTS, after=_TEXTS, form=st.sampled_from(["user,password\nann,{}\n", "- user: ann\n  password: {}\n"]))
def test_no_message_has_anything_of_a_password(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str, form: str
) -> None:
    secret = secrets.token_hex(8)
    try:
        written(tmp_path_factory.mktemp("file"), form.format(before + secret + after))
    except GeneratorFaultError as error:
        assert secret not in str(error)  # noqa: PT017 - some are valid
