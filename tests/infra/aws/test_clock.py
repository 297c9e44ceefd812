"""Who calls the watcher and the API's functions, and that they may: nothing else would tell."""

import pytest

from tests.infra.aws.template import Template, flat

pytestmark = pytest.mark.xdist_group("aws")


def test_the_rule_is_on_and_calls_the_watcher_alone(example: Template) -> None:
    rule = example.one("AWS::Events::Rule")

    assert rule["State"] == "ENABLED"
    assert [flat(each["Arn"]) for each in rule["Targets"]] == [
        f"<{example.function('watcher')}.Arn>"
    ]


def test_a_minute_that_was_missed_is_not_called_again(example: Template) -> None:
    """The next is as good: late calls would be watchers beside it."""
    (target,) = example.one("AWS::Events::Rule")["Targets"]
    behind = example.one("AWS::Lambda::EventInvokeConfig")

    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}
    assert flat(behind["FunctionName"]) == f"<{example.function('watcher')}>"
    assert (behind["MaximumRetryAttempts"], behind["MaximumEventAgeInSeconds"]) == (0, 60)


def test_whoever_calls_a_function_may_and_nobody_else(example: Template) -> None:
    """Of the permissions that are the functions' own: what roles may call is in the snapshots."""
    found = {
        (each["Principal"], flat(each["FunctionName"]), flat(each["SourceArn"]).split(":")[-1])
        for each in example.properties("AWS::Lambda::Permission")
        if each["Action"] == "lambda:InvokeFunction"
    }

    assert found == _callers(example)


def _callers(template: Template) -> set[tuple[str, str, str]]:
    """Who, which function, and on whose behalf."""
    (rule,) = template.of_type("AWS::Events::Rule")
    (api,) = template.of_type("AWS::ApiGatewayV2::Api")
    wanted = {("events.amazonaws.com", _arn(template, "watcher"), f"<{rule}.Arn>")}
    wanted |= {
        ("apigateway.amazonaws.com", _arn(template, name), f"<{api}>/*/*/*")
        for name in ("submit", "query")
    }
    if template.options.auth == "api-key":
        (keys,) = template.of_type("AWS::ApiGatewayV2::Authorizer")
        behalf = f"<{api}>/authorizers/<{keys}>"
        wanted.add(("apigateway.amazonaws.com", _arn(template, "authorizer"), behalf))
    return wanted


def _arn(template: Template, function: str) -> str:
    return f"<{template.function(function)}.Arn>"
