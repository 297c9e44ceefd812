"""What the stages ask of the world, as Protocols."""
