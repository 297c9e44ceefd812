"""The ledger in memory: the same contract and rules as PostgreSQL's, for tests and simulations."""
