"""What everything else writes to: the key, the bucket for logs of runs, the topic of alerts."""

from typing import Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.aws.constructs.calls import log_group
from infra.aws.options import Options
from infra.aws.profiles import Profile

# The CDK's one provider for all buckets that are emptied when they go.
_EMPTYING: Final = "Custom::S3AutoDeleteObjectsCustomResourceProvider"


class Storage(Construct):
    """None of it has a physical name: what is retained must not be in a second deployment's way."""

    def __init__(self, scope: Construct, name: str, options: Options) -> None:
        super().__init__(scope, name)
        profile = options.profile
        self.removal = RemovalPolicy.RETAIN if profile.protected else RemovalPolicy.DESTROY
        self.key = kms.Key(
            self,
            "Key",
            description=f"{options.stack_name}: database, brokers, cache, alerts",
            enable_key_rotation=True,
            removal_policy=self.removal,
        )
        self.logs = self._bucket(profile.ledger_days, protected=profile.protected)
        if not profile.protected:
            self._forget_emptying(profile)
        self.alerts = sns.Topic(self, "Alerts", master_key=self.key, enforce_ssl=True)
        if options.alarm_email:
            self.alerts.add_subscription(subscriptions.EmailSubscription(options.alarm_email))
        self._let_alarms_publish()

    def _bucket(self, days: int, *, protected: bool) -> s3.Bucket:
        return s3.Bucket(
            self,
            "Logs",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    # A run's log leaves with the run; what a dead worker had begun to send, sooner.
                    expiration=Duration.days(days),
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                )
            ],
            removal_policy=self.removal,
            auto_delete_objects=not protected,
        )

    def _forget_emptying(self, profile: Profile) -> None:
        """Of the CDK's function that empties the bucket: its own log would be kept for good."""
        provider = Stack.of(self).node.find_child(_EMPTYING)
        log = log_group(self, "EmptyingLog", profile)
        handler = provider.node.find_child("Handler")
        handler.add_property_override("LoggingConfig.LogGroup", log.log_group_name)

    def _let_alarms_publish(self) -> None:
        """An alarm that may not publish is silent: AWS tells nobody.

        The topic has a policy, so nothing is allowed by default; and it is encrypted.
        """
        ours = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        alarms = iam.ServicePrincipal("cloudwatch.amazonaws.com")
        self.alerts.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[alarms],
                actions=["sns:Publish"],
                resources=[self.alerts.topic_arn],
                conditions=ours,
            )
        )
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[alarms],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                # In a key's own policy `*` is that key.
                resources=["*"],
                conditions=ours,
            )
        )
