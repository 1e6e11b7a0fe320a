"""Queues and workloads in a browser: a page, and snapshots of a cluster streamed to it."""
