"""The operator's process: watches, passes, and all talk with the API server."""
