"""A login with each kind of key: a plain one, one on a FIDO authenticator (in software: tests/system/helpers/sk_provider.c),
a certificate; and with a certificate of the host."""

import copy
import os

from ..method_tables import by_server
from ..processes import Failed
from ..servers import Contender, OpenSSH, Running, Wrensshd
from ..stock import Stock

PLAIN, FIDO, CERTIFICATE, HOST = "plain", "fido", "certificate", "host"
TITLES = {PLAIN: "ed25519 key", FIDO: "FIDO key, sk-ssh-ed25519", CERTIFICATE: "certificate of an ed25519 key",
          HOST: "ed25519 key, and a host certificate"}
CERTIFIED = "ssh-ed25519-cert-v01@openssh.com"


def keygen(world, *words):
    world.run(["ssh-keygen", "-q", *words])


def new_key(world, path, *words):
    keygen(world, *(words or ("-t", "ed25519")), "-N", "", "-C", "bench", "-f", path)
    return path


def line_of(world, key):
    with open(world.outside(key + ".pub"), encoding="ascii") as file:
        return file.read().strip()


# ---- servers with a certificate of their key ---------------------------------------------------------------------


class Certified:
    """Makes a key and its certificate, for the name that the client knows the server by."""

    def certified_key(self):
        key = self.world.path("key-" + self.name)
        if not os.path.exists(self.world.outside(key)):
            new_key(self.world, key)
        keygen(self.world, "-s", self.world.path("authority"), "-h", "-I", "bench", "-n", self.name, key + ".pub")
        return key


class CertifiedWrensshd(Certified, Wrensshd):
    name = "wrensshd-certified"

    def binary(self):
        return self.world.path("wrensshd/wrensshd")

    def prepare(self):
        own_keys = [] if self.world.privileged else ["-a", self.world.authorized_keys]
        return [self.binary(), *own_keys, self.certified_key()]


class CertifiedOpenSSH(Certified, OpenSSH):
    name = "openssh-certified"

    def prepare(self):
        command = super().prepare()
        with open(self.world.outside(command[-1]), "a", encoding="ascii") as file:
            file.write(f"HostCertificate {self.certified_key()}-cert.pub\n")
        return command


def start_certified(bench):
    """{the plain server's name: the same server with a host certificate}."""
    kinds, started = {Wrensshd: CertifiedWrensshd, OpenSSH: CertifiedOpenSSH}, {}
    try:
        for one in bench.contenders:
            if type(one.server) in kinds:
                running = Running(kinds[type(one.server)](bench.world), bench.helpers, bench.scratch)
                started[one.name] = Contender(running, one.name, one.title, one.cipher)
            else:
                bench.results.note(f"keys: {one.title} has no host certificates")
    except BaseException:
        for one in started.values():
            one.running.close()
        raise
    return started


# ---- users' keys -------------------------------------------------------------------------------------------------


class Kind:
    """A client with one kind of key, and what authorized_keys says of it."""

    def __init__(self, world, key, line, options=()):
        owner = copy.copy(world)
        owner.identity = key
        self.stock, self.line, self.options = Stock(owner), line, options


def fido(bench):
    """None if the client can't use the authenticator in software."""
    world, path = bench.world, bench.world.path("id_fido")
    try:
        provider = world.install(os.path.join(bench.helpers, "libsk_provider.so"), "authenticator")
        new_key(world, path, "-w", provider, "-t", "ed25519-sk")
    except (Failed, OSError) as why:
        bench.leave_out(f"keys: no FIDO key: {why}")
        return None
    return Kind(world, path, line_of(world, path), ["SecurityKeyProvider=" + provider])


def certificate(world):
    """The client offers the certificate alone: by default it offers the key first, which is refused."""
    key = new_key(world, world.path("id_certified"))
    keygen(world, "-s", world.path("authority"), "-I", "bench", "-n", world.user, key + ".pub")
    return Kind(world, key, "cert-authority " + line_of(world, world.path("authority")),
                ["PubkeyAcceptedAlgorithms=" + CERTIFIED])


def host(world):
    """The client trusts no key of the server, only its certificate."""
    known = world.path("known_hosts_certified")
    with open(world.outside(known), "w", encoding="ascii") as file:
        file.write("@cert-authority * " + line_of(world, world.path("authority")) + "\n")
    return Kind(world, world.identity, "", ["UserKnownHostsFile=" + known, "StrictHostKeyChecking=yes",
                                            "HostKeyAlgorithms=" + CERTIFIED])


def all_kinds(bench):
    world = bench.world
    new_key(world, world.path("authority"))
    kinds = {PLAIN: Kind(world, world.identity, ""), FIDO: fido(bench), CERTIFICATE: certificate(world),
             HOST: host(world)}
    return {name: kind for name, kind in kinds.items() if kind}


def one_round(bench, contender, kinds, certified, cannot):
    """One login with each kind. A server that fails with one is not asked for it again."""
    for name, kind in kinds.items():
        server = certified.get(contender.name) if name == HOST else contender
        if server is None or (contender.name, name) in cannot:
            continue
        try:
            wall, cpu = kind.stock.billed(server, "exit 0", options=kind.options)
        except Failed as why:
            bench.leave_out(f"keys: no login with {TITLES[name]}: {why}")
            cannot.add((contender.name, name))
            continue
        bench.add((f"keys.{name}.wall", f"login, {TITLES[name]}", "ms"), contender, wall * 1e3)
        bench.add((f"keys.{name}.cpu", f"server CPU of a login, {TITLES[name]}", "ms"), contender, cpu * 1e3)


def measure(bench):
    kinds, path, cannot = all_kinds(bench), bench.world.outside(bench.world.authorized_keys), set()
    with open(path, encoding="ascii") as file:
        before = file.read()
    certified = start_certified(bench)
    try:
        with open(path, "a", encoding="ascii") as file:
            file.writelines(kind.line + "\n" for kind in kinds.values() if kind.line)
        bench.rounds(bench.plan.keys, "kinds of keys",
                     lambda contender: one_round(bench, contender, kinds, certified, cannot))
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(before)
        for one in certified.values():
            one.running.close()
    bench.results.tables["Login by kind of key, medians: elapsed ms / server CPU ms"] = by_server(
        bench.results, "login with",
        [(TITLES[name], [f"keys.{name}.wall", f"keys.{name}.cpu"]) for name in kinds])
