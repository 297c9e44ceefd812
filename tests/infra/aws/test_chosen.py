"""What a deployer chooses is what there is, and what they bring is where it is looked for."""

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from infra.aws import assets
from infra.aws.brought import AUTHORITIES
from infra.aws.constructs.layers import image_folder
from infra.aws.options import InvalidOption, of
from lamplighter.adapters.aws_identity.rds import RdsAddress
from tests.adapters.aws_identity.certificates import certify
from tests.infra.aws.template import Template, environments, flat, warnings
from tests.infra.aws.test_zips import sources

pytestmark = pytest.mark.xdist_group("aws")


def test_an_image_that_is_in_ecr_needs_no_docker(chosen: Template) -> None:
    (container,) = chosen.one("AWS::ECS::TaskDefinition")["ContainerDefinitions"]

    assert "123456789012.dkr.ecr.eu-west-1" in flat(container["Image"])
    role = chosen.one("AWS::ECS::TaskDefinition")["ExecutionRoleArn"]["Fn::GetAtt"][0]
    assert chosen.may(role, "ecr:BatchGetImage") == [
        "arn:aws:ecr:eu-west-1:123456789012:repository/worker"
    ]


def test_nat_takes_the_place_of_endpoints(chosen: Template) -> None:
    kinds = {each["VpcEndpointType"] for each in chosen.properties("AWS::EC2::VPCEndpoint")}

    assert kinds == {"Gateway"}
    assert len(chosen.of_type("AWS::EC2::NatGateway")) == 3


def test_a_domain_is_the_only_way_in(chosen: Template) -> None:
    assert chosen.one("AWS::ApiGatewayV2::DomainName")["DomainName"] == "jobs.example.com"
    assert chosen.one("AWS::ApiGatewayV2::Api")["DisableExecuteApiEndpoint"] is True


def test_any_issuer_of_tokens_will_do(chosen: Template) -> None:
    authorizer = chosen.one("AWS::ApiGatewayV2::Authorizer")

    assert authorizer["AuthorizerType"] == "JWT"
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    # Without an audience, a token that was made for anybody would do.
    assert authorizer["JwtConfiguration"] == {
        "Issuer": "https://issuer.example/",
        "Audience": ["lamplighter"],
    }


def test_whoever_asks_is_told_whose_a_token_is(chosen: Template) -> None:
    for name in ("submit", "query"):
        told = chosen.variables(name)
        assert told["LAMPLIGHTER_JWT_TENANT_CLAIM"] == "org"
        assert told["LAMPLIGHTER_JWT_DEFAULT_TENANT"] == "shared"


def test_a_secret_is_named_and_not_told(chosen: Template) -> None:
    value = chosen.variables("executor")["LAMPLIGHTER_WEBHOOK_SECRET"]

    assert value == "secret:lamplighter-webhooks"
    arns = chosen.may(chosen.role_of("executor"), "secretsmanager:GetSecretValue")
    assert [arn for arn in arns if flat(arn).endswith(":secret:lamplighter-webhooks-??????")]


def _readable(template: Template, function: str) -> set[str]:
    """By name, of the secrets that a function may read."""
    arns = template.may(template.role_of(function), "secretsmanager:GetSecretValue")
    return {flat(arn).partition(":secret:")[2] for arn in arns}


def test_a_cell_reads_the_secrets_of_its_own_tenants(
    chosen: Template, templates: dict[str, Template]
) -> None:
    second, first = _readable(chosen, "executor"), _readable(templates["standard"], "executor")

    assert second == {"lamplighter-second/*", "lamplighter-webhooks-??????"}
    assert first == {"lamplighter/*"}
    for each, prefix in ((chosen, "lamplighter-second"), (templates["standard"], "lamplighter")):
        for name in ("executor", "worker"):
            assert environments(each)[name]["LAMPLIGHTER_SECRETS_PREFIX"] == prefix


def test_whoever_only_tells_of_ends_reads_no_tenants_secrets(
    chosen: Template, templates: dict[str, Template]
) -> None:
    assert _readable(chosen, "recorder") == {"lamplighter-webhooks-??????"}
    assert _readable(templates["standard"], "recorder") == set()


def test_a_second_cell_is_a_second_stack(chosen: Template) -> None:
    assert chosen.options.stack_name == "lamplighter-second"
    assert chosen.variables("submit")["LAMPLIGHTER_CELL"] == "second"
    assert chosen.one("AWS::RDS::DBCluster")["DeletionProtection"] is False


def _layers(chosen: Template, assembly: Path, function: str) -> dict[str, bytes]:
    """Everything that lies under /opt of a function, but for the packages of others."""
    versions = chosen.of_type("AWS::Lambda::LayerVersion")
    names = [each["Ref"] for each in chosen.functions()[function]["Layers"]]
    contents = (versions[name]["Properties"]["Content"] for name in names)
    return {name: data for each in contents for name, data in sources(assembly, each).items()}


