"""Who this process is to AWS, where others have passwords: tokens, signed here, for a while."""
