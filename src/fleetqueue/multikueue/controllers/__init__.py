"""The controllers of the manager cluster; each fetches, asks a pure module, and writes."""
