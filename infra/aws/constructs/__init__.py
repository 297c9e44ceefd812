"""The parts of the stack: each makes what it is named after, and says why it is as it is."""
