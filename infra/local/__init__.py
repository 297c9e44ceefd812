"""Real services on this machine, each a child process that ends with its parent."""
