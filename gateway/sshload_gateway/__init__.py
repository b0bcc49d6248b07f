"""An HTTP API that runs commands over SSH: credentials, a pool of connections, and the limits of both."""
