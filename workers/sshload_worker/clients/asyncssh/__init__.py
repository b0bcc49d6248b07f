"""asyncssh: SSH in Python on an asyncio loop, which runs in one greenlet of the process."""