def test_a_database_whose_authorities_are_known_must_prove_itself(
    chosen: Template, chosen_assembly: Path, bundle: Path
) -> None:
    url = flat(chosen.variables("executor")["LAMPLIGHTER_DATABASE_URL"])

    asked = conninfo_to_dict(RdsAddress(url, sign=lambda *_: "token")())

    assert asked["sslmode"] == "verify-full"
    assert asked["sslrootcert"] == f"/opt/{AUTHORITIES}"
    for name in chosen.functions():
        brought = _layers(chosen, chosen_assembly, name)
        assert brought[AUTHORITIES] == bundle.read_bytes(), name
    assert not warnings(chosen_assembly)


def test_authorities_are_in_the_workers_image_too(bundle: Path) -> None:
    folder = image_folder(of({"database_authorities": str(bundle)}))

    found = folder / "infra" / "aws" / "opt" / AUTHORITIES
    assert found.read_bytes() == bundle.read_bytes()


def test_a_database_that_nobody_can_verify_is_warned_of(
    synthesized: dict[str, Path], template: Template
) -> None:
    url = flat(template.variables("executor")["LAMPLIGHTER_DATABASE_URL"])

    assert url.endswith("?sslmode=require")
    [warning] = warnings(synthesized[template.profile.name])
    assert "-c database_authorities=FILE" in warning


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("nothing of the kind", "no certificates in PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "broken ones"),
    ],
)
def test_a_file_without_authorities_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "bundle.pem"
    if text is not None:
        path.write_text(text, encoding="ascii")

    with pytest.raises(InvalidOption, match=says):
        of({"database_authorities": str(path)})


def test_a_private_key_is_shipped_to_nobody(tmp_path: Path) -> None:
    certificate = certify(tmp_path)
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + (tmp_path / "key.pem").read_bytes())

    with pytest.raises(InvalidOption, match="private key"):
        of({"database_authorities": str(both)})


def _commands(template: Template) -> dict[str, str]:
    found = {
        name: each.get("LAMPLIGHTER_COMMANDS") for name, each in environments(template).items()
    }
    return {name: value for name, value in found.items() if value is not None}


def test_commands_are_off_unless_asked_for(template: Template) -> None:
    assert _commands(template) == dict.fromkeys(
        ("submit", "recorder", "executor", "worker"), "false"
    )


def test_commands_that_were_asked_for_run_on_tasks_alone(chosen: Template) -> None:
    assert _commands(chosen) == {
        "submit": "true", "recorder": "true", "worker": "true", "executor": "false",
    }  # fmt: skip


HANDLERS = {"python/shop/__init__.py", "python/shop/nightly.py", "python/shop/rates.csv"}


def test_handlers_are_a_layer_of_the_executor_and_of_nobody_else(
    chosen: Template, chosen_assembly: Path
) -> None:
    with_handlers = {
        name
        for name in chosen.functions()
        if _layers(chosen, chosen_assembly, name).keys() >= HANDLERS
    }

    assert with_handlers == {"executor"}
    found = _layers(chosen, chosen_assembly, "executor")
    assert found["python/shop/nightly.py"] == b"COUNT = 1\n"
    assert not [name for name in found if ".git" in name]


def test_executor_and_tasks_know_the_modules_with_handlers(chosen: Template) -> None:
    told = {
        name: each["LAMPLIGHTER_HANDLER_MODULES"]
        for name, each in environments(chosen).items()
        if "LAMPLIGHTER_HANDLER_MODULES" in each
    }

    assert told == dict.fromkeys(("executor", "worker"), "shop.nightly,shop")


def test_handlers_are_in_the_workers_image_too(handlers: Path) -> None:
    folder = image_folder(of({"handlers": str(handlers), "handler_modules": "shop"})) / assets.OPT

    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == HANDLERS | {"README.md"}


@pytest.mark.parametrize(
    ("inside", "modules", "says"),
    [
        ("", "shop", "go together"),
        ("shop", None, "go together"),
        (".", "shop.weekly", "has no module shop.weekly"),
        ("shop", "nightly", "is a package itself"),
        ("missing", "shop", "is no folder"),
    ],
)
def test_handlers_that_nobody_could_import_are_refused(
    handlers: Path, inside: str, modules: str | None, says: str
) -> None:
    folder = str(handlers / inside) if inside else None

    with pytest.raises(InvalidOption, match=says):
        of({"handlers": folder, "handler_modules": modules})


def test_a_package_with_a_name_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lamplighter").mkdir()
    (tmp_path / "mine.py").touch()

    with pytest.raises(InvalidOption, match="a name of ours"):
        of({"handlers": str(tmp_path), "handler_modules": "mine"})
