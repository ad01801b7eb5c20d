"""Host keys as administrators have them: from ssh-keygen, in credentials and descriptors, two at once, certified."""

import os
import re
import shutil

import pytest

from daemon import daemon_environment, run
from openssh import OpenSSH
from proc import descriptors
from site_setup import run_or_fail
from ssh_keys import certify, knows, make_key, public

NAME = "ssh_host_ed25519_key"


@pytest.fixture
def host(site, serve):
    """host(keydir, *flags): the stock client for a daemon with these keys; `.server` is the daemon's."""
    def start(keydir, *args, **how):
        server = serve(*args, keydir=keydir, **how)
        ssh = OpenSSH(site, server.port)
        ssh.server = server
        return ssh
    return start


def trusting(folder, key):
    return knows(folder + "/known", "wren " + public(key))


# ---- where a key may be -----------------------------------------------------------------------

@pytest.mark.parametrize("as_folder", [False, True])
def test_key_of_openssh(host, folder, as_folder):
    """`wrensshd /etc/ssh/ssh_host_ed25519_key` serves with OpenSSH's key, so clients see no change."""
    key = make_key(f"{folder}/{NAME}")
    host(folder if as_folder else key).works(options=trusting(folder, key))


@pytest.mark.parametrize("as_folder", [False, True])
@pytest.mark.parametrize("fault,word", [
    ("passphrase", "passphrase"), ("rsa", "RSA"), ("cut", ""), ("empty", ""), ("mode", "accessible by"),
    ("missing", ""), ("dangling", "")])
def test_key_that_can_not_be_used(site, folder, fault, word, as_folder):
    """A key that can't be used is named in one line with the reason, and no connection begins."""
    key = f"{folder}/{NAME}"
    if fault == "dangling":
        os.symlink("nowhere", key)
    elif fault != "missing":
        make_key(key, *{"passphrase": ("ed25519", "secret"), "rsa": ("rsa", "", ["-b", "1024"])}.get(fault, ()))
    if fault == "mode":
        os.chmod(key, 0o640)
    elif fault in ("cut", "empty"):
        os.truncate(key, {"cut": 200, "empty": 0}[fault])
    done = run([site.daemon, *site.daemon_args(), folder if as_folder else key], text=False, timeout=20,
               env=daemon_environment())
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 100 or (fault == "missing" and done.returncode == 111), done
    assert done.stdout == b"", "bytes went out to the client"
    assert len(lines) == 1 and "event=trouble" in lines[0], lines
    assert (folder if fault == "missing" else key) in lines[0] and "reason=" in lines[0] and word in lines[0], lines


def test_credential(host, folder):
    """systemd's LoadCredential= can hand over the key."""
    key = make_key(f"{folder}/hostkey")
    env = {"CREDENTIALS_DIRECTORY": folder}
    host("credential:hostkey", env=env).works(options=trusting(folder, key))


@pytest.mark.parametrize("name,env,word", [
    ("hostkey", False, "CREDENTIALS_DIRECTORY"), ("other", True, "other"), ("../x", True, "credential"),
    ("", True, "credential")])
def test_credential_that_is_not_there(site, folder, name, env, word):
    """A missing credential is reported, and a name can't lead out of the directory."""
    make_key(f"{folder}/hostkey")
    done = run([site.daemon, *site.daemon_args(), "credential:" + name], timeout=20,
               env=daemon_environment({"CREDENTIALS_DIRECTORY": folder} if env else None))
    assert done.returncode in (100, 111) and done.stdout == "", done
    assert len(done.stderr.splitlines()) == 1 and word in done.stderr, done.stderr


@pytest.mark.parametrize("form", ["fd:7", "/dev/fd/7"])
@pytest.mark.parametrize("what", ["file", "folder"])
def test_descriptor(host, folder, form, what):
    """A launcher can open the key for the daemon, for each of its connections."""
    key = make_key(f"{folder}/{NAME}")
    opened = key if what == "file" else folder
    ssh = host(form, through=["sh", "-c", f'exec "$0" "$@" 7<"{opened}"'])
    ssh.works(options=trusting(folder, key))
    ssh.works(options=trusting(folder, key))


def test_descriptor_that_is_not_open(site):
    """A wrong number is reported."""
    done = run([site.daemon, *site.daemon_args(), "fd:77"], timeout=20, env=daemon_environment())
    assert done.returncode in (100, 111) and done.stdout == "", done
    assert len(done.stderr.splitlines()) == 1 and "fd:77" in done.stderr, done.stderr


