"""Puts the API server and the runtime together where both run in one process: what clients ask of
pods (logs, exec, attach, port-forward, proxy) reaches the processes.
"""
