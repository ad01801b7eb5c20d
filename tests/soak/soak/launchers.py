"""What starts the daemon for each connection: a program of ours, or the first process of the machine, systemd."""

import os
import socket
import subprocess

from daemon import daemon_environment
from site_setup import run_or_fail

# Time limits that fit the pace: no login, no answer to a probe, nothing moved. tests/soak/vanishing.c is silent for longer.
LIMITS = ["-t", "5", "-k", "1", "-i", "6"]
MOST = 1000  # connections at once


def _planted(options):
    """The environment of what has leaks."""
    if not options["plant"]:
        return {}
    return {"WREN_PLANT": options["plant"],
            "LD_PRELOAD": os.path.join(options["build"], "tests", "soak", "libplants.so")}


class Program:
    """wrensshd-listen or tcpserver."""

    port = 2222

    def __init__(self, options, site):
        self.host_line = site.host_line
        self._log_path = os.path.join(site.base, "log")
        daemon = [site.daemon, *site.daemon_args(), *LIMITS, site.keydir(site.mode)]
        command = {"listen": [site.listen, "-c", str(MOST), "-s", str(MOST), str(self.port)],
                   "tcpserver": ["tcpserver", "-HRl0", "-c", str(MOST), "-b", "1000", "0", str(self.port)]}
        with open(self._log_path, "ab") as log:
            self._process = subprocess.Popen(command[options["launcher"]] + daemon, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=log, env={**daemon_environment(), **_planted(options)})
        self.pid = self._process.pid

    def trouble(self):
        """Why it serves no longer, or None."""
        return self._process.poll()

    def take_log(self):
        """Its lines, which it forgets."""
        with open(self._log_path, "r+", encoding="latin-1") as file:
            yield from file
            file.truncate(0)

    def stop(self):
        self._process.terminate()
        self._process.wait(30)


class Units:
    """packaging/systemd as `meson install` leaves it, but for time limits and planted leaks."""

    pid, port = 1, 22

    def __init__(self, options, site):
        command = ["/usr/local/sbin/wrensshd", *site.daemon_args(), *LIMITS, "/etc/wrensshd"]
        # A unit that fails, and that nobody looks at, would stay.
        collect = "inactive" if options["plant"] in ("unit", "all") else "inactive-or-failed"
        folder = "/etc/systemd/system/wrensshd@.service.d"
        os.mkdir(folder)
        with open(f"{folder}/soak.conf", "w", encoding="ascii") as file:
            file.write(f"[Unit]\nCollectMode={collect}\n[Service]\nExecStart=\nExecStart={' '.join(command)}\n")
            file.writelines(f"Environment={name}={value}\n" for name, value in _planted(options).items())
        run_or_fail(["systemctl", "daemon-reload"])
        run_or_fail(["systemctl", "start", "wrensshd.socket", "wrensshd-keygen.service"])
        self.host_line = run_or_fail(["wrensshd-printkey", "/etc/wrensshd"]).splitlines()[0]
        # The slice of all connections stays after the first one.
        with socket.create_connection(("127.0.0.1", self.port)) as link:
            link.recv(1)

    def trouble(self):
        done = subprocess.run(["systemctl", "is-active", "wrensshd.socket"], stdout=subprocess.PIPE, text=True, check=False)
        return done.stdout if done.returncode != 0 else None

    def take_log(self):
        with subprocess.Popen(["journalctl", "--quiet", "--output=short", "--cursor-file=/cursor", "--identifier=wrensshd"],
                              stdout=subprocess.PIPE, encoding="latin-1") as journal:
            yield from journal.stdout

    def stop(self):
        run_or_fail(["systemctl", "stop", "wrensshd.socket"])


def start(options, site):
    return (Units if options["launcher"] == "systemd" else Program)(options, site)
