"""Ways to wake somebody: SNS, PagerDuty, a signed webhook."""
