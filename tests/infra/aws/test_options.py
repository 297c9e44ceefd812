"""What a deployer may choose, and what is refused before anything is made."""

import pytest

from infra.aws.constructs import network
from infra.aws.constructs.network import endpoints
from infra.aws.options import InvalidOption, of
from infra.aws.targets import service
from tests.infra.aws.conftest import TARGETS


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"profile": "huge"}, "small, standard, large"),
        ({"auth": "none"}, "never open"),
        ({"auth": "jwt"}, "issuer"),
        ({"auth": "jwt", "issuer": "https://issuer.example/"}, "audience"),
        ({"zones": "us-east-1a,us-east-1b"}, "three"),
        ({"zones": "us-east-1a,us-east-1b,us-east-1b"}, "three"),
        ({"zones": "us-east-1a,us-east-1b,us-east-1e"}, "no MSK"),
        ({"zones": "us-east-1a,us-east-1b,us-west-2a"}, "one region"),
        ({"domain": "jobs.example.com"}, "certificate"),
        ({"image": "docker.io/library/worker:1"}, "private ECR"),
        ({"image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/worker"}, "tag or digest"),
        ({"cell": "Second Cell"}, "lower case"),
        ({"nat": "maybe"}, "true or false"),
        ({"targets": "orders"}, "no ARN"),
        ({"targets": "arn:aws:dynamodb:us-east-1:1:table/orders"}, "no ARN"),
        ({"targets": "arn:aws:ecs:us-east-1:1:task-definition/report"}, "cluster/"),
        ({"tasks_at_rest": "1000"}, "0 to"),
    ],
)
def test_a_choice_that_cannot_work_is_refused(context: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        of(context)


FAR_IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/worker:1"
FAR_TARGET = "arn:aws:sqs:eu-west-1:123456789012:orders"
FAR_SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:webhooks-abcdef"
FAR_CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/1"


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"image": FAR_IMAGE}, "image: .* without nat=true"),
        ({"targets": FAR_TARGET}, "targets: .* without nat=true"),
        ({"webhook_secret": FAR_SECRET}, "webhook_secret=.* without nat=true"),
        ({"pagerduty_secret": FAR_SECRET}, "pagerduty_secret=.* without nat=true"),
    ],
)
def test_without_nat_nothing_is_named_in_another_region(context: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        of({"profile": "standard", **context})

    assert of({"profile": "standard", "nat": "true", **context}).nat


def test_tasks_in_public_subnets_reach_another_region_and_functions_do_not() -> None:
    chosen = of({"profile": "small", "image": FAR_IMAGE, "targets": FAR_TARGET})

    assert chosen.targets == (FAR_TARGET,)
    with pytest.raises(InvalidOption, match="webhook_secret"):
        of({"profile": "small", "webhook_secret": FAR_SECRET})


def test_what_has_no_region_or_may_mean_this_one_is_near() -> None:
    targets = ("arn:aws:iam::1:role/report", "arn:aws:sns:*:1:news", "arn:aws:sqs:us-east-1:1:a")

    assert of({"profile": "standard", "targets": ",".join(targets)}).targets == targets


@pytest.mark.parametrize("certificate", [FAR_CERTIFICATE, "jobs.example.com"])
def test_a_certificate_is_of_the_apis_region_whatever_the_network(certificate: str) -> None:
    chosen = {"domain": "jobs.example.com", "certificate": certificate, "nat": "true"}

    with pytest.raises(InvalidOption, match=r"certificate=.* in ACM in us-east-1"):
        of(chosen)


@pytest.mark.parametrize("option", ["webhook_secret", "pagerduty_secret"])
def test_a_secret_is_not_named_where_nobody_may_read_one(option: str) -> None:
    with pytest.raises(InvalidOption, match=f"secrets=false and {option}=webhooks"):
        of({"profile": "standard", "secrets": "false", option: "webhooks"})


def test_nothing_chosen_is_small_closed_and_without_nat() -> None:
    chosen = of({})

    assert (chosen.profile.name, chosen.auth, chosen.nat) == ("small", "iam", False)
    assert chosen.region == "us-east-1"


def test_an_image_may_be_named_by_digest() -> None:
    digest = "sha256:" + "0" * 64
    chosen = of({"image": f"123456789012.dkr.ecr.us-east-1.amazonaws.com/a/worker@{digest}"})

    assert chosen.image
    assert (chosen.image.name, chosen.image.version) == ("a/worker", digest)


# Service of a target's ARN -> a target of it, and the endpoint that calling it takes.
OF_TARGETS = {
    "lambda": (TARGETS["lambda"], set()),
    "sns": (TARGETS["sns"], set()),
    "sqs": (TARGETS["sqs"], set()),
    "events": (TARGETS["eventbridge"], {"events"}),
    "states": (TARGETS["stepfunctions"], {"states"}),
    "ecs": (TARGETS["cluster"], {"ecs"}),
    "iam": (TARGETS["role"], set()),
}


@pytest.mark.parametrize("of_service", OF_TARGETS)
def test_a_target_brings_its_endpoint(of_service: str) -> None:
    """Lambda's and SQS's are there already, SNS is the courier's way, nobody calls a role."""
    target, brings = OF_TARGETS[of_service]
    named = {"profile": "standard", "zones": "eu-west-1a,eu-west-1b,eu-west-1c"}

    with_target = endpoints(of(named | {"targets": target}))

    assert with_target.keys() - endpoints(of(named)).keys() == brings


def test_every_service_that_a_target_may_be_of_is_looked_at() -> None:
    assert {service(arn) for arn in TARGETS.values()} == OF_TARGETS.keys()
    assert network._FOR_TARGETS.keys() <= OF_TARGETS.keys()


def test_every_endpoint_has_its_reason() -> None:
    for profile in ("small", "standard", "large"):
        assert all(endpoints(of({"profile": profile})).values())


def test_a_named_secret_brings_its_endpoint_to_small() -> None:
    assert "secretsmanager" not in endpoints(of({}))
    assert "secretsmanager" in endpoints(of({"webhook_secret": "webhooks"}))
