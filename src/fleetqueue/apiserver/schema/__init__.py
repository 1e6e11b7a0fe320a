"""Schemas of resources: the tree that pruning, defaulting, validation, patches and apply walk."""
