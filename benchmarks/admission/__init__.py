"""Admission under the loads of Kueue's scheduler performance test, on a real API server and on
ours.
"""
