"""Pods that are queued one by one, and what all pods before a queue have in common."""
