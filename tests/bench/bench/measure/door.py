"""Who still gets in while others take all places before the login."""

from .. import door
from ..door_table import SCENARIOS, TITLE, lines, rows
from ..processes import Failed

SHORT_LOGINS = 20  # where the attackers, once they are there, do nothing


def one(bench, contender, key, host, how, interval_seconds):
    gate = contender.running
    try:
        gate.open()
        if door.login(bench, contender, host) is None:
            raise Failed(f"{contender.title}: no login without an attack: {gate.last_words()}")
        with door.taken_places(bench, contender, host, how):
            count = bench.plan.door_logins if interval_seconds >= 1 else SHORT_LOGINS
            taken = door.logins(bench, contender, host, count, interval_seconds)
    finally:
        gate.close()
    served, soon, late = rows(key)
    for row, limit in ((soon, 1), (served, door.GIVE_UP_SECONDS)):
        bench.add(row, contender, 100 * sum(time is not None and time < limit for time in taken) / len(taken))
    for time in taken:
        bench.add(late, contender, 1e3 * (time or door.GIVE_UP_SECONDS))


def measure(bench):
    if not bench.world.privileged:
        raise Failed("port 22, and networks to come from, need root")
    door.set_up_networks()
    bench.world.add_guest()
    gates = door.gates(bench)
    bench.results.titles.update({gate.name: gate.title for gate in gates})
    for key, title, host, how, interval_seconds in SCENARIOS:
        # tcpserver, and tcpsvd with the shipped line, have no IPv6.
        bench.rounds(1, f"the door, {title}",
                     lambda gate, attack=(key, host, how, interval_seconds): one(bench, gate, *attack), gates,
                     only=lambda gate, host=host: host != "::1" or gate.name not in door.WITHOUT_IPV6)
    bench.results.tables[TITLE] = lines(bench.results)
