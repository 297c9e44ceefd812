"""The queue and the caches on Valkey."""
