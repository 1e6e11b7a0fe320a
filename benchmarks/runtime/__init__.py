"""Our cluster against kwok on a real control plane: pods that are simulated; and how many real
processes cost.
"""
