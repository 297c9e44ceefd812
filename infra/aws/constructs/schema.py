"""Tables, before anything uses them: the function `migrate`, called by the deployment itself."""

import hashlib

from aws_cdk import CustomResource
from aws_cdk import custom_resources as cr
from constructs import Construct, IDependable

from infra.aws import assets
from infra.aws.constructs.broker import Broker
from infra.aws.constructs.calls import log_group
from infra.aws.constructs.functions import Functions
from infra.aws.constructs.queues import Queues
from infra.aws.options import Options


class Schema(Construct):
    """Through a provider, whose own function is outside the network.

    `migrate` is inside, from where CloudFormation could never be told of the end.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        options: Options,
        *,
        functions: Functions,
        bus: Broker | Queues,
        database: IDependable,
    ) -> None:
        super().__init__(scope, name)
        migrate = functions["migrate"]
        provider = cr.Provider(
            self,
            "Provider",
            on_event_handler=migrate,
            log_group=log_group(self, "Log", options.profile),
        )
        self.applied = CustomResource(
            self,
            "Applied",
            service_token=provider.service_token,
            resource_type="Custom::LamplighterSchema",
            # CloudFormation calls again when a property differs.
            properties={
                "digest": migrations_digest(),
                "canarySeconds": str(options.profile.canary_seconds),
            },
        )
        self.applied.node.add_dependency(database)
        self.applied.node.add_dependency(migrate.role)
        # It makes topics that it misses, so they must be there: the deployment's own are larger.
        for made in bus.topics.values():
            self.applied.node.add_dependency(made)


def migrations_digest() -> str:
    """Of every file that decides what the tables are, and who may use them."""
    folder = assets.CORE / "adapters" / "postgres"
    found = hashlib.sha256()
    fixed = (folder / "schema.sql", folder / "role.py")
    for path in sorted([*folder.glob("migrations/*.sql"), *fixed]):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()
