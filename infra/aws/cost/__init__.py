"""What a deployment costs: `python -m infra.aws.cost` prints docs/cost.md."""
