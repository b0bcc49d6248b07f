"""A connection by ssh2-python whose session many greenlets use."""

from sshload_worker.clients.ssh2.connection import SSH2Connection
from sshload_worker.clients.ssh2.shared_driver import SharedDriver


class SharedConnection(SSH2Connection):
    """A connection that several greenlets use at once after `auth`, each with channels of its own."""

    def auth(self) -> None:
        """Authenticate as the login's credentials say."""
        super().auth()
        self._driver = SharedDriver(self.driver.session, self._descriptor)

    def is_lost(self) -> bool:
        """Tell whether the server has closed the connection, or the session cannot be used any more."""
        driver = self._driver
        return super().is_lost() or (isinstance(driver, SharedDriver) and bool(driver.lost))

    def close(self) -> None:
        """Fail all that is under way, and end the connection. Never waits."""
        driver = self._driver
        if isinstance(driver, SharedDriver):
            driver.close("the connection was closed")
        super().close()
