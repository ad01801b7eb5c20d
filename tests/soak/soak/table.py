"""What a soak prints."""


def show(report):
    """A line after each round; the tables at the end, or when something is wrong."""
    outcomes = list(report["counts"].values())
    print(f"round {report['round']}: {report['total']} connections in {report['seconds']:.0f} s "
          f"({report['total'] / max(report['seconds'], 1):.0f}/s), {sum(done[2] for done in outcomes)} wrong, left over: "
          f"{sum(map(len, report['left'].values()))}, memory: launcher {report['grown']['memory of the launcher']:+d}, "
          f"kernel {report['grown']['memory of the kernel']:+d} bytes", flush=True)
    if report["last"] or report["wrong"]:
        show_counts(report)
        show_left(report)
        print("wrong: " + ", ".join(report["wrong"]) if report["wrong"] else "nothing is left over", flush=True)


def show_counts(report):
    print(f"\n{'connections':<24}{'as expected':>13}{'cut short':>13}{'wrong':>13}")
    rows = list(report["counts"].items())
    rows.append(("all", [sum(column) for column in zip(*report["counts"].values())]))
    for name, outcomes in rows:
        print(f"{name:<24}" + "".join(f"{number:>13}" for number in outcomes))
    for words in report["said"]:
        print(f"    {words}")
    print(f"\n{'lines of the log':<24}{'count':>13}")
    for name, number in sorted(report["events"].items()):
        print(f"{name:<24}{number:>13}")
    for reason, number in sorted(report["ends"].items(), key=lambda pair: -pair[1])[:20]:
        print(f"    end: {number:>10}  {reason}")
    for line in report["trouble"]:
        print(f"    {line}")


def show_left(report):
    print(f"\n{'left over':<24}{'count':>13}")
    for name, things in report["left"].items():
        print(f"{name:<24}{len(things):>13}")
        for thing in things[:5]:
            print(f"    {thing}")
    for name, grown in report["grown"].items():
        print(f"{name:<24}{grown:>+13} bytes; noise: up to {report['noise'][name]}")
    print()
