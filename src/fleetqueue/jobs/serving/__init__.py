"""Workloads that never end: Deployment, StatefulSet and LeaderWorkerSet, by way of their pods."""
