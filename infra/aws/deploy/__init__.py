"""`lamplighter deploy`: is everything there, then the CDK's own command, then what to do next."""
