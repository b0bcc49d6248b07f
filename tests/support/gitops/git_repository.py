"""A Git repository of a test's own."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A folder that is the work tree of a repository, with the branch main."""

    folder: Path

    def commit(self) -> str:
        """Commit the work tree, and return the hash of the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=A change")
        return self.git("rev-parse", "HEAD").strip()

    def git(self, *arguments: str) -> str:
        """Run git in it, and return what it prints."""
        command = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.com", *arguments]
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(
            command, cwd=self.folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout


def git_repository(folder: Path) -> GitRepository:
    """Make a folder a repository; nothing is committed yet."""
    repository = GitRepository(folder)
    repository.git("init", "--quiet", "--initial-branch=main")
    return repository
