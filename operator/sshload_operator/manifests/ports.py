"""The ports of a run's pods, by number and by name."""

SSH_PORT = 2222
TARGET_HTTP_PORT = 9200
LOCUST_PORT = 5557
MASTER_HTTP_PORT = 9201
DNS_PORT = 53

SSH_PORT_NAME = "ssh"
LOCUST_PORT_NAME = "locust"
METRICS_PORT_NAME = "metrics"
