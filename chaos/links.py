"""The proxies of a run: one for each server that some process has to reach through one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from chaos.proxy import Proxy
from infra.local.ports import HOST
from infra.local.stack import LocalStack


@dataclass(frozen=True, slots=True)
class Links:
    """Open until ``close``. Local stack only: containers have names of their own on a network of their own."""

    proxies: Mapping[str, Proxy]
    through: Mapping[str, Mapping[str, str]]
    """Server → its address → the proxy's, for what processes are told."""

    @classmethod
    def open(cls, stack: LocalStack, wanted: Collection[str]) -> "Links":
        proxies = {server: _proxy(stack, server) for server in wanted}
        addresses = {
            "postgres": str(stack.servers.postgres),
            "kafka": stack.servers.kafka,
            "redis": str(stack.servers.redis),
        }
        through = {server: {addresses[server]: f"{HOST}:{proxy.port}"} for server, proxy in proxies.items()}
        return cls(MappingProxyType(proxies), MappingProxyType(through))

    def close(self) -> None:
        for proxy in self.proxies.values():
            proxy.close()


def _proxy(stack: LocalStack, server: str) -> Proxy:
    if server == "kafka":
        # It tells its clients where to go on, so the proxy has to stand exactly there.
        kafka = stack.kafka()
        return Proxy(HOST, kafka.far_port, kafka.near_port)
    address = stack.servers.postgres if server == "postgres" else stack.servers.redis
    return Proxy(address.host, address.port)
