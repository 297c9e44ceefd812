"""`command`: a line for the shell, in a process group, under a guardian that ends all of it."""
