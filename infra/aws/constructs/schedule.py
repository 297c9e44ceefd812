"""The clock's hand: EventBridge calls the watcher every minute, which is the finest there is."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IDependable


class Schedule(Construct):
    """The watcher lives past the next minute, so that two overlap and the lease never falls."""

    def __init__(
        self, scope: Construct, name: str, watcher: lambda_.Function, ready: IDependable
    ) -> None:
        super().__init__(scope, name)
        # A watcher that failed is not called again for the same minute: the next one is as good.
        watcher.configure_async_invoke(retry_attempts=0, max_event_age=Duration.seconds(60))
        rule = events.Rule(self, "EveryMinute", schedule=events.Schedule.rate(Duration.minutes(1)))
        rule.add_target(
            targets.LambdaFunction(watcher, retry_attempts=0, max_event_age=Duration.seconds(60))
        )
        rule.node.add_dependency(ready)
