"""Staged update runs: how they begin, what keeps them valid, and how they go on."""
