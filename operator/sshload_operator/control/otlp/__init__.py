"""The operator's metrics pushed to a collector by OTLP over HTTP, where the installation asks for it."""
