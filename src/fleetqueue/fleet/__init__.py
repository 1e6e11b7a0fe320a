"""Placement as KubeFleet does it: a hub decides which members get which objects, and members pull
and apply them.
"""
