"""A synthesized template, and questions to it: who depends on whom, who may do what."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.aws.options import Options

Resource = dict[str, Any]


class Template:
    def __init__(self, options: Options, body: dict[str, Any]) -> None:
        self.options = options
        self.profile = options.profile
        self.body = body
        self.resources: dict[str, Resource] = body["Resources"]

    def copy(self) -> "Template":
        return Template(self.options, copy.deepcopy(self.body))

    def of_type(self, kind: str) -> dict[str, Resource]:
        return {name: each for name, each in self.resources.items() if each["Type"] == kind}

    def properties(self, kind: str) -> list[dict[str, Any]]:
        return [each.get("Properties", {}) for each in self.of_type(kind).values()]

    def one(self, kind: str) -> dict[str, Any]:
        (found,) = self.properties(kind)
        return found

    def function(self, name: str) -> str:
        """The logical id of one of our functions."""
        wanted = f"functions.{name}.handler.handler"
        (found,) = (
            key
            for key, each in self.of_type("AWS::Lambda::Function").items()
            if each["Properties"]["Handler"] == wanted
        )
        return found

    def functions(self) -> dict[str, dict[str, Any]]:
        """Ours, by name."""
        return {
            each["Properties"]["Handler"].split(".")[1]: each["Properties"]
            for each in self.of_type("AWS::Lambda::Function").values()
            if each["Properties"]["Handler"].startswith("functions.")
        }

    def before(self, name: str) -> set[str]:
        """All that must be there first: by DependsOn and by reference, however indirectly."""
        found: set[str] = set()
        ahead = [name]
        while ahead:
            for each in self._direct(self.resources[ahead.pop()]):
                if each in self.resources and each not in found:
                    found.add(each)
                    ahead.append(each)
        return found

    def table_of(self, subnet: str) -> str:
        """The route table of a subnet; one that is associated with none has the network's own."""
        (found,) = (
            each["RouteTableId"]["Ref"]
            for each in self.properties("AWS::EC2::SubnetRouteTableAssociation")
            if each["SubnetId"] == {"Ref": subnet}
        )
        return {name: name for name in self.of_type("AWS::EC2::RouteTable")}[found]

    def routes_of(self, subnet: str) -> list[dict[str, Any]]:
        """Where it leads beyond the network."""
        table = {"Ref": self.table_of(subnet)}
        return [
            each for each in self.properties("AWS::EC2::Route") if each["RouteTableId"] == table
        ]

    def _direct(self, resource: Resource) -> Iterator[str]:
        depends = resource.get("DependsOn", [])
        yield from [depends] if isinstance(depends, str) else depends
        yield from references(resource.get("Properties", {}))

    def variables(self, function: str) -> dict[str, Any]:
        found: dict[str, Any] = self.functions()[function]["Environment"]["Variables"]
        return found

    def statements(self, role: str) -> list[dict[str, Any]]:
        """What a role may do and must not, from every policy that names it."""
        return [
            statement
            for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
            for policy in self.properties(kind)
            if {"Ref": role} in policy.get("Roles", [])
            for statement in policy["PolicyDocument"]["Statement"]
        ]

    def role_of(self, function: str) -> str:
        role: str = self.functions()[function]["Role"]["Fn::GetAtt"][0]
        return role

    def may(self, role: str, action: str) -> list[Any]:
        """The resources on which a role may do this."""
        return self._named(role, action, "Allow")

    def must_not(self, role: str, action: str) -> list[Any]:
        """Those on which it may not, whoever else allows it."""
        return self._named(role, action, "Deny")

    def _named(self, role: str, action: str, effect: str) -> list[Any]:
        return [
            resource
            for statement in self.statements(role)
            if statement["Effect"] == effect and action in listed(statement["Action"])
            for resource in listed(statement["Resource"])
        ]


def short(name: str) -> str:
    """A logical id without what the CDK hangs on it."""
    return name[:-8]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def references(value: Any) -> Iterator[str]:
    """Logical ids in a piece of a template. `${name}` in Fn::Sub is not used by the CDK here."""
    if isinstance(value, dict):
        if isinstance(value.get("Ref"), str):
            yield value["Ref"]
        if "Fn::GetAtt" in value:
            yield value["Fn::GetAtt"][0]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def flat(value: Any) -> str:
    """A value as text, with references as <Name>: to look for what it says."""
    if isinstance(value, dict):
        if "Ref" in value:
            return f"<{value['Ref']}>"
        if "Fn::GetAtt" in value:
            return "<{}.{}>".format(*value["Fn::GetAtt"])
        if "Fn::Join" in value:
            glue, parts = value["Fn::Join"]
            return str(glue.join(flat(part) for part in parts))
        if "Fn::Select" in value:
            return f"<{flat(value['Fn::Select'][1])}#{value['Fn::Select'][0]}>"
        if "Fn::Split" in value:
            return flat(value["Fn::Split"][1])
    return str(value)


def environments(template: Template) -> dict[str, dict[str, Any]]:
    """What each of our functions and tasks is told, by name."""
    (container,) = template.one("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    worker = {each["Name"]: each["Value"] for each in container["Environment"]}
    ours = {name: each["Environment"]["Variables"] for name, each in template.functions().items()}
    return ours | {"worker": worker}


def warnings(assembly: Path) -> list[str]:
    """What the CDK would print of a synthesis."""
    found = json.loads((assembly / "manifest.json").read_text(encoding="utf-8"))["artifacts"]
    files = [assembly / each["additionalMetadataFile"] for each in found.values()
             if "additionalMetadataFile" in each]  # fmt: skip
    told = [each.get("metadata", {}) for each in found.values()]
    told += [json.loads(file.read_text(encoding="utf-8")) for file in files]
    entries = [entry for each in told for some in each.values() for entry in some]
    return [entry["data"] for entry in entries if entry["type"] == "aws:cdk:warning"]
