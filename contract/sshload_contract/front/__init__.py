"""What stands before each HTTP port of the product: how many connections, how large a request, how long for each."""
