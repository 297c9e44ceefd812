"""`python`: a function that the deployment has registered, in a thread of the worker."""
