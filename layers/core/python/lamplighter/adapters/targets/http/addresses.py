"""Where a webhook may go. A job must not make the worker talk to the worker's own neighbours.

Checked on the address that is then connected to, not on the name: a name may resolve to another
address a moment later.
"""

import ipaddress
import socket
from typing import Final

from lamplighter.ports.target import TargetFailed

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Instance and task credentials; no setting opens these.
_METADATA: Final = (
    ipaddress.ip_network("169.254.0.0/16"),
    ipaddress.ip_network("fe80::/10"),
    ipaddress.ip_network("fd00:ec2::/32"),
)
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
# All that the internet routes of IPv6. What lies outside translates to who knows where, and the
# library's own list of private networks grows from release to release.
_ROUTED: Final = ipaddress.ip_network("2000::/3")
_ASSIGNED_BY_PROTOCOLS: Final = ipaddress.ip_network("192.0.0.0/24")


def resolve(host: str, port: int, *, allow_private: bool) -> list[tuple[int, str]]:
    """Family and address of each way to the host that is allowed; TargetFailed if there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as problem:
        raise TargetFailed(f"{host} has no address: {problem}") from None
    ways: list[tuple[int, str]] = [(family, str(address[0])) for family, _, _, _, address in found]
    allowed = [way for way in ways if is_allowed(way[1], allow_private=allow_private)]
    if not allowed:
        addresses = ", ".join(sorted({address for _, address in ways}))
        hint = "" if allow_private else "; private ones need the deployment's permission"
        raise TargetFailed(
            f"{host} is {addresses}, where webhooks may not go{hint}", retryable=False
        )
    return allowed


def is_allowed(text: str, *, allow_private: bool) -> bool:
    address = _plain(ipaddress.ip_address(text.partition("%")[0]))
    if address.is_multicast or address.is_unspecified:
        return False
    if any(address.version == net.version and address in net for net in _METADATA):
        return False
    return allow_private or _is_public(address)


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        return address.is_global and address in _ROUTED
    return address.is_global and address not in _ASSIGNED_BY_PROTOCOLS


def _plain(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one: it is where the packets end up."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
