"""The run's own key is the first user's alone."""

from sshload_contract.population import Population
from sshload_target.system.accounts import Account
from sshload_target.system.make import MadeSystem


def test_the_key_of_the_run_lets_in_the_first_user_alone() -> None:
    first, second = Account("user00001", 2001), Account("user00002", 2002)
    made = MadeSystem((first, second), Population(bytes(32), 2), "the run's", None)
    assert "the run's" in made.keys_of(first)
    assert [key.split()[0] for key in made.keys_of(second)] == ["ssh-ed25519"]
