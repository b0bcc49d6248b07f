"""The one error that the contract raises."""


class ContractError(ValueError):
    """A text from another process does not say what its version of the contract promises.

    `path` names the offending place (`load.stages[1].rate`), `problem` says what is wrong there.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'document'}: {problem}")
        self.path = path
        self.problem = problem
