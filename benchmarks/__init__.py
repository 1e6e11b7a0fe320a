"""Measurements as ratios, side by side in one run on one machine."""
