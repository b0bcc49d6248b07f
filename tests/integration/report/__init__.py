"""A package, so that the fixtures of its scope, such as the browser, end with its last test in a lane."""
