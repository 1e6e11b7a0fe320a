"""The parent of all containers: a program of its own that starts, watches and ends processes.

It is small and has one thread, so that forking is cheap and safe, and it uses nothing but the
standard library.
"""
