"""Aurora PostgreSQL, entered with IAM tokens, and the logins that the functions have."""

from typing import Final

from aws_cdk import Annotations, Duration, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_rds as rds
from constructs import Construct

from infra.aws.brought import AUTHORITIES
from infra.aws.constructs.logins import Logins
from infra.aws.constructs.network import Network
from infra.aws.constructs.storage import Storage
from infra.aws.logins import DATABASE, login_of
from infra.aws.options import Options

PORT: Final = 5432
_OWNER: Final = "lamplighter_owner"
_UNVERIFIED: Final = (
    "The database's certificate is not verified: its tokens go to whoever answers at its address."
    " `lamplighter deploy` fetches RDS's authorities; to the CDK itself give"
    " -c database_authorities=FILE, see docs/deploy.md."
)


class Database(Construct):
    """`ready` is what to depend on: the writer exists and the functions' logins with it.

    No RDS Proxy: it would keep a connection open, and the database from pausing, and it refuses the
    time limits that we set at connecting. Each execution environment has a small pool instead.
    """

    def __init__(
        self, scope: Construct, name: str, options: Options, network: Network, storage: Storage
    ) -> None:
        super().__init__(scope, name)
        self._profile = options.profile
        self._verified = options.authorities is not None
        if not self._verified:
            Annotations.of(self).add_warning_v2("lamplighter:DatabaseAuthorities", _UNVERIFIED)
        self.door = network.group("Database", "Aurora", outbound=False)
        self.door.add_ingress_rule(network.app, ec2.Port.tcp(PORT), "functions and tasks")
        self.cluster = self._cluster(network, storage)
        logins = Logins(self, "Logins", self._profile, cluster=self.cluster, key=storage.key)
        self.ready = logins.made

    def url(self, function: str) -> str:
        """Whose it is. Without a password: that is a token, signed where it is used.

        Encrypted always. The certificate is of authorities that Amazon has for databases alone and
        that no system knows: it can be verified where somebody has brought them.
        """
        host = self.cluster.cluster_endpoint.hostname
        verified = f"sslmode=verify-full&sslrootcert=/opt/{AUTHORITIES}"
        asked = verified if self._verified else "sslmode=require"
        return f"postgresql://{login_of(function)}@{host}:{PORT}/{DATABASE}?{asked}"

    def let_connect(self, function: str, who: iam.IGrantable) -> None:
        self.cluster.grant_connect(who, login_of(function))

    def _cluster(self, network: Network, storage: Storage) -> rds.DatabaseCluster:
        size = self._profile.database
        version = rds.AuroraPostgresEngineVersion.of(size.version, size.version.split(".")[0])
        kept = RemovalPolicy.SNAPSHOT if self._profile.protected else RemovalPolicy.DESTROY
        pause = size.pause_after_seconds
        return rds.DatabaseCluster(
            self,
            "Cluster",
            engine=rds.DatabaseClusterEngine.aurora_postgres(version=version),
            credentials=rds.Credentials.from_generated_secret(_OWNER, encryption_key=storage.key),
            default_database_name=DATABASE,
            iam_authentication=True,
            # For the logins alone: they are made from outside the network, see logins.py.
            enable_data_api=True,
            writer=rds.ClusterInstance.serverless_v2("Writer"),
            readers=[
                # It takes over when the writer dies, so it must be as large.
                rds.ClusterInstance.serverless_v2(f"Reader{n}", scale_with_writer=True)
                for n in range(size.readers)
            ],
            serverless_v2_min_capacity=size.least_acu,
            serverless_v2_max_capacity=size.most_acu,
            serverless_v2_auto_pause_duration=Duration.seconds(pause) if pause else None,
            storage_type=rds.DBClusterStorageType.AURORA_IOPT1 if size.io_optimized else None,
            storage_encrypted=True,
            storage_encryption_key=storage.key,
            parameters={"rds.force_ssl": "1"},
            backup=rds.BackupProps(retention=Duration.days(size.backup_days)),
            deletion_protection=self._profile.protected,
            removal_policy=kept,
            vpc=network.vpc,
            vpc_subnets=network.inside,
            security_groups=[self.door],
        )
