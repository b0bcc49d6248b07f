"""The errors that a person's input can cause, each naming the place."""


class SpecError(ValueError):
    """A spec, or a file of ours, does not say what its schema asks for.

    `path` names the offending field (`load.arrivals.stages[1].rate`, empty for the whole), `problem` says what is
    wrong there and what is expected.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem
