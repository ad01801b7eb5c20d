"""Bulk data both ways: how fast, and what it costs the server. A login of the same round is taken off from both."""

GIB = 1 << 30


def down(bench, contender, size):
    return bench.stock.billed(contender, f"head -c {size} /dev/zero")


def up(bench, contender, size):
    with bench.zeros(size) as source:
        return bench.stock.billed(contender, "cat >/dev/null", stdin=source)


WAYS = (("down", "download", down), ("up", "upload", up))


def one_round(bench, contender):
    size = bench.plan.bulk_bytes
    login_wall, login_cpu = bench.stock.billed(contender, "exit 0")
    for key, title, move in WAYS:
        wall, cpu = move(bench, contender, size)
        bench.add((f"throughput.stock.{key}", f"{title}, stock client", "MiB/s", "more"), contender,
                  size / (1 << 20) / (wall - login_wall))
        bench.add((f"cpu.gib.{key}", f"server CPU of {title}, the session's program included", "s/GiB"), contender,
                  (cpu - login_cpu) * GIB / size)


def measure(bench):
    bench.rounds(bench.plan.bulks, "throughput", lambda contender: one_round(bench, contender), bar=True)
