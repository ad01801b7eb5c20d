"""-R with the binary revocation lists of ssh-keygen -k: who is refused, and that ssh-keygen -Q says the same."""

import base64
import os
import struct

import pytest

from daemon import run
from openssh import OpenSSH
from test_certificates import CERTIFICATE, Authority, keygen
from whole_files import read, read_text, write
from wire import PK_OK, USERAUTH_FAILURE, string

# Half of these numbers in a row: ssh-keygen makes a bitmap of them.
BITMAP = [f"serial: {2 * i + 1}" for i in range(1000)]
# Too far apart for a bitmap.
FAR = [f"serial: {17 + i * (1 << 34)}" for i in range(300)]
SERIALS = (0, 1, 2, 17, 20, 21, 1999, 2000, 17 + (1 << 34), 18 + (1 << 34), (1 << 64) - 1)


def read_blob(path):
    return base64.b64decode(read_text(path).split()[1])


class People:
    """Two authorities, and keys and certificates of which a list may revoke some."""

    def __init__(self, site, folder):
        self.site, self.folder = site, folder
        self.ca, self.other = Authority(site, folder, "ca"), Authority(site, folder, "other")
        self.paths = [self.ca.sign("-z", str(serial)) for serial in SERIALS]
        self.paths += [self.ca.sign("-z", "5000", key_id="lost laptop"), self.other.sign("-z", "17"),
                       self.other.sign("-z", "5000", key_id="lost laptop"), site.identity + ".pub"]

    def lines(self):
        return [self.site.identity_line] + [f"cert-authority {one.line}" for one in (self.ca, self.other)]

    def words(self):
        """What a specification may name by {}."""
        return {"key": " ".join(self.site.identity_line.split()[:2]), "ca": self.ca.line, "other": self.other.line,
                "print": keygen("-l", "-f", self.site.identity + ".pub").split()[1], "ca_print": self.ca.fingerprint}


@pytest.fixture(scope="module")
def people(site, tmp_path_factory):
    return People(site, str(tmp_path_factory.mktemp("krl")))


@pytest.fixture
def make_list(site, people):
    """make_list(*parts): a list of ssh-keygen's; a part is an authority's name, or "none", and lines; "" names none."""
    path = os.path.join(site.base, "krl")

    def make(*parts):
        words = people.words()
        for number, (authority, lines) in enumerate(parts):
            spec = os.path.join(people.folder, "spec")
            write(spec, "".join(line.format(**words) + "\n" for line in lines))
            whose = {"": [], "none": ["-s", "none"], "ca": ["-s", people.ca.path + ".pub"],
                     "other": ["-s", people.other.path + ".pub"]}[authority]
            keygen("-q", "-k", *(["-u"] if number else []), "-f", path, *whose, spec)
        return path
    yield make
    if os.path.exists(path):
        os.unlink(path)


@pytest.fixture
def knock(client, authorize, people):
    """knock(list): for each path, whether the daemon would take it, and its last line about a login."""
    def ask(path, paths=None, *flags):
        authorize(*people.lines())
        raw = client("-R", path, "-m", "60", *flags).start_userauth()
        answers = []
        for one in paths or people.paths:
            algorithm = CERTIFICATE if one.endswith("-cert.pub") else b"ssh-ed25519"
            answer = raw.auth_answer(raw.publickey(sign=False, algorithm=algorithm, blob=read_blob(one)))
            assert answer[0] in (PK_OK, USERAUTH_FAILURE), answer
            answers.append(answer[0] == PK_OK)
        events = raw.line.log.events("login")
        return answers, events[-1] if events else None
    return ask


# What a list names, and the section that the log reports for it.
LISTS = {
    "serial": ([("ca", ["serial: 17"])], "serial list"),
    "range": ([("ca", ["serial: 2-1999"])], "serial range"),
    "widest-range": ([("ca", ["serial: 1-18446744073709551615"])], "serial range"),
    "bitmap": ([("ca", BITMAP)], "serial bitmap"),
    "far-serials": ([("ca", FAR)], "serial list"),
    "all-kinds": ([("ca", FAR + BITMAP + ["serial: 5000-6000", "id: somebody"])], "serial range"),
    "id": ([("ca", ["id: lost laptop"])], "key id"),
    "id-of-any": ([("none", ["id: lost laptop"])], "key id"),
    "serial-of-any": ([("none", ["serial: 17"])], "serial list"),
    "other-authority": ([("other", ["serial: 17", "id: lost laptop"])], "key id"),
    "both-authorities": ([("ca", ["serial: 20-21"]), ("other", ["serial: 17"])], "serial list"),
    "plain-key": ([("", ["{key}"])], "key"),
    "key": ([("", ["key: {key}"])], "key"),
    "authority": ([("", ["key: {ca}"])], "key"),
    "sha256": ([("", ["sha256: {key}"])], "SHA-256"),
    "fingerprint": ([("", ["hash: {print}"])], "SHA-256"),
    "fingerprint-of-authority": ([("", ["hash: {ca_print}"])], "SHA-256"),
    "strangers": ([("ca", ["serial: 3-16", "id: lost"]), ("", ["key: ssh-ed25519 {stranger}"])], None),
}
STRANGER = base64.b64encode(string(b"ssh-ed25519") + string(b"s" * 32)).decode()


