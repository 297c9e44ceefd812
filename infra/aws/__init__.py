"""The same functions in an AWS account."""
