"""All talk with the API server: requests, watches, Events and the Lease."""
