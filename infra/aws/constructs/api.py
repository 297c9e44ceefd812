"""The HTTP API: a route for every line of the functions' own tables, and never an open one."""

from typing import Any, Final

from aws_cdk import CfnOutput, Duration
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_certificatemanager as acm
from constructs import Construct

from functions.query.handler import api as query
from functions.submit.handler import api as submit
from infra.aws.constructs.calls import log_group
from infra.aws.constructs.functions import Functions
from infra.aws.options import Options
from lamplighter.contracts.http_api import Api as Routes

_ROUTES: Final[dict[str, Routes[Any]]] = {"submit": submit, "query": query}
_LOGGED: Final = (
    "requestId", "httpMethod", "path", "routeKey", "status", "responseLatency",
    "integrationErrorMessage", "identity.sourceIp", "authorizer.error",
)  # fmt: skip


class Api(Construct):
    """No WAF: an HTTP API cannot have one. Put CloudFront in front where one is wanted."""

    def __init__(self, scope: Construct, name: str, options: Options, functions: Functions) -> None:
        super().__init__(scope, name)
        self._options = options
        domain = self._domain()
        self.api = gateway.HttpApi(
            self,
            "Http",
            api_name=options.stack_name,
            default_authorizer=self._authorizer(functions),
            create_default_stage=False,
            # With a name of its own there is one way in.
            disable_execute_api_endpoint=domain is not None,
        )
        for function, routes in _ROUTES.items():
            self._add(routes, functions, function)
        self.stage = self._stage(domain)
        self._log(self.stage)
        self.url = f"https://{options.domain}" if domain else self.api.api_endpoint
        CfnOutput(self, "Url", value=self.url, description="for LAMPLIGHTER_URL")

    def _add(self, routes: Routes[Any], functions: Functions, function: str) -> None:
        to_function = integrations.HttpLambdaIntegration(
            f"{function}-integration",
            functions[function],
            # One permission for all of its routes: a function's policy has 20 KB.
            scope_permission_to_route=False,
        )
        for route in routes.routes:
            self.api.add_routes(
                path=route.name.partition(" ")[2],
                methods=[gateway.HttpMethod[route.method]],
                integration=to_function,
            )

    def _authorizer(self, functions: Functions) -> gateway.IHttpRouteAuthorizer:
        options = self._options
        if options.auth == "jwt":
            return authorizers.HttpJwtAuthorizer(
                "Jwt", options.jwt_issuer, jwt_audience=list(options.jwt_audience)
            )
        if options.auth == "api-key":
            return authorizers.HttpLambdaAuthorizer(
                "Keys",
                functions["authorizer"],
                response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
                identity_source=["$request.header.Authorization"],
                results_cache_ttl=Duration.seconds(options.profile.api.keys_cached_seconds),
            )
        return authorizers.HttpIamAuthorizer()

    def _stage(self, domain: gateway.DomainName | None) -> gateway.HttpStage:
        size = self._options.profile.api
        return gateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=gateway.ThrottleSettings(rate_limit=size.rate, burst_limit=size.burst),
            domain_mapping=gateway.DomainMappingOptions(domain_name=domain) if domain else None,
        )

    def _log(self, stage: gateway.HttpStage) -> None:
        log = log_group(self, "AccessLog", self._options.profile)
        fields = ",".join(f'"{name}":"$context.{name}"' for name in _LOGGED)
        made = stage.node.default_child
        made.access_log_settings = gateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=log.log_group_arn, format=f"{{{fields}}}"
        )

    def _domain(self) -> gateway.DomainName | None:
        """The certificate is there already; the deployer's DNS then points to the output."""
        options = self._options
        if not options.domain:
            return None
        made = gateway.DomainName(
            self,
            "Domain",
            domain_name=options.domain,
            certificate=acm.Certificate.from_certificate_arn(
                self, "Certificate", options.certificate
            ),
        )
        CfnOutput(self, "DomainTarget", value=made.regional_domain_name)
        return made
