"""Forwarding, which this server lacks: the stock client gets an answer that says so, and the log names what it asked
for, once in a connection."""

import os
import socket
import subprocess
import threading

import pytest

from daemon import free_port, run
from openssh import OpenSSH


# The fixture's clients are quiet.
AUDIBLE = ["LogLevel=INFO"]


def notes(server):
    """Of connections that are over."""
    assert server.wait_idle()
    return [event["text"] for event in server.log.events("net")]


def test_a_connection_through_the_server(ssh, server):
    """ssh -W asks for a channel; the refusal reaches the user's screen."""
    done = ssh(flags=["-W", "127.0.0.1:9"], options=AUDIBLE)
    assert done.returncode != 0
    assert "administratively prohibited: this server has no forwarding" in done.stderr, done.stderr
    assert notes(server) == ["no port forwarding (ssh -J, -L, -W)"]


def test_jump_host(ssh, server):
    """ssh -J starts such a client for the first hop."""
    jump = " ".join(ssh.command(flags=["-W", "[127.0.0.1]:9"], options=AUDIBLE))
    done = ssh("true", options=[f"ProxyCommand={jump}"])
    assert done.returncode == 255
    assert "administratively prohibited" in done.stderr, done.stderr
    assert notes(server) == ["no port forwarding (ssh -J, -L, -W)"]


def ask_often(family, address, times):
    """Connects to the client's listener, which opens a channel for each connection."""
    for _ in range(times):
        with socket.socket(family, socket.SOCK_STREAM) as caller:
            caller.settimeout(10)
            caller.connect(address)
            assert caller.recv(1) == b""


@pytest.mark.parametrize("kind", ["port", "socket"])
def test_local_forwarding_is_logged_once(ssh, server, site, kind):
    """Editors ask again and again: the log has one line, and the session goes on."""
    path = os.path.join(site.folder("forwarding"), "local")
    port = free_port()
    target = f"{path}:/run/nothing" if kind == "socket" else f"127.0.0.1:{port}:127.0.0.1:9"
    client = ssh.start("echo ready; cat", flags=["-L", target])
    try:
        assert client.stdout.readline() == b"ready\n"
        if kind == "socket":
            ask_often(socket.AF_UNIX, path, 5)
        else:
            ask_often(socket.AF_INET, ("127.0.0.1", port), 5)
        out, _ = client.communicate(b"still here", timeout=30)
    finally:
        client.kill()
        if kind == "socket":
            os.unlink(path)
    assert out == b"still here"
    assert notes(server) == ["no port forwarding (ssh -J, -L, -W)"]


@pytest.mark.parametrize("target, text", [("0:127.0.0.1:9", "no remote port forwarding (ssh -R)"),
                                          ("/run/nothing:127.0.0.1:9", "no remote socket forwarding (-R)")])
def test_remote_forwarding(ssh, server, target, text):
    done = ssh("echo", "still here", flags=["-R", target], options=AUDIBLE)
    assert done.stdout == "still here\n"
    assert "remote port forwarding failed" in done.stderr, done.stderr
    assert notes(server) == [text]


def test_agent_and_x11(ssh, server, site):
    """The sockets that the client would forward need not answer."""
    path = os.path.join(site.folder("forwarding"), "agent")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
        agent.bind(path)
        agent.listen()
        threading.Thread(target=hang_up, args=(agent,), daemon=True).start()
        environment = {"PATH": os.environ["PATH"], "SSH_AUTH_SOCK": path, "DISPLAY": "127.0.0.1:99"}
        done = ssh("echo $DISPLAY$SSH_AUTH_SOCK.", env=environment, flags=["-A", "-Y"],
                   options=["IdentityAgent=SSH_AUTH_SOCK", "XAuthLocation=/nonexistent"])
        agent.shutdown(socket.SHUT_RDWR)
    os.unlink(path)
    assert done.stdout == ".\n", done.stderr
    assert sorted(notes(server)) == ["no X11 forwarding (ssh -X)", "no agent forwarding (ssh -A)"]


def hang_up(agent):
    try:
        while True:
            agent.accept()[0].close()
    except OSError:
        pass


def test_quiet(serve, site):
    """-q leaves these lines out, as it does all others about clients."""
    server = serve("-q")
    done = run(OpenSSH(site, server.port).command(flags=["-W", "127.0.0.1:9"]), stdin=subprocess.DEVNULL)
    assert done.returncode != 0
    assert notes(server) == []
