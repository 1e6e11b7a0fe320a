"""The tables of built-in kinds: every module here has a `LAYOUTS`, by group and kind."""
