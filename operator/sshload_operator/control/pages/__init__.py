"""The operator's read-only pages: what it knows of its objects, for browsers. Off unless they are asked for."""
