"""The watched objects of each kind: what is known of them, and when each has its turn."""