def test_descriptor_stays_with_the_monitor(client, site, folder):
    """Neither the network process nor a user's program has the key's descriptor."""
    key = make_key(f"{folder}/{NAME}")
    opened = os.open(key, os.O_RDONLY)
    try:
        raw = client(started={"keydir": f"fd:{opened}", "pass_fds": (opened,)})
        raw.login()
        output = raw.exec("ls -l /proc/self/fd").wait_closed().output.decode()
    finally:
        os.close(opened)
    assert "-> " in output and NAME not in output, output
    if site.root:
        for pid in (raw.line.network, raw.line.monitor):
            assert not [path for path in descriptors(pid).values() if NAME in path], descriptors(pid)


# ---- two keys ---------------------------------------------------------------------------------

def known_keys(path):
    with open(path, encoding="ascii") as file:
        return {" ".join(line.split()[1:3]) for line in file if line.strip()}


def test_rotation(site, host, folder):
    """A host's key can be replaced without a warning at clients that have connected in between."""
    keydir = folder + "/keys"
    run_or_fail([site.makekey, keydir], env=daemon_environment())
    old = run_or_fail([site.printkey, keydir], env=daemon_environment()).splitlines()[0]
    new = make_key(f"{keydir}/{NAME}")
    options = [*knows(folder + "/known", "wren " + old), "UpdateHostKeys=yes"]
    ssh = host(keydir)
    ssh.works(options=options)
    assert known_keys(folder + "/known") == {old, public(new)}
    for name in ("ed25519.pk", ".ed25519.sk"):
        os.unlink(f"{keydir}/{name}")
    ssh.works(options=options)
    assert known_keys(folder + "/known") == {public(new)}


def test_second_key_that_can_not_be_used(site, host, folder):
    """A broken second key is left out, and the first one still serves."""
    keydir = folder + "/keys"
    run_or_fail([site.makekey, keydir], env=daemon_environment())
    first = run_or_fail([site.printkey, keydir], env=daemon_environment()).splitlines()[0]
    make_key(f"{keydir}/{NAME}", passphrase="secret")
    ssh = host(keydir)
    ssh.works(options=[*knows(folder + "/known", "wren " + first), "UpdateHostKeys=yes"])
    assert known_keys(folder + "/known") == {first}
    troubles = ssh.server.log.events("trouble")
    assert len(troubles) == 1 and "passphrase" in troubles[0]["reason"], troubles


# ---- a host certificate -----------------------------------------------------------------------

@pytest.fixture
def ca(folder):
    return make_key(folder + "/ca")


def test_host_certificate(host, folder, ca):
    """Clients that know only the authority can log in, and keep the connection at a rekey."""
    key = make_key(f"{folder}/{NAME}")
    certify(ca, key, "-h", "-n", "wren")
    ssh = host(folder)
    trusted = knows(folder + "/known", "@cert-authority wren " + public(ca))
    ssh.works(options=trusted)
    # The client's data waits for the key exchange; the server's may already be under way.
    done = ssh("wc", "-c", options=["RekeyLimit=64K", "LogLevel=DEBUG1", *trusted], input="x" * 1000000)
    assert done.stdout.split() == ["1000000"] and done.returncode == 0, done.stderr[-2000:]
    assert len(re.findall(r"Server host certificate:", done.stderr)) >= 2, "there was no second key exchange"
    ssh.works(options=trusting(folder, key))
    ssh.works(options=[*trusting(folder, key), "HostKeyAlgorithms=ssh-ed25519"])
    assert not ssh.server.log.events("trouble")


@pytest.mark.parametrize("fault", ["principal", "authority", "expired"])
def test_host_certificate_that_the_client_refuses(host, folder, ca, fault):
    """The client does check the certificate, so the test above means something."""
    key = make_key(f"{folder}/{NAME}")
    signer = make_key(folder + "/other-ca") if fault == "authority" else ca
    times = ["-V", "20200101:20210101"] if fault == "expired" else []
    certify(signer, key, "-h", "-n", "elsewhere" if fault == "principal" else "wren", *times)
    done = host(folder)("true", options=knows(folder + "/known", "@cert-authority wren " + public(ca)))
    assert done.returncode == 255


@pytest.mark.parametrize("fault,word", [
    ("user", "user"), ("other", "another key"), ("cut", ""), ("mode", "writable by group")])
