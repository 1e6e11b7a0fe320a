"""A small asyncio client-go: knows Kubernetes, knows no queue."""
