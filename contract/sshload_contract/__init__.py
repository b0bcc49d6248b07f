"""What the operator, the workers and the target agree on: values, words and their wire forms, standard library only."""
