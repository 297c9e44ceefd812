"""What happens to a job, in the order in which it happens: each stage over ports alone."""
