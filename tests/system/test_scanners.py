"""ssh-audit and nmap judge the daemon from outside: what they find is what it means to offer."""

import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from daemon import run
from openssh import OpenSSH

KEX = ["sntrup761x25519-sha512", "sntrup761x25519-sha512@openssh.com", "curve25519-sha256",
       "curve25519-sha256@libssh.org", "kex-strict-s-v00@openssh.com"]
# Never used, as the cipher authenticates. Some clients refuse an empty list, and this name has no warning.
MAC = ["hmac-sha2-256-etm@openssh.com"]
OFFERED = {"kex_algorithms": KEX, "server_host_key_algorithms": ["ssh-ed25519"],
           "encryption_algorithms": ["chacha20-poly1305@openssh.com"], "mac_algorithms": MAC,
           "compression_algorithms": ["none"]}

# What ssh-audit warns of, and why it stays.
WARNINGS = {
    # For the clients that lack the hybrid exchange: tests/README.md names them. -S takes it out.
    ("kex", "curve25519-sha256"): ["does not provide protection against post-quantum attacks"],
    ("kex", "curve25519-sha256@libssh.org"): ["does not provide protection against post-quantum attacks"],
}
# Its remarks on the whole server.
REMARKS = [
    # Each client without strict key exchange is open to Terrapin with this cipher, whatever the server does.
    "Be aware that, while this target properly supports the strict key exchange method",
]


def ssh_audit():
    """The program, beside this Python or installed."""
    beside = os.path.join(os.path.dirname(sys.executable), "ssh-audit")
    return beside if os.path.exists(beside) else shutil.which("ssh-audit")


@pytest.fixture
def audit(server):
    """audit(server): ssh-audit's report. Its flood of connections is left out: limits are the launcher's."""
    if not ssh_audit():
        pytest.skip("ssh-audit is not installed")

    def look(one=server):
        done = run([ssh_audit(), "--json", "--skip-rate-test", "-p", str(one.port), "127.0.0.1"])
        assert done.stdout.startswith("{"), done
        return json.loads(done.stdout)
    return look


def notes(report, kind):
    return {(part, one["algorithm"]): one["notes"][kind] for part in ("kex", "key", "enc", "mac")
            for one in report[part] if kind in one["notes"]}


def test_ssh_audit_finds_no_failure(audit, server, site):
    """ssh-audit finds no failure and no known hole, and warns of nothing that is not in the list above."""
    report = audit()
    found = {part: [one["algorithm"] for one in report[part]] for part in ("kex", "key", "enc", "mac")}
    assert found == {"kex": KEX, "key": ["ssh-ed25519"], "enc": ["chacha20-poly1305@openssh.com"],
                     "mac": MAC}
    assert report["compression"] == ["none"] and report["cves"] == []
    assert notes(report, "fail") == {}
    assert notes(report, "warn") == WARNINGS
    remarks = report.get("additional_notes", [])
    assert [remark for remark in remarks if not remark.startswith(tuple(REMARKS))] == []
    mine = run(["ssh-keygen", "-lf", "-"], input=site.host_line).stdout.split()[1]
    assert {one["hash"] for one in report["fingerprints"] if one["hash_alg"] == "SHA256"} == {mine.partition(":")[2]}
    OpenSSH(site, server.port).works()


def test_ssh_audit_of_the_strictest_server(audit, serve):
    """With -S, which leaves the hybrid key exchange alone, ssh-audit warns of nothing."""
    report = audit(serve("-S"))
    assert [one["algorithm"] for one in report["kex"]] == [KEX[0], KEX[1], KEX[4]]
    assert notes(report, "warn") == {} and notes(report, "fail") == {}


@pytest.fixture
def nmap(server):
    """nmap(scripts): what they found on the server's port, by name."""
    if not shutil.which("nmap"):
        pytest.skip("nmap is not installed")

    def scan(*scripts):
        # "+": also where no service detection has found the port to be SSH's.
        command = ["nmap", "-n", "-Pn", "-sT", "-p", str(server.port), "--script", ",".join("+" + name for name in scripts),
                   "--script-args", "ssh_hostkey=all", "-oX", "-", "127.0.0.1"]
        done = run(command)
        assert done.returncode == 0, done.stderr
        tree = ElementTree.fromstring(done.stdout)
        port = tree.find("./host/ports/port")
        assert port.find("state").get("state") == "open", done.stdout
        return {script.get("id"): script for script in port.findall("script")}
    return scan


def test_nmap_lists_the_algorithms(nmap, server, site):
    """nmap's ssh2-enum-algos finds the algorithms that are offered, and no other."""
    found = nmap("ssh2-enum-algos")["ssh2-enum-algos"]
    lists = {table.get("key"): [one.text for one in table.findall("elem")] for table in found.findall("table")}
    assert lists == OFFERED
    OpenSSH(site, server.port).works()


def test_nmap_can_not_go_further(nmap, server, site):
    """nmap's ssh-hostkey speaks SSH 1 and old key exchanges: each attempt is refused with one line in the log that says
    so. ssh-auth-methods finds only public keys, if nmap's library knows our cipher. The daemon serves on."""
    found = nmap("ssh-hostkey", "ssh-auth-methods")
    assert "ssh-hostkey" not in found
    if "ssh-auth-methods" in found:
        methods = {one.text for one in found["ssh-auth-methods"].iter("elem")}
        assert methods <= {"publickey"} and "none_auth" not in found["ssh-auth-methods"].get("output"), methods
    assert server.wait_idle()
    ends = [end["reason"] for end in server.log.events("end")]
    assert len(ends) == len(server.log.events("connection"))
    refusals = [reason for reason in ends if re.match(
        r"no common (key exchange method|host key algorithm|cipher from)|the client does not speak SSH 2\.0: ", reason)]
    assert any(reason.startswith("no common ") for reason in refusals) and any("SSH-1" in one for one in refusals), ends
    left = ("client closed", "client reset", "client disconnected", "no usable key offered (none); client ")
    assert all(one in refusals or one.startswith(left) for one in ends), ends
    OpenSSH(site, server.port).works()
