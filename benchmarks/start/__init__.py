"""How long clusters take to start, and what they hold once they have."""
