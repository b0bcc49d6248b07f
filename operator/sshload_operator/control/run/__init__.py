"""One pass over one test: observe, decide, carry out."""
