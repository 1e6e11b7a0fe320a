"""What a hub fills in and refuses when objects are written."""
