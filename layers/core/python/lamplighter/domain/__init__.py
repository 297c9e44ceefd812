"""What a scheduler is, without a clock, a network or a store."""
