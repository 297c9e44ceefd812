"""The world, as the ports want it."""
