"""AWS services as targets: `lambda`, `sqs`, `sns`, `eventbridge`, `stepfunctions`, `ecs`."""
