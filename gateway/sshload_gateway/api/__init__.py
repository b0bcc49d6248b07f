"""The HTTP API: shapes, routes, and what stands before them."""
