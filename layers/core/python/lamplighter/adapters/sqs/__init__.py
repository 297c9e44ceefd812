"""The bus on Amazon SQS, for the smallest deployment: docs/decisions/sqs.md says what it lacks."""
