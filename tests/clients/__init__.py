"""Clients that others wrote, against our server."""
