"""What a user would take instead: the same herd, steady work and submission, in the same run."""
