"""How much a scenario's writes leave in the home of its user."""

from dataclasses import dataclass

from sshload_contract.steps import ScenarioStep, ScpWriteStep, SftpRemoveStep, SftpRenameStep, SftpWriteStep

_ITERATION = "{iteration}"


@dataclass(frozen=True, slots=True)
class WrittenBytes:
    """What stays: once for all iterations (a path without `{iteration}`), and anew for each of them.

    `while_running` is what an iteration takes away again before its end, but has there meanwhile.
    """

    once: int
    each: int
    while_running: int


def written_bytes(steps: tuple[ScenarioStep, ...]) -> WrittenBytes:
    """Return how much the steps write. What commands and locustfiles do is not known, and counts as nothing."""
    once = each = while_running = 0
    for index, step in enumerate(steps):
        if not isinstance(step, SftpWriteStep | ScpWriteStep):
            continue
        if _ITERATION not in step.path:
            once += step.size_bytes
        elif _is_removed(step.path, steps[index + 1 :]):
            while_running += step.size_bytes
        else:
            each += step.size_bytes
    return WrittenBytes(once, each, while_running)


def leaves_files(steps: tuple[ScenarioStep, ...]) -> bool:
    """Tell whether the steps write a file that no later one removes."""
    writes = [(index, step) for index, step in enumerate(steps) if isinstance(step, SftpWriteStep | ScpWriteStep)]
    return any(not _is_removed(step.path, steps[index + 1 :]) for index, step in writes)


def _is_removed(path: str, later: tuple[ScenarioStep, ...]) -> bool:
    """Tell whether later steps remove the file, whatever they rename it to before."""
    for index, step in enumerate(later):
        match step:
            case SftpRemoveStep(path=removed) if removed == path:
                return True
            case SftpRenameStep(path=renamed, to=to) if renamed == path:
                return _is_removed(to, later[index + 1 :])
    return False
