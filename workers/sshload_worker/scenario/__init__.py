"""An iteration: its session, its steps, and the clock that times each of them."""
