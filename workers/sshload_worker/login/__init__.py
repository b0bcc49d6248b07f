"""What logins need, prepared once before the start: addresses, credentials, known host keys."""
