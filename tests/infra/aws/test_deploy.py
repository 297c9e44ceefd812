"""`lamplighter deploy`: programs are stand-ins on the PATH, AWS is moto."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from click.testing import CliRunner, Result
from moto import mock_aws

from infra.aws.deploy import authorities, cdk, checks, command
from lamplighter.cli.main import main

ACCOUNT = "123456789012"
IMAGE = f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/worker:1"
# Writes down how it was called, and the outputs that the CDK would write.
NPX = """#!{python}
import json, os, pathlib, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps({{"words": words, "region": os.environ.get("AWS_REGION")}}) + "\\n")
if "--outputs-file" in words:
    at = pathlib.Path(words[words.index("--outputs-file") + 1])
    at.write_text(json.dumps({{words[words.index("deploy") + 1]: {outputs!r}}}))
sys.exit({status} if "deploy" in words else 0)
"""
OUTPUTS = {
    "ApiUrl3F4A": "https://api.example",
    "MigrateFunction": "lamplighter-migrate-1",
    "AuthorizerFunction": "lamplighter-authorizer-1",
}


class Machine:
    """A folder of programs, the only ones there are."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "npx.log"
        monkeypatch.setenv("PATH", str(self.bin))
        monkeypatch.setattr(command, "OUT", folder)
        self.program("node", "echo v20.1.0")
        self.program("docker", "echo 29.0")
        self.program("python", "echo pip 26")
        monkeypatch.setattr(checks, "_PYTHON", self.bin / "python")
        self.npx()

    def program(self, name: str, script: str) -> None:
        self._write(name, f"#!/bin/sh\n{script}\n")

    def npx(self, status: int = 0) -> None:
        text = NPX.format(
            python=sys.executable, log=str(self.log), outputs=OUTPUTS, status=status
        )  # fmt: skip
        self._write("npx", text)

    def _write(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def without(self, name: str) -> None:
        (self.bin / name).unlink()

    def calls(self) -> list[dict[str, object]]:
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]

    def deployments(self) -> list[dict[str, object]]:
        return [each for each in self.calls() if "deploy" in str(each["words"])]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def at_rds(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What RDS offers is a file here, and nothing has been fetched yet."""
    monkeypatch.setattr(authorities, "URL", bundle.as_uri())
    monkeypatch.setattr(authorities, "KEPT", tmp_path / "build" / "authorities.pem")


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One that the CDK has been bootstrapped in."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        _bootstrap("21")
        yield


def _bootstrap(version: str) -> None:
    ssm = boto3.client("ssm", region_name="us-east-1")
    ssm.put_parameter(Name=cdk.BOOTSTRAP, Value=version, Type="String", Overwrite=True)


def _deploy(*words: str, exits: int = 0) -> Result:
    result = CliRunner().invoke(main, ["deploy", *words])
    assert result.exit_code == exits, (result.output, result.exception)
    return result


def test_a_dry_run_checks_and_shows_the_command_and_does_nothing(machine: Machine) -> None:
    said = _deploy("--profile", "standard", "-c", "auth=api-key", "--dry-run").output

    assert f"npx --yes aws-cdk@{cdk.VERSION} deploy lamplighter -c profile=standard" in said
    assert "-c auth=api-key" in said
    assert f"account {ACCOUNT}" in said
    assert "  no " not in said
    assert machine.deployments() == []


def test_a_deployment_runs_the_cdk_and_says_how_to_go_on(machine: Machine) -> None:
    said = _deploy("-c", "auth=api-key", "-c", "cell=second", "--yes").output

    [call] = machine.deployments()
    words = call["words"]
    assert isinstance(words, list)
    assert words[:4] == ["--yes", f"aws-cdk@{cdk.VERSION}", "deploy", "lamplighter-second"]
    assert [each for each in words if each in {"--require-approval", "never"}] == [
        "--require-approval",
        "never",
    ]
    assert call["region"] == "us-east-1"
    assert "export AWS_REGION=us-east-1 LAMPLIGHTER_URL=https://api.example" in said
    assert "lamplighter keys create first --function lamplighter-authorizer-1" in said


def test_a_deployment_brings_rds_own_authorities(machine: Machine, bundle: Path) -> None:
    said = _deploy("-c", f"image={IMAGE}").output

    [call] = machine.deployments()
    assert authorities.KEPT.read_bytes() == bundle.read_bytes()
    assert f"database_authorities={authorities.KEPT}" in str(call["words"])
    assert f"ok   RDS's authorities, in {authorities.KEPT}" in said


def test_authorities_that_were_fetched_before_need_no_network(
    machine: Machine, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorities.KEPT.parent.mkdir()
    authorities.KEPT.write_bytes(bundle.read_bytes())
    monkeypatch.setattr(authorities, "URL", "http://127.0.0.1:1/")

    assert "  no " not in _deploy("--dry-run").output


def test_without_rds_authorities_nothing_is_deployed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authorities, "URL", "http://127.0.0.1:1/")

    refused = _deploy(exits=1).output

    assert "fetch it elsewhere, and give --authorities FILE" in refused
    assert machine.deployments() == []


def test_what_is_no_bundle_is_not_kept(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>Log in to this network first.</p>", encoding="utf-8")
    monkeypatch.setattr(authorities, "URL", page.as_uri())

    assert "has no certificates in PEM" in _deploy(exits=1).output
    assert list((tmp_path / "build").iterdir()) == []


def test_authorities_of_ones_own_are_taken_instead(machine: Machine, bundle: Path) -> None:
    _deploy("--authorities", str(bundle))

    [call] = machine.deployments()
    assert f"database_authorities={bundle}" in str(call["words"])
    assert not authorities.KEPT.exists()


def test_a_folder_is_found_from_wherever_it_was_typed(
    machine: Machine, handlers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(handlers.parent)

    _deploy("-c", f"handlers={handlers.name}", "-c", "handler_modules=shop")

    [call] = machine.deployments()
    assert f"'handlers={handlers}'" in str(call["words"])


def test_a_region_with_other_authorities_is_told_to_bring_them(machine: Machine) -> None:
    zones = "zones=us-gov-west-1a,us-gov-west-1b,us-gov-west-1c"

    assert "us-gov-west-1 has others than" in _deploy("-c", zones, exits=1).output


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ([], '--aws-sigv4 "aws:amz:us-east-1:execute-api"'),
        (["auth=jwt", "issuer=https://id.example", "audience=jobs"], "a token of https://id.ex"),
    ],
)
def test_the_first_job_is_submitted_as_the_api_lets_one_in(
    machine: Machine, context: list[str], says: str
) -> None:
    words = [word for each in context for word in ("-c", each)]

    assert says in _deploy(*words).output


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("node", "install Node 20 or later"),
        ("npx", f"try: npx --yes aws-cdk@{cdk.VERSION} --version"),
        ("docker", "name an image that is in ECR"),
    ],
)
def test_a_missing_program_is_named_with_how_to_get_it(
    machine: Machine, program: str, says: str
) -> None:
    machine.without(program)

    refused = _deploy(exits=1)

    assert says in refused.output
    assert "1 of these are missing; nothing was done" in refused.output
    assert machine.deployments() == []


def test_an_old_node_is_refused(machine: Machine) -> None:
    machine.program("node", "echo v18.20.4")

    assert "Node v18.20.4: install 20 or later" in _deploy(exits=1).output


def test_with_an_image_of_its_own_nobody_needs_docker(machine: Machine) -> None:
    machine.without("docker")

    assert "image worker 1 of the worker" in _deploy("-c", f"image={IMAGE}", "--dry-run").output


def test_docker_that_does_not_run_is_not_there(machine: Machine) -> None:
    machine.program("docker", "exit 1")

    assert "Docker, to build the worker's image: start it" in _deploy(exits=1).output


def test_without_credentials_nothing_further_is_asked_of_aws(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    refused = _deploy(exits=1).output

    assert "no   credentials: `aws sso login`, AWS_PROFILE" in refused
    assert "bootstrap" not in refused


def test_a_region_that_was_never_bootstrapped_is_told_how(machine: Machine) -> None:
    zones = "zones=eu-central-1a,eu-central-1b,eu-central-1c"

    refused = _deploy("-c", zones, exits=1).output

    assert f"bootstrap aws://{ACCOUNT}/eu-central-1" in refused
    assert machine.deployments() == []


def test_an_old_bootstrap_is_to_be_run_again(machine: Machine) -> None:
    _bootstrap("4")

    assert "version 4, too old; run again" in _deploy(exits=1).output


def test_a_region_that_contradicts_the_zones_is_a_mistake(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")

    said = _deploy(exits=1).output

    assert "-c zones=eu-west-1a,eu-west-1b,eu-west-1c, or AWS_REGION=us-east-1" in said


@pytest.mark.parametrize(
    ("python", "says"),
    [("none", "run `make synth` once"), ("bin/python", "-m ensurepip")],
)
def test_an_environment_without_its_packages_is_told_how(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, python: str, says: str
) -> None:
    machine.program("python", "exit 1")
    monkeypatch.setattr(checks, "_PYTHON", machine.bin.parent / python)

    assert says in _deploy(exits=1).output


def test_the_command_needs_no_folder_to_be_typed_in(tmp_path: Path) -> None:
    """The tests have the repository on their path; whoever types has not."""
    typed = Path(sys.executable).with_name("lamplighter")
    done = subprocess.run(
        [typed, "deploy", "--help"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert "--dry-run" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-c", "auth=none"], "never open"),
        (["-c", "auth"], "give NAME=VALUE"),
        (["-c", "alarm_mail=you@example.com"], "alarm_email"),
        (["--profile", "huge"], "small"),
    ],
)
def test_a_choice_that_cannot_work_is_refused_before_anything_is_asked(
    machine: Machine, words: list[str], says: str
) -> None:
    assert says in _deploy(*words, exits=2).output
    assert machine.calls() == []


def test_a_cdk_that_fails_is_a_failure(machine: Machine) -> None:
    machine.npx(status=3)

    assert "the CDK ended with 3" in _deploy(exits=1).output
