"""Pods of jobs that were sent to workers: how they are found there, and shown here."""