def test_certificate_that_is_left_out(host, folder, ca, fault, word):
    """A wrong certificate is not sent, and the plain key serves."""
    key = make_key(f"{folder}/{NAME}")
    if fault == "other":
        made = certify(ca, make_key(folder + "/other"), "-h", "-n", "wren")
        shutil.move(made, key + "-cert.pub")
    else:
        certify(ca, key, *([] if fault == "user" else ["-h"]), "-n", "wren")
    if fault == "cut":
        os.truncate(key + "-cert.pub", 300)
    elif fault == "mode":
        os.chmod(key + "-cert.pub", 0o666)
    ssh = host(folder)
    ssh.works(options=trusting(folder, key))
    troubles = ssh.server.log.events("trouble")
    assert len(troubles) == 1 and word in troubles[0]["reason"], troubles
    assert "-cert.pub" in str(troubles[0]), troubles
    trusted = knows(folder + "/known", "@cert-authority wren " + public(ca))
    assert ssh("true", options=trusted).returncode == 255


# ---- the tools --------------------------------------------------------------------------------

def test_import(site, host, folder):
    """An imported OpenSSH key is the same key, and a second import does not overwrite it."""
    key, other = make_key(folder + "/mine"), make_key(folder + "/other")
    keydir = folder + "/keys"
    env = daemon_environment()
    for _ in range(2):
        run_or_fail([site.makekey, "-i", key, keydir], env=env)
        assert run_or_fail([site.printkey, keydir], env=env).splitlines()[0] == public(key)
    assert os.stat(keydir + "/.ed25519.sk").st_mode & 0o777 == 0o600
    done = run([site.makekey, "-i", other, keydir], env=env)
    assert done.returncode == 111 and keydir in done.stderr, done
    assert run_or_fail([site.printkey, keydir], env=env).splitlines()[0] == public(key)
    host(keydir).works(options=trusting(folder, key))


def test_import_of_a_descriptor(site, folder):
    """By its path: the tools have no descriptors of a launcher's."""
    key = make_key(folder + "/mine")
    with open(key, encoding="ascii") as opened:
        run_or_fail([site.makekey, "-i", f"/dev/fd/{opened.fileno()}", folder + "/keys"], env=daemon_environment(),
                    pass_fds=[opened.fileno()])
    assert run_or_fail([site.printkey, folder + "/keys"], env=daemon_environment()).splitlines()[0] == public(key)


@pytest.mark.parametrize("fault", ["passphrase", "rsa", "missing", "dangling"])
def test_nothing_to_import(site, folder, fault):
    """A failed import leaves no key."""
    key = folder + "/mine"
    if fault == "dangling":
        os.symlink("nowhere", key)
    elif fault != "missing":
        make_key(key, *{"passphrase": ("ed25519", "secret"), "rsa": ("rsa", "", ["-b", "1024"])}[fault])
    done = run([site.makekey, "-i", key, folder + "/keys"], env=daemon_environment())
    assert done.returncode in (100, 111) and key in done.stderr, done
    assert not os.path.exists(folder + "/keys/.ed25519.sk")


def test_sshfp_record(site, folder):
    """The record for the DNS is the one that ssh-keygen makes."""
    key = make_key(f"{folder}/{NAME}")
    for place in (key, folder):
        ours = run_or_fail([site.printkey, "-r", "host.example.", place], env=daemon_environment()).splitlines()
        theirs = run_or_fail(["ssh-keygen", "-r", "host.example.", "-f", key + ".pub"]).splitlines()
        assert [line.lower() for line in ours] == [line.lower() for line in theirs if " 4 2 " in line]


def test_sshfp_record_of_a_long_name(site, folder):
    """A name that is too long is refused, not cut off."""
    key = make_key(f"{folder}/{NAME}")
    whole = run_or_fail([site.printkey, "-r", "x", key], env=daemon_environment())
    assert run_or_fail([site.printkey, "-r", "x" * 1024, key], env=daemon_environment()) == "x" * 1023 + whole
    done = run([site.printkey, "-r", "x" * 1025, key], env=daemon_environment())
    assert done.returncode == 100 and not done.stdout and "too long" in done.stderr


def test_import_says_what_it_did(site, folder):
    """The import reports whether the key was imported, kept or refused."""
    key, keydir = make_key(folder + "/mine"), folder + "/keys"
    for word in ("imported", "already there"):
        said = run_or_fail([site.makekey, "-i", key, keydir], env=daemon_environment())
        assert said.startswith(f"{keydir}: host key {word}, SHA256:"), said
