"""Who goes there."""
