"""A network of one cable: a machine at one end, and at the other a network namespace of this process with a router's
address. For what qemu's own network can't do: IPv6 alone, and VLANs."""

import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

from .place import Skipped

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
VLAN_TAG = 0x8100


def router_advertisement(prefix):
    """RFC 4861: that this is a router, for half an hour, and that addresses may be made with the /64 prefix."""
    information = struct.pack("!BBBBIII", 3, 4, 64, 0xC0, 3600, 1800, 0) + socket.inet_pton(socket.AF_INET6, prefix)
    return struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0) + information


class Wire(threading.Thread):
    """
    `ours` are our addresses, each with the length of its prefix; connections to `port` of 127.0.0.1 go on to port 22 of
    `guest`. With `advertised`, an IPv6 prefix, a router advertises it. With `vlan`, all frames carry that tag.
    """

    def __init__(self, place, ours, guest, advertised=None, vlan=None):
        super().__init__(daemon=True)
        self.folder = tempfile.mkdtemp(prefix="wren-wire-")  # short, as the path of a socket has to be
        place.machines.append(self)  # for its end
        self.ours, self.guest, self.advertised, self.vlan = ours, guest, advertised, vlan
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.frames = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.frames.bind(self.folder + "/router")
        self.why_not, self.ready, self.tap = None, threading.Event(), None
        self.start()
        self.ready.wait()
        if self.why_not:
            raise Skipped(f"no network namespace with a tap device here: {self.why_not}")

    def netdev(self):
        """For qemu."""
        return (f"dgram,id=n,local.type=unix,local.path={self.folder}/machine,"
                f"remote.type=unix,remote.path={self.folder}/router")

    def set_up(self):
        """The namespace is this thread's, and that of what it starts."""
        if LIBC.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        self.tap = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(self.tap, TUNSETIFF, struct.pack("16sH14x", b"wire", IFF_TAP | IFF_NO_PI))
        for address in self.ours:
            subprocess.run(["ip", "address", "add", address, "dev", "wire", *(["nodad"] if ":" in address else [])],
                           check=True)
        subprocess.run(["ip", "link", "set", "wire", "up"], check=True)

    def run(self):
        try:
            self.set_up()
        except (OSError, subprocess.CalledProcessError) as why:
            self.why_not = why
        self.ready.set()
        next_time = 0
        while not self.why_not:
            readable, _, _ = select.select([self.frames, self.tap, self.listener], [], [], 1)
            if self.advertised and time.monotonic() > next_time:
                next_time = time.monotonic() + 1
                self.advertise()
            if self.frames in readable:
                self.from_machine(self.frames.recv(65536))
            if self.tap in readable:
                self.to_machine(os.read(self.tap, 65536))
            if self.listener in readable:
                threading.Thread(target=self.relay, args=(self.listener.accept()[0],), daemon=True).start()

    def advertise(self):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as raw:
            raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            raw.sendto(router_advertisement(self.advertised), ("ff02::1", 0, 0, socket.if_nametoindex("wire")))

    def from_machine(self, frame):
        if self.vlan:
            kind, tag = struct.unpack("!HH", frame[12:16])
            if (kind, tag & 0xFFF) != (VLAN_TAG, self.vlan):
                return
            frame = frame[:12] + frame[16:]
        with contextlib.suppress(OSError):
            os.write(self.tap, frame)

    def to_machine(self, frame):
        if self.vlan:
            frame = frame[:12] + struct.pack("!HH", VLAN_TAG, self.vlan) + frame[12:]
        with contextlib.suppress(OSError):  # the machine does not run yet, or no longer
            self.frames.sendto(frame, socket.MSG_DONTWAIT, self.folder + "/machine")

    def relay(self, client):
        """A connection from this machine's own network to port 22 of the guest."""
        with client, contextlib.suppress(OSError), socket.create_connection((self.guest, 22), 5) as server:
            server.settimeout(None)
            other = {client: server, server: client}
            while other:
                for side in select.select(list(other), [], [])[0]:
                    piece = side.recv(65536)
                    if piece:
                        other[side].sendall(piece)
                    else:
                        other.pop(side).shutdown(socket.SHUT_WR)

    def stop(self):
        shutil.rmtree(self.folder, ignore_errors=True)
