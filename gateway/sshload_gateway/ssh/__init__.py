"""All that talks SSH: destinations, logins, the pool of connections, commands and directory listings."""
