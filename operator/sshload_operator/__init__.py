"""The operator: it observes SSHLoadTests and their pods, decides, and applies."""
