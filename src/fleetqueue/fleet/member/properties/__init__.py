"""Where the properties of a member come from: providers, ours and installed ones."""
