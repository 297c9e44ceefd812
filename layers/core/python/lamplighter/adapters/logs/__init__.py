"""Where whole logs go: S3, or a folder on this machine."""
