"""The database's logins, made by the deployment itself, before anybody needs one."""

from pathlib import Path
from typing import Final

from aws_cdk import CustomResource, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_rds as rds
from aws_cdk import custom_resources as cr
from constructs import Construct

from infra.aws import logins_function
from infra.aws.constructs.calls import log_group
from infra.aws.constructs.layers import ARCHITECTURE, RUNTIME
from infra.aws.logins import DATABASE, make_logins
from infra.aws.profiles import Profile

# Asking for a database that wakes, the last statement itself, and a cold start.
_SECONDS: Final = int(logins_function.WAKE_SECONDS) + 60


class Logins(Construct):
    """Not the CDK's own call of an API: that asks once, and a database that rests says no."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        profile: Profile,
        *,
        cluster: rds.DatabaseCluster,
        key: kms.IKey,
    ) -> None:
        super().__init__(scope, name)
        self._profile = profile
        secret = cluster.secret
        maker = self._maker()
        for action, resource in (
            ("rds-data:ExecuteStatement", cluster.cluster_arn),
            ("secretsmanager:GetSecretValue", secret.secret_arn),
            ("kms:Decrypt", key.key_arn),
        ):
            maker.add_to_role_policy(iam.PolicyStatement(actions=[action], resources=[resource]))
        self.made = CustomResource(
            self,
            "Made",
            service_token=self._provider(maker).service_token,
            resource_type="Custom::LamplighterLogins",
            properties={
                "resourceArn": cluster.cluster_arn,
                "secretArn": secret.secret_arn,
                "database": DATABASE,
                "sql": make_logins(),
            },
        )
        # The cluster's address exists before anybody answers at it.
        self.made.node.add_dependency(cluster)
        self.made.node.add_dependency(maker.role)

    def _maker(self) -> lambda_.Function:
        code = Path(logins_function.__file__).read_text(encoding="utf-8")
        log = log_group(self, "MakerLog", self._profile)
        role = iam.Role(
            self, "MakerRole", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
        )  # fmt: skip
        log.grant_write(role)
        return lambda_.Function(
            self,
            "Maker",
            code=lambda_.Code.from_inline(code),
            handler="index.handler",
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            timeout=Duration.seconds(_SECONDS),
            role=role,
            log_group=log,
        )

    def _provider(self, maker: lambda_.Function) -> cr.Provider:
        log = log_group(self, "Log", self._profile)
        return cr.Provider(self, "Provider", on_event_handler=maker, log_group=log)
