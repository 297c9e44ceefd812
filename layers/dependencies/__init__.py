"""The packages that the functions import, as a Lambda layer built without Docker."""
