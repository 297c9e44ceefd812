"""Where people look."""
