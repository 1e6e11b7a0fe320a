"""Pods of jobs that were sent to workers, for those who ask the manager for their logs or to run
something in them.
"""
