"""Servers to test against: the real kube-apiserver, and ours in a process of its own."""
