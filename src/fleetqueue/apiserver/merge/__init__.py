"""How a write meets what is stored: server-side apply, field ownership, strategic merge patch.

Everything here is a pure function over plain JSON; nothing that is handed in is ever changed.
"""
