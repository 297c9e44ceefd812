"""What it costs, measured: each figure beside the floor that the same machine reached just then."""
