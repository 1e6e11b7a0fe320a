"""Decides on which node a pod runs; pure: told what is there, asked about one pod at a time."""
