"""The controllers of a hub: they fetch, ask `fleet.decide`, and write."""
