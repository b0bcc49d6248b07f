"""How the layers of tests are prepared, run in lanes, and reported."""
