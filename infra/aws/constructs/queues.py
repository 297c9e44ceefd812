"""SQS as the bus: a queue for each topic of the contract, and one for what nobody could settle."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.aws.constructs.readers import READERS
from infra.aws.options import Options
from infra.aws.profiles import Profile
from infra.local.mapping import mapped
from lamplighter.adapters.sqs.queues import VISIBILITY_SECONDS, queue_name
from lamplighter.contracts.sqs import MAX_RECEIVES
from lamplighter.contracts.topics import DEAD_LETTERS, all_topics
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.ports.bus import Topic

# What Lambda asks of the function that a mapping calls; and to give back what cannot be done now.
_READ = [
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibility",
    "sqs:GetQueueAttributes",
]
# A queue is found by its name.
_FIND = "sqs:GetQueueUrl"


class Queues(Construct):
    """Named, since the functions find a topic's queue by its name.

    A stack of the same name must wait a minute after its deletion: so long SQS holds on to names.
    """

    def __init__(self, scope: Construct, name: str, options: Options) -> None:
        super().__init__(scope, name)
        self.prefix = options.stack_name
        self._hidden = visibility(options.profile)
        self.dead_letters = self._queue(DEAD_LETTERS, None)
        aside = sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=MAX_RECEIVES)
        self.topics = {DEAD_LETTERS.name: self.dead_letters} | {
            topic.name: self._queue(topic, aside)
            for topic in all_topics(options.profile.windows)
            if topic.name != DEAD_LETTERS.name
        }

    def let_publish(self, who: iam.IGrantable, names: Sequence[str] | None = None) -> None:
        """To all of them, or to these."""
        self._let(who, ["sqs:SendMessage", _FIND], names)

    def let_count(self, who: iam.IGrantable) -> None:
        self._let(who, ["sqs:GetQueueAttributes", _FIND])

    def let_read(self, who: iam.IGrantable, names: Sequence[str], _as: Sequence[str]) -> None:
        """These. There are no groups: whoever reads takes messages away."""
        self._let(who, [*_READ, _FIND], names)

    def let_make_topics(self, who: iam.IGrantable) -> None:
        """Those that are missing: here none, and to see that takes no more."""
        self._let(who, [_FIND])

    def _let(
        self, who: iam.IGrantable, actions: Sequence[str], names: Sequence[str] | None = None
    ) -> None:
        arns = [self.topics[name].queue_arn for name in names or self.topics]
        iam.Grant.add_to_principal(grantee=who, actions=list(actions), resource_arns=arns)

    def _queue(self, topic: Topic, aside: sqs.DeadLetterQueue | None) -> sqs.Queue:
        return sqs.Queue(
            self,
            topic.name,
            queue_name=queue_name(self.prefix, topic.name),
            # Keys of SQS's own: with ours, every sender and reader would need to use it.
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.hours(topic.retention_hours),
            visibility_timeout=Duration.seconds(self._hidden.get(topic.name, VISIBILITY_SECONDS)),
            dead_letter_queue=aside,
        )


def visibility(profile: Profile) -> dict[str, int]:
    """By topic: six times the function that reads it, as AWS advises for calls that are throttled.

    A run whose executor died waits for none of it: the sweeper queues it anew. But an outcome whose
    recorder died does, and if that were ten minutes, the sweeper would let its run begin again.
    """
    return {
        topic: 6 * profile.functions[function].timeout
        for function in READERS
        for topic in mapped(function, DEFAULT_POOL).topics
    }
