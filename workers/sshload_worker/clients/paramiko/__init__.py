"""paramiko: SSH in Python, a reader thread per connection, which gevent's patch makes a greenlet."""
