"""Where a job is first written down."""
