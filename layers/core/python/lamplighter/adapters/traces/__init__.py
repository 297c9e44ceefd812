"""Where spans go: a file on one's own machine, X-Ray in an account."""
