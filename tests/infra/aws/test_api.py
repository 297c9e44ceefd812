"""The HTTP API: every route there is, none open, bounded and logged."""

import json

import pytest

from functions.query.handler import api as query
from functions.submit.handler import api as submit
from tests.infra.aws.template import Template, flat

pytestmark = pytest.mark.xdist_group("aws")


def test_every_route_of_the_functions_is_one_of_the_gateways(template: Template) -> None:
    made = {each["RouteKey"] for each in template.properties("AWS::ApiGatewayV2::Route")}

    assert made == {route.name for route in [*submit.routes, *query.routes]}


def test_a_route_leads_to_the_function_that_has_it(template: Template) -> None:
    targets = {
        each["RouteKey"]: flat(each["Target"])
        for each in template.properties("AWS::ApiGatewayV2::Route")
    }
    integrations = template.of_type("AWS::ApiGatewayV2::Integration")

    for function, api in (("submit", submit), ("query", query)):
        for route in api.routes:
            name = targets[route.name].removeprefix("integrations/<").rstrip(">")
            uri = flat(integrations[name]["Properties"]["IntegrationUri"])
            assert template.function(function) in uri


def test_no_route_is_open(example: Template) -> None:
    """Whoever checks is named in each route: one that were there for itself would check nothing."""
    kind = {"iam": "AWS_IAM", "jwt": "JWT", "api-key": "CUSTOM"}[example.options.auth]
    checks = [{"Ref": name} for name in example.of_type("AWS::ApiGatewayV2::Authorizer")]

    assert len(checks) == (0 if kind == "AWS_IAM" else 1)
    for route in example.properties("AWS::ApiGatewayV2::Route"):
        assert route["AuthorizationType"] == kind
        assert [route[key] for key in ("AuthorizerId",) if key in route] == checks


def test_all_of_it_is_one_api(example: Template) -> None:
    (api,) = example.of_type("AWS::ApiGatewayV2::Api")

    for kind in ("Route", "Stage", "Integration", "Authorizer"):
        for each in example.properties(f"AWS::ApiGatewayV2::{kind}"):
            assert each["ApiId"] == {"Ref": api}, kind


def test_the_gateway_may_call_its_functions(template: Template) -> None:
    callers = {
        flat(each["FunctionName"])
        for each in template.properties("AWS::Lambda::Permission")
        if each["Principal"] == "apigateway.amazonaws.com"
    }

    for name in ("submit", "query"):
        assert f"<{template.function(name)}.Arn>" in callers


def test_requests_are_bounded_and_logged(template: Template) -> None:
    stage = template.one("AWS::ApiGatewayV2::Stage")

    limits = stage["DefaultRouteSettings"]
    assert 0 < limits["ThrottlingRateLimit"] <= limits["ThrottlingBurstLimit"]
    assert "requestId" in json.loads(stage["AccessLogSettings"]["Format"])
    assert "AccessLog" in flat(stage["AccessLogSettings"]["DestinationArn"])


def test_no_more_requests_are_promised_than_an_account_may_have(template: Template) -> None:
    """AWS: "Default route throttling limits can't exceed account-level rate limits"."""
    limits = template.one("AWS::ApiGatewayV2::Stage")["DefaultRouteSettings"]

    assert limits["ThrottlingRateLimit"] <= 10_000
    assert limits["ThrottlingBurstLimit"] <= 5_000


def test_no_firewall_is_promised_where_none_can_be(template: Template) -> None:
    """AWS WAF cannot stand before an HTTP API, and no linter says so."""
    assert not [each for each in template.resources.values() if "WAF" in each["Type"]]


def test_keys_are_checked_by_a_function_and_remembered(keys: Template) -> None:
    authorizer = keys.one("AWS::ApiGatewayV2::Authorizer")

    assert authorizer["AuthorizerType"] == "REQUEST"
    assert authorizer["EnableSimpleResponses"] is True
    assert authorizer["AuthorizerResultTtlInSeconds"] > 0
    assert keys.function("authorizer") in flat(authorizer["AuthorizerUri"])
    assert keys.may(keys.role_of("authorizer"), "rds-db:connect")
    # It makes keys for whoever may call it, which no job may.
    never = keys.must_not(keys.role_of("executor"), "lambda:InvokeFunction")
    assert f"<{keys.function('authorizer')}.Arn>" in map(flat, never)
    # `lamplighter keys --function` needs its name.
    assert keys.body["Outputs"]["AuthorizerFunction"]["Value"] == {
        "Ref": keys.function("authorizer")
    }
