"""Two tables beside the rows of SFTP: the transfers in the columns of the old NonStop table, and the targets."""

from statistics import median

from .report import number
from .results import INTERNAL, OURS
from .stats import ratio, summary

TRANSFERS = (("get", "get of the big file"), ("put", "put of the big file"),
             ("get50", "get of the smaller file"), ("put50", "put of the smaller file"))
COLUMNS = (("seconds", "elapsed s"), ("cpu_s", "CPU s"), ("rate", "KB/s"), ("cpu", "CPU ms/MB"), ("own", "of it sftp"))

# Ours over OpenSSH's: at most, or at least, so much. The last one is in the row's own unit.
RATIOS = (
    ("sftp.get.cpu", "CPU of a get", "<=", 0.7), ("sftp.put.cpu", "CPU of a put", "<=", 0.7),
    ("sftp.get50.cpu", "CPU of a smaller get", "<=", 0.7), ("sftp.put50.cpu", "CPU of a smaller put", "<=", 0.7),
    ("sftp.small.get.rate", "small files got per second", ">=", 1.0),
    ("sftp.small.put.rate", "small files put per second", ">=", 1.0),
    *((f"sftp.list.{key}.{size}.cpu", f"CPU of {what} of {size} files", "<=", 0.5)
      for key, what in (("long", "ls -l"), ("short", "ls -1"), ("glob", "ls 'name*'"))
      for size in ("1k", "10k", "100k")))
FIGURES = (("sftp.idle.own.dirty", "private dirty of the idle sftp process, KiB", "<=", 60),)


def meets(value, sign, limit):
    return value <= limit if sign == "<=" else value >= limit


def _median(results, key, name):
    row = results.rows.get(key)
    return summary(row.samples[name])["median"] if row and name in row.samples else None


def verdict(value, sign, limit):
    return f"{number(value):>8}  target {sign} {limit}: " + ("met" if meets(value, sign, limit) else "MISSED")


def busy(seconds, cpu):
    """CPU over elapsed time in percent, the median of the rounds."""
    return median(100 * part / whole for part, whole in zip(cpu, seconds))


def transfers(results):
    lines = [f"{'':34}" + "".join(f"{title:>12}" for title in [*(title for _, title in COLUMNS), "CPU %"])]
    for key, title in TRANSFERS:
        names = results.rows[f"sftp.{key}.seconds"].samples if f"sftp.{key}.seconds" in results.rows else ()
        lines += [title] if names else []
        for name in [name for name in results.titles if name in names]:
            values = [_median(results, f"sftp.{key}.{column}", name) for column, _ in COLUMNS]
            seconds, cpu = (results.rows[f"sftp.{key}.{column}"].samples[name] for column in ("seconds", "cpu_s"))
            values.append(busy(seconds, cpu))
            lines.append(f"  {results.titles[name]:32}" + "".join(f"{number(value):>12}" for value in values))
    return lines


def targets(results):
    """Each is compared with both of OpenSSH's SFTP servers."""
    lines = []
    for key, title, sign, limit in RATIOS:
        for peer in (INTERNAL, "openssh"):
            if _median(results, key, OURS) is not None and _median(results, key, peer) is not None:
                samples = results.rows[key].samples
                value = ratio(samples[OURS], samples[peer])["ratio"]
                lines.append(f"{title + ' / that of ' + results.titles[peer]:64}" + verdict(value, sign, limit))
    for key, title, sign, limit in FIGURES:
        value = _median(results, key, OURS)
        if value is not None:
            lines.append(f"{title:64}" + verdict(value, sign, limit))
    return lines


def tables(results):
    return {"SFTP transfers, medians": transfers(results), "SFTP targets": targets(results)}
