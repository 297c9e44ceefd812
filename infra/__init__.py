"""Where Lamplighter runs: `local` on one machine; the AWS side sits beside it."""