@pytest.mark.parametrize("name", LISTS)
def test_agrees_with_ssh_keygen(people, make_list, knock, name):
    """The daemon refuses exactly the keys and certificates that ssh-keygen -Q calls revoked."""
    parts, section = LISTS[name]
    path = make_list(*[(whose, [line.replace("{stranger}", STRANGER) for line in lines]) for whose, lines in parts])
    said = run(["ssh-keygen", "-Q", "-f", path, *people.paths])
    wanted = [line.endswith(": ok") for line in said.stdout.splitlines()]
    assert len(wanted) == len(people.paths), said
    assert all(wanted) == (section is None), said.stdout
    answers, event = knock(path)
    assert answers == wanted, list(zip(people.paths, answers, wanted))
    if section:
        assert (event["reason"], event["path"], event["section"]) == ("key is revoked", path, section), event
        assert "line" not in event and "option" not in event, event


# ---- what is refused whole --------------------------------------------------------------------

def edit(path, change):
    data = read(path)
    write(path, change(data))


BROKEN = "file of revoked keys is broken"
EARLY = "file of revoked keys ends too early"
UNSUPPORTED = "section of the file of revoked keys is not supported"
HEADER_BYTES = 8 + 4 + 3 * 8 + 4 + 4


@pytest.mark.parametrize("change,reason,section", [
    (lambda data: data[:-1], EARLY, "key id"),
    (lambda data: data[:HEADER_BYTES - 1], EARLY, "header"),
    (lambda data: data[:HEADER_BYTES + 60], EARLY, "certificates"),
    (lambda data: data + b"\0", EARLY, "header"),
    (lambda data: data + b"\0" * 5, UNSUPPORTED, "unknown"),
    (lambda data: data[:11] + b"\2" + data[12:], UNSUPPORTED, "header"),
    (lambda data: data + b"\4" + string(b"key") + string(b"signature"), UNSUPPORTED, "signature"),
    (lambda data: data + b"\xff" + string(string(b"name@x") + b"\1" + string(b"")), UNSUPPORTED, "extension"),
    (lambda data: data + b"\x02" + string(string(b"ssh-ed25519")), BROKEN, "key"),
    (lambda data: data.replace(struct.pack(">QQ", 3, 1600000), struct.pack(">QQ", 1600000, 3)), BROKEN, "serial range"),
    (lambda data: data.replace(b"\x21" + struct.pack(">I", 16), b"\x21" + struct.pack(">I", 15)), BROKEN,
     "serial range"),
], ids=["cut", "cut-header", "cut-authority", "trailing", "trailing-section", "version", "signed", "critical", "key",
        "range", "length"])
def test_damaged_list(site, people, make_list, knock, change, reason, section):
    """With a list that can't be read in full nobody can log in: entries that revoke somebody may be lost."""
    path = make_list(("ca", ["serial: 3-1600000", "id: nobody"]))
    assert knock(path, [site.identity + ".pub"])[0] == [True]
    edit(path, change)
    for one in (site.identity + ".pub", people.paths[0]):
        answers, event = knock(path, [one])
        assert answers == [False], event
        assert (event["reason"], event["path"], event["section"]) == (reason, path, section), event


def test_sha1_fingerprints(site, people, make_list, knock):
    """A list with SHA-1 fingerprints lets nobody in: the daemon can't compare them."""
    path = make_list(("", [f"sha1: ssh-ed25519 {STRANGER}"]))
    answers, event = knock(path, [site.identity + ".pub"])
    assert answers == [False]
    assert (event["reason"], event["section"]) == (UNSUPPORTED, "SHA-1"), event


def test_optional_extension(site, people, make_list, knock):
    """An extension that is not critical is skipped, and what stands behind it still counts."""
    path = make_list(("", ["{key}"]))
    edit(path, lambda data: data[:HEADER_BYTES] + b"\xff" + string(string(b"name@x") + b"\0" + string(b"data"))
         + data[HEADER_BYTES:])
    answers, event = knock(path, [site.identity + ".pub"])
    assert answers == [False] and event["section"] == "key", event


def test_empty_list(site, serve, authorize, make_list):
    """A list of a header alone, which ssh-keygen makes and a cut can leave, revokes nothing, and a login says so."""
    authorize()
    for lines, said in ([], "empty"), (["key: ssh-ed25519 " + STRANGER], None):
        server = serve("-R", make_list(("", lines)))
        OpenSSH(site, server.port).works()
        assert server.log.wait("login")[-1].get("revoked-list") == said, server.log.text()


def test_other_reason(client, site, make_list):
    """A login that is refused for another reason has nothing about the list in its line."""
    raw = client("-R", make_list(("ca", ["serial: 18"])), "-a", "/nonexistent/keys").start_userauth()
    raw.auth_answer(raw.publickey(sign=False, blob=read_blob(site.identity + ".pub")))
    event = raw.line.log.events("login")[-1]
    assert event["reason"] == "No such file or directory" and "option" not in event and "section" not in event, event


def test_big_list(site, people, make_list, knock):
    """A list of 24 MB, half a million of serial numbers and as many fingerprints, does not keep a login waiting."""
    path = make_list(("ca", ["serial: 1000000"]))
    serials = struct.pack(">500000Q", *range(1000001, 1000001 + 1000000, 2))
    prints = b"".join(struct.pack(">IQQQQ", 32, i, i, i, i) for i in range(500000))
    inner = b"\x20" + string(serials)
    edit(path, lambda data: data + b"\1" + string(string(b"") + string(b"") + inner) + b"\5" + string(prints))
    last = people.ca.sign("-z", str(1000001 + 999998))
    answers, event = knock(path, [site.identity + ".pub", people.paths[0], last])
    assert answers == [True, True, False] and event["section"] == "serial list", event
