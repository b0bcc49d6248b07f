"""Opinion: what one rule of judgement says of a run, where it says anything."""

from sshload_contract.vocabulary import Verdict

from sshload_operator.state import Reason

Opinion = tuple[Verdict, Reason, str]
