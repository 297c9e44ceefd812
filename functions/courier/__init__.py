"""Out of the house."""
