"""What the stock client and each server agree on, and what a login costs with each key exchange that both have."""

import re

from .. import offers
from ..method_tables import by_server, markdown
from ..processes import Failed
from ..servers import Contender
from ..stock import finish

# As guides to a hardened client set it: a key exchange against quantum computers, ciphers that authenticate.
STRICT = ("KexAlgorithms=sntrup761x25519-sha512@openssh.com", "HostKeyAlgorithms=ssh-ed25519",
          "MACs=hmac-sha2-512-etm@openssh.com,hmac-sha2-256-etm@openssh.com")
STRICT_CIPHERS = "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com"

NAMES = ("key exchange", "host key", "cipher", "MAC")
PLAIN_LINE = re.compile(r"debug1: kex: (algorithm|host key algorithm): (\S+)")
CIPHER_LINE = re.compile(r"debug1: kex: (?:server->client|client->server) cipher: (\S+) MAC: (\S+)")


def chosen(words):
    """(key exchange, host key, cipher, MAC) in the words of `ssh -v`; both, with a slash, where the directions differ.
    """
    plain, pairs = dict(PLAIN_LINE.findall(words)), CIPHER_LINE.findall(words)
    if "algorithm" not in plain or not pairs:
        raise Failed("the client does not say what it has chosen")
    ciphers, macs = (" / ".join(dict.fromkeys(side)) for side in zip(*pairs))
    macs = macs.replace("<implicit>", "the cipher's")
    return (plain["algorithm"], plain.get("host key algorithm", ""), ciphers, macs)


def refusal(words):
    """Why there was no login, as the client or the server says it."""
    found = re.search(r"no (?:matching (.*?) found|common ([a-z ]+))", words)
    return f"refused: no common {found[1] or found[2]}" if found else "no login"


def choice(bench, contender, ciphers, options):
    client = bench.stock.start(Contender(contender.running, cipher=ciphers), "exit 0",
                               options=["LogLevel=DEBUG1", *options])
    return chosen(finish(client, contender).decode("utf-8", "replace"))


def choices(bench):
    """A table of words: nothing in it has a median."""
    rows = []
    default = offers.defaults(bench.world)["ciphers"]
    for title, ciphers, options in (("default", default, ()), ("strict", STRICT_CIPHERS, STRICT)):
        for contender in bench.contenders:
            bench.progress(f"methods: {title} client, {contender.title}")
            try:
                cells = choice(bench, contender, ciphers, options)
            except Failed as why:
                contender.running.wait_idle()  # then the server's log has the reason, where the client has none
                cells = (refusal(f"{why} {contender.running.last_words()}"), *[""] * (len(NAMES) - 1))
                bench.results.note(f"exchange: {title} client: {why}")
            rows.append([contender.title, title, *cells])
    return markdown(["server", "client", *NAMES], rows)


def offered(bench):
    """{server: {plain name: the client's name}} of the key exchanges that the client and each server have."""
    known, found = offers.spoken(bench.world, "kex"), {}
    for contender in bench.contenders:
        try:
            found[contender.name] = offers.common(offers.ask(contender).kex, known)
        except Failed as why:
            bench.leave_out(f"key exchanges: {why}")
    return found


def logins(bench, contender, methods):
    """One login with each method; one that fails does not keep the others from being measured."""
    for plain, name in list(methods.items()):
        try:
            wall, cpu = bench.stock.billed(contender, "exit 0", options=["KexAlgorithms=" + name])
        except Failed as why:
            bench.leave_out(f"key exchange {plain}: {why}")
            del methods[plain]
            continue
        bench.add((f"exchange.{plain}.wall", f"login, {plain}", "ms"), contender, wall * 1e3)
        bench.add((f"exchange.{plain}.cpu", f"server CPU of a login, {plain}", "ms"), contender, cpu * 1e3)


def measure(bench):
    tables = bench.results.tables
    tables["What the stock client and each server agree on"] = choices(bench)
    found = offered(bench)
    bench.rounds(bench.plan.exchanges, "key exchanges",
                 lambda contender: logins(bench, contender, found[contender.name]),
                 only=lambda contender: contender.name in found)
    methods = dict.fromkeys(plain for names in found.values() for plain in names)
    tables["Login by key exchange, medians: elapsed ms / server CPU ms"] = by_server(
        bench.results, "key exchange",
        [(plain, [f"exchange.{plain}.wall", f"exchange.{plain}.cpu"]) for plain in methods])
    bench.results.note("exchange: the strict client has " + ", ".join((*STRICT, "Ciphers=" + STRICT_CIPHERS)))
