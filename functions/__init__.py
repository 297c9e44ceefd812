"""One folder per function, one `handler.py` in each: what Lambda calls, and the local stack too."""
