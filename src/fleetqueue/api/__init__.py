"""The wire: frozen types and ways to read them; no behaviour."""
