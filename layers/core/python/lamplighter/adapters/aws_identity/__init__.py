"""Who this process is to AWS, where others have passwords: tokens, signed here, for a while."""

import logging

# Whoever looks closely (log_level debug) would find signatures and the values of secrets in there.
logging.getLogger("botocore").setLevel(logging.INFO)
