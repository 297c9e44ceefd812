"""What calls executor, recorder and resolver: one mapping for each topic that they read."""

from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IDependable

from infra.aws.constructs.broker import Broker
from infra.aws.constructs.functions import Functions
from infra.aws.constructs.queues import Queues
from infra.aws.constructs.readers import READERS
from infra.aws.options import Options
from infra.aws.profiles import Reading
from infra.local.mapping import mapped
from lamplighter.contracts.topics import DEAD_LETTERS, JOB_REQUESTS, mapping_group
from lamplighter.domain.job import DEFAULT_POOL

_Mapping = lambda_.CfnEventSourceMapping
# Failures are per record, so that one bad record does not bring a thousand good ones back.
_PARTIAL: Final = ["ReportBatchItemFailures"]


class Mappings(Construct):
    """They begin once `ready` is: tables first, then whoever writes to them."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        options: Options,
        *,
        functions: Functions,
        bus: Broker | Queues,
        ready: IDependable,
    ) -> None:
        super().__init__(scope, name)
        self._options = options
        self._functions = functions
        self._ready = ready
        self.set_aside = self._aside(bus)
        for function in READERS:
            read = mapped(function, DEFAULT_POOL)
            for topic in read.topics:
                if isinstance(bus, Broker):
                    self._from_kafka(function, topic, mapping_group(read.group, topic), bus)
                else:
                    self._from_sqs(function, topic, bus)

    def _aside(self, bus: Broker | Queues) -> sqs.IQueue:
        """Where batches go that could not be handled.

        It is told topic, partition and offsets; the records stay in the topic for its retention.
        """
        if isinstance(bus, Queues):
            return bus.dead_letters
        made = sqs.Queue(
            self,
            "SetAside",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.hours(DEAD_LETTERS.retention_hours),
        )
        for function in READERS:
            made.grant_send_messages(self._functions[function])
        return made

    def _reading(self, function: str, topic: str) -> Reading:
        readings = self._options.profile.readings
        return readings[topic if topic == JOB_REQUESTS.name else function]

    def _from_kafka(self, function: str, topic: str, group: str, broker: Broker) -> None:
        """Provisioned pollers: others look at the lag once a minute, and keep no retry limits.

        A group of its own, since mappings must not share one: lags are asked for by that name.
        """
        reading = self._reading(function, topic)
        made = _Mapping(
            self,
            f"{function}-{topic}",
            function_name=self._functions[function].function_arn,
            event_source_arn=broker.arn,
            topics=[topic],
            amazon_managed_kafka_event_source_config=(
                _Mapping.AmazonManagedKafkaEventSourceConfigProperty(consumer_group_id=group)
            ),
            starting_position="TRIM_HORIZON",
            batch_size=reading.batch,
            maximum_batching_window_in_seconds=reading.window,
            maximum_retry_attempts=reading.retries,
            bisect_batch_on_function_error=True,
            function_response_types=_PARTIAL,
            provisioned_poller_config=_Mapping.ProvisionedPollerConfigProperty(
                minimum_pollers=reading.least_pollers,
                maximum_pollers=reading.most_pollers,
                # One group for all: alone, each mapping would pay for a whole unit.
                poller_group_name=self._options.stack_name,
            ),
            destination_config=_Mapping.DestinationConfigProperty(
                on_failure=_Mapping.OnFailureProperty(destination=self.set_aside.queue_arn)
            ),
        )
        made.add_resource_dependency(broker.topics[topic])
        self._wait(made, function)

    def _from_sqs(self, function: str, topic: str, queues: Queues) -> None:
        reading = self._reading(function, topic)
        made = _Mapping(
            self,
            f"{function}-{topic}",
            function_name=self._functions[function].function_arn,
            event_source_arn=queues.topics[topic].queue_arn,
            batch_size=reading.batch,
            maximum_batching_window_in_seconds=reading.window,
            function_response_types=_PARTIAL,
            scaling_config=_Mapping.ScalingConfigProperty(
                maximum_concurrency=reading.most_invocations
            ),
        )
        self._wait(made, function)

    def _wait(self, made: Construct, function: str) -> None:
        # With its policy: a mapping is refused when the role cannot reach its source yet.
        made.node.add_dependency(self._functions[function].role)
        made.node.add_dependency(self._ready)
