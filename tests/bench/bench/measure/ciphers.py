"""Every cipher of each server: random data both ways, on one connection for each cipher. Neither the login nor the
client is in the figures. The client is `sftp`: `scp` does the same transfers by the same protocol, but its server's
process would be gone before its processor time can be read."""

import os
import shutil

from .. import offers
from ..method_tables import markdown, median
from ..processes import Failed
from ..servers import Contender
from ..sftp_session import Session

MB, GIB = 10 ** 6, 1 << 30
WANTED_MAC = "umac-128-etm@openssh.com"
FOLDER = "cipher-data"


def authenticates(cipher):
    """True for a cipher that needs no MAC beside it."""
    return "gcm" in cipher or "poly1305" in cipher


def mac_for(cipher, offered, known):
    """The MAC to ask for: the wanted one, or else the first of the client's that the server has; None where the cipher
    needs none."""
    if authenticates(cipher):
        return None
    shared = [name for name in known if name in offered]
    if not shared:
        raise Failed("there is no common MAC")
    return WANTED_MAC if WANTED_MAC in shared else shared[0]


class Files:
    """What is sent, and where it goes."""

    def __init__(self, bench):
        world = bench.world
        self.outside, self.size = world.outside, bench.plan.cipher_bytes
        self.folder = world.path(FOLDER)
        self.there = os.path.join(world.home, FOLDER) if world.privileged else world.path(FOLDER + "-there")
        self.source, self.back = self.folder + "/data", self.folder + "/back"
        for folder in (self.folder, self.there):
            os.makedirs(self.outside(folder))
        if world.privileged:
            os.chown(self.outside(self.there), world.uid, world.gid)
        with open(self.outside(self.source), "wb") as file:
            for at in range(0, self.size, 1 << 20):
                file.write(os.urandom(min(1 << 20, self.size - at)))

    def ways(self):
        """(name, the client's command, the copy that it makes)."""
        there = self.there + "/one"
        return (("put", f"put {self.source} {there}", there), ("get", f"get {self.source} {self.back}", self.back))

    def check(self, path):
        """Removes the copy, so that the next transfer starts alike."""
        if os.path.getsize(self.outside(path)) != self.size:
            raise Failed("a transfer is not whole")
        os.unlink(self.outside(path))

    def remove(self):
        for folder in (self.folder, self.there):
            shutil.rmtree(self.outside(folder), ignore_errors=True)


def one_cipher(bench, contender, files, plain, mac):
    with Session(bench, contender, ["MACs=" + mac] if mac else []) as session:
        for way, command, copy in files.ways():
            cost = session.cost(command)
            files.check(copy)
            bench.add((f"ciphers.{plain}.{way}.rate", f"{way}, {plain}", "MB/s", "more"), contender,
                      files.size / MB / cost.seconds)
            bench.add((f"ciphers.{plain}.{way}.cpu", f"{way}, {plain}: server CPU", "s/GiB"), contender,
                      cost.cpu * GIB / files.size)
    if not contender.running.wait_idle():
        raise Failed(f"{contender.title}: the connection does not end")


def one_round(bench, contender, files, pairs):
    """pairs: {cipher: MAC}. One that fails does not keep the others from being measured."""
    for cipher, mac in list(pairs.items()):
        bench.progress(f"ciphers: {contender.title}, {cipher}")
        one = Contender(contender.running, contender.name, contender.title, cipher)
        try:
            one_cipher(bench, one, files, offers.plain_name(cipher), mac)
        except Failed as why:
            bench.leave_out(f"ciphers: {cipher}: {why}")
            del pairs[cipher]


def all_pairs(bench, contenders):
    """{server: {cipher: MAC}}."""
    ciphers, macs = offers.spoken(bench.world, "cipher"), offers.defaults(bench.world)["macs"].split(",")
    found = {}
    for contender in contenders:
        try:
            offer = offers.ask(contender)
            found[contender.name] = {name: mac_for(name, offer.macs, macs)
                                     for name in offers.common(offer.ciphers, ciphers).values()}
        except Failed as why:
            bench.leave_out(f"ciphers: {why}")
    return found


def table(results, pairs):
    """A line for each server and cipher."""
    rows = []
    for name, some in pairs.items():
        for cipher, mac in some.items():
            key = "ciphers." + offers.plain_name(cipher)
            rows.append([results.titles[name], cipher, mac or "the cipher's",
                         *(median(results, f"{key}.{way}.{what}", name)
                           for what in ("rate", "cpu") for way in ("put", "get"))])
    return markdown(["server", "cipher", "MAC", "put MB/s", "get MB/s", "put CPU s/GiB", "get CPU s/GiB"], rows)


def measure(bench):
    usable = [one for one in bench.contenders if one in bench.contenders[:1] or one.server.sftp_server()]
    pairs, files = all_pairs(bench, usable), Files(bench)
    try:
        bench.rounds(bench.plan.ciphers, "ciphers",
                     lambda contender: one_round(bench, contender, files, pairs[contender.name]), usable,
                     lambda contender: contender.name in pairs)
    finally:
        files.remove()
    size = f"{files.size >> 20} MiB"
    bench.results.tables[f"Transfers of {size} of random data by cipher, medians"] = table(bench.results, pairs)
