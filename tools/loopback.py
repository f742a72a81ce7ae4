"""No network in tests: `refuse_network()` makes every connection but to this machine an error with one sentence."""

import ipaddress
import socket
from typing import Any

connect, connect_ex = socket.socket.connect, socket.socket.connect_ex


class NetworkRefused(OSError):
    """A test or a notebook tried to leave this machine."""


def allowed(family: int, address: Any) -> bool:
    """Unix sockets, and internet addresses of the loopback interface."""
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    host = address[0]
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check(sock: socket.socket, address: Any) -> None:
    if not allowed(sock.family, address):
        raise NetworkRefused(
            f"no network here: a connection to {address[0]} was refused; only this machine may be reached"
        )


def refuse_network() -> None:
    """Patch `socket.socket` for the rest of this process; asking twice is harmless."""

    def guarded(self: socket.socket, address: Any) -> None:
        check(self, address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        check(self, address)
        return connect_ex(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign, assignment]
    socket.socket.connect_ex = guarded_ex  # type: ignore[method-assign, assignment]


def allow_network() -> None:
    """Undo `refuse_network`."""
    socket.socket.connect, socket.socket.connect_ex = connect, connect_ex  # type: ignore[method-assign]
