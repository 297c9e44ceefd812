"""Prints docs/cost.md: `python -m infra.aws.cost > docs/cost.md`."""

import os
import sys

# As in infra/aws/app.py: the CDK is imported for the list of endpoints, and no stack is made.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

from infra.aws.cost.page import page

if __name__ == "__main__":
    sys.stdout.write(page())
