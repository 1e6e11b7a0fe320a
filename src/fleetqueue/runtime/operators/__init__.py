"""The operators of the AI job kinds, each a pure decision in the frame."""
