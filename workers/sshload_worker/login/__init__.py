"""All that logins need, settled once before the start: addresses, credentials, known host keys."""
