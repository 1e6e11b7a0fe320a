"""One queue in front of many Kubernetes clusters, for AI and batch jobs."""

__version__ = "0.1.0.dev0"
