"""Fargate: the pool `tasks`, for commands and for runs of any length."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from constructs import Construct, IDependable

from infra.aws import assets
from infra.aws.constructs.calls import log_group
from infra.aws.constructs.layers import image_folder
from infra.aws.constructs.metrics import Metrics
from infra.aws.constructs.network import Network
from infra.aws.options import Image, Options
from infra.aws.profiles import TASKS_POOL
from infra.aws.profiles import Tasks as Size
from lamplighter.telemetry.metrics import BACKLOG

# AWS takes 20 steps in a policy; half of them is fine enough.
STEPS = 10


class Tasks(Construct):
    def __init__(
        self,
        scope: Construct,
        name: str,
        options: Options,
        *,
        network: Network,
        variables: Mapping[str, str],
        metrics: Metrics,
    ) -> None:
        super().__init__(scope, name)
        self._options = options
        self._size = options.profile.tasks
        self.definition = self._definition(variables)
        self.service = self._service(network)
        self._scale(metrics)

    def wait_for(self, ready: IDependable) -> None:
        self.service.node.add_dependency(ready)

    def _definition(self, variables: Mapping[str, str]) -> ecs.FargateTaskDefinition:
        made = ecs.FargateTaskDefinition(
            self,
            "Definition",
            cpu=self._size.cpu,
            memory_limit_mib=self._size.memory,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ecs.CpuArchitecture.ARM64,
                operating_system_family=ecs.OperatingSystemFamily.LINUX,
            ),
        )
        made.add_container(
            "worker",
            image=self._image(),
            # Lambda says to its functions where they are; nobody promises that Fargate does.
            # We read the one, boto3 in a deployer's handlers reads the other.
            environment=dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), self._options.region)
            | dict(variables),
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix="worker",
                log_group=log_group(self, "Log", self._options.profile),
                # A worker that cannot write its log must not stop working.
                mode=ecs.AwsLogDriverMode.NON_BLOCKING,
            ),
            # What runs has a while to end, the most that Fargate gives.
            stop_timeout=Duration.seconds(120),
            readonly_root_filesystem=False,
        )
        return made

    def _image(self) -> ecs.ContainerImage:
        """One that is in ECR already, or one that the deployer's Docker builds."""
        if self._options.image:
            return self._from_ecr(self._options.image)
        return ecs.ContainerImage.from_docker_image_asset(
            ecr_assets.DockerImageAsset(
                self,
                "Image",
                directory=str(image_folder(self._options)),
                file=assets.DOCKERFILE,
                platform=ecr_assets.Platform.LINUX_ARM64,
            )
        )

    def _from_ecr(self, image: Image) -> ecs.ContainerImage:
        arn = f"arn:aws:ecr:{image.region}:{image.account}:repository/{image.name}"
        repository = ecr.Repository.from_repository_attributes(
            self, "Repository", repository_arn=arn, repository_name=image.name
        )
        return ecs.ContainerImage.from_ecr_repository(repository, image.version)

    def _service(self, network: Network) -> ecs.FargateService:
        public = self._size.public
        return ecs.FargateService(
            self,
            "Service",
            cluster=ecs.Cluster(
                self, "Cluster", vpc=network.vpc,
                container_insights_v2=ecs.ContainerInsights.DISABLED,
            ),
            task_definition=self.definition,
            vpc_subnets=network.public if public else network.inside,
            assign_public_ip=public,
            security_groups=[network.app],
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
            min_healthy_percent=0 if self._size.at_rest == 0 else 50,
            max_healthy_percent=200,
        )  # fmt: skip

    def _scale(self, metrics: Metrics) -> None:
        """On what the watcher counts, which is there before any group has committed anything."""
        target = self.service.auto_scale_task_count(
            min_capacity=self._size.at_rest, max_capacity=self._size.most
        )
        target.scale_on_metric(
            "Backlog",
            metric=metrics.of(BACKLOG, "Maximum", Pool=TASKS_POOL),
            adjustment_type=scaling.AdjustmentType.EXACT_CAPACITY,
            scaling_steps=[
                scaling.ScalingInterval(lower=lower, upper=upper, change=tasks)
                for lower, upper, tasks in steps(self._size)
            ],
            cooldown=Duration.seconds(60),
        )
        if self._options.profile.thrifty:
            self._rest_in_silence(target)

    def _rest_in_silence(self, target: ecs.ScalableTaskCount) -> None:
        """A watcher that lets the database sleep counts nothing, for then nothing waits.

        If silence meant nothing, the last tasks would stay for as long as it sleeps.
        """
        policy = target.node.find_child("Target").node.find_child("Backlog")
        alarm = policy.node.find_child("LowerAlarm").node.default_child
        alarm.treat_missing_data = "breaching"


def steps(size: Size) -> list[tuple[float, float | None, int]]:
    """From, to, and how many tasks then: one for each `per_task` that wait, in a few strides.

    Bounds lie between two numbers: one that is met exactly belongs to the step above it where the
    alarm is for more, and to the step below it where the alarm is for less.
    """
    first = max(1, size.at_rest)
    counts = sorted({first + round(n * (size.most - first) / (STEPS - 1)) for n in range(STEPS)})
    bounds = [0.5, *(count * size.per_task + 0.5 for count in counts[:-1])]
    ends = [*bounds[1:], None]
    rest = [(0.0, 0.5, size.at_rest)]
    return rest + list(zip(bounds, ends, counts, strict=True))
