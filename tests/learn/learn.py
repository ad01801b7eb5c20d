#!/usr/bin/env python3
"""Learns the state machine of a running server from outside, and compares it with the one in model.py.

    learn.py [--show] [transport|channel|openssh]...

AALpy asks; the server answers through the tests' own client. What is learned is printed as a table with --show; each
difference is printed as the shortest messages that show it, with both answers. Ends with 1 if there is one.
"""

import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import time

import model
from servers import Ours, OpenSSHServer, ends  # it sets the path of the modules below
from aalpy.base import SUL, Oracle
from aalpy.learning_algs import run_KV
from daemon import Log
from site_setup import Site

LOGIN = ("VERSION", "KEXINIT", "ECDH_INIT", "NEWKEYS", "SERVICE_REQUEST", "AUTH_SIGNED")
TRANSPORT = ("VERSION", "KEXINIT", "KEXINIT_GUESS", "ECDH_INIT", "ECDH_ZERO", "NEWKEYS", "SERVICE_REQUEST", "EXT_INFO",
             "AUTH_NONE", "AUTH_PROBE", "AUTH_SIGNED", "IGNORE", "DEBUG", "UNIMPLEMENTED", "UNKNOWN", "PING",
             "GLOBAL_REQUEST", "OPEN_FORWARDING", "REQUEST_SUCCESS", "SERVICE_ACCEPT", "DISCONNECT")
CHANNEL = ("OPEN", "EXEC", "ENV", "DATA", "EXTENDED", "ADJUST", "EOF", "CLOSE", "PING", "DISCONNECT")
# Each two states answer one of these otherwise.
TRANSPORT_SUFFIXES = [("VERSION",), ("SERVICE_REQUEST",), ("AUTH_NONE",), ("NEWKEYS", "AUTH_NONE"),
                      ("ECDH_INIT", "NEWKEYS", "AUTH_NONE"), ("ECDH_INIT", "ECDH_INIT", "NEWKEYS", "AUTH_NONE"),
                      ("KEXINIT",), ("IGNORE",)]
CHANNEL_SUFFIXES = [("DATA",), ("ENV",), ("CLOSE", "EOF"), ("OPEN",)]
OPENSSH_SUFFIXES = [("SERVICE_REQUEST",), ("AUTH_NONE",), ("NEWKEYS", "AUTH_NONE"), ("ECDH_INIT", "NEWKEYS", "AUTH_NONE")]
OPENSSH = ("KEXINIT", "ECDH_INIT", "NEWKEYS", "SERVICE_REQUEST", "AUTH_NONE", "AUTH_PROBE", "OPEN_FORWARDING")


class Asked(SUL):
    """AALpy's view of a server."""

    def __init__(self, server):
        super().__init__()
        self.server = server

    def query(self, word):
        return self.server.query(word)

    def pre(self):
        self.word = []

    def step(self, letter):
        self.word.append(letter)
        return self.server.query(self.word)[-1]

    def post(self):
        pass


class Walks(Oracle):
    """Looks for a word that the hypothesis gets wrong: each message in each state, followed by each of a few words that
    tell states apart, and then walks that never end the connection. The same ones in each run."""

    def __init__(self, alphabet, sul, suffixes, walks=60, length=12):
        super().__init__(alphabet, sul)
        self.suffixes, self.walks, self.length = suffixes, walks, length
        self.random = random.Random(1)

    def find_cex(self, hypothesis):
        hypothesis.compute_prefixes()
        for state in hypothesis.states:
            for letter in self.alphabet:
                for suffix in self.suffixes:
                    found = self.wrong_part(hypothesis, state.prefix + (letter, *suffix))
                    if found:
                        return found
        for _ in range(self.walks):
            found = self.wrong_part(hypothesis, self.walk(hypothesis))
            if found:
                return found
        return None

    def walk(self, hypothesis):
        word, state = [], hypothesis.initial_state
        while len(word) < self.length:
            living = [letter for letter in self.alphabet if not ends(state.output_fun[letter])]
            if not living:
                break
            word.append(self.random.choice(living))
            state = state.transitions[word[-1]]
        return tuple(word) + (self.random.choice(self.alphabet),)

    def wrong_part(self, hypothesis, word):
        """The word up to the first answer that is not the hypothesis's, or None. The algorithm takes no longer one."""
        for i, (answer, guess) in enumerate(zip(self.sul.query(word), outputs(hypothesis, word))):
            if answer != guess:
                return word[:i + 1]
        return None


def outputs(machine, word):
    state, found = machine.initial_state, []
    for letter in word:
        found.append(state.output_fun[letter])
        state = state.transitions[letter]
    return found


def differences(learned, start, states, alphabet):
    """The shortest words on which the two machines differ, at most one for each pair of states and message."""
    waiting = collections.deque([(learned.initial_state, start, ())])
    seen, found = {(learned.initial_state.state_id, start)}, []
    while waiting:
        state, name, word = waiting.popleft()
        for letter in alphabet:
            awaited, following = model.answer(states, name, letter)
            answer = state.output_fun[letter]
            if answer != awaited:
                found.append((name, word + (letter,), awaited, answer))
                continue
            pair = (state.transitions[letter].state_id, following)
            if pair not in seen:
                seen.add(pair)
                waiting.append((state.transitions[letter], following, word + (letter,)))
    reached = {name for _, name in seen}
    found += [(name, (), "a state", "a state that is never reached") for name in states if name not in reached]
    return found, len(seen)


def show(learned, alphabet):
    for state in learned.states:
        print(state.state_id, " ".join(state.prefix))
        for letter in alphabet:
            if not ends(state.output_fun[letter]):
                print(f"    {letter:16} {state.output_fun[letter]:32} {state.transitions[letter].state_id}")


def learn(what, server, alphabet, tables, suffixes, verbose):
    began = time.monotonic()
    sul = Asked(server)
    learned = run_KV(list(alphabet), sul, Walks(list(alphabet), sul, suffixes), automaton_type="mealy",
                     cache_and_non_det_check=False, print_level=0)
    if verbose:
        show(learned, alphabet)
    found, pairs = differences(learned, *tables, alphabet)
    print(f"{what}: {len(learned.states)} states, {pairs} pairs with the model's {len(tables[1])}, {server.connections} connections, "
          f"{server.messages} messages, {time.monotonic() - began:.0f} s, {len(found)} differences", flush=True)
    for name, word, awaited, answer in found:
        print(f"  in {name}, after {' '.join(word)}: the model says {awaited!r}, the server {answer!r}")
    return not found


def learn_ours(site, what, verbose):
    log = Log(os.path.join(site.folder("log"), "learn-" + what))
    try:
        if what == "transport":
            return learn(what, Ours(site, log), TRANSPORT, model.transport(),
                         TRANSPORT_SUFFIXES, verbose)
        return learn(what, Ours(site, log, LOGIN), CHANNEL, model.channel(), CHANNEL_SUFFIXES, verbose)
    finally:
        log.file.close()


def learn_openssh(site, verbose):
    """What the learner finds for another server, as a check of the learner."""
    program = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))
    if not program or not site.root:
        print("openssh: skipped, there is no sshd" if site.root else "openssh: skipped, it needs root")
        return True
    folder = site.folder("sshd", 0o700)
    key = os.path.join(folder, "key")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    os.makedirs("/run/sshd", exist_ok=True)
    options = ["HostKey=" + key, "PidFile=none", "UsePAM=no", "StrictModes=no", "PasswordAuthentication=no",
               "KbdInteractiveAuthentication=no", "AuthorizedKeysFile=" + site.authorized_keys, "MaxAuthTries=100",
               "AllowTcpForwarding=no"]
    command = [program, "-i", "-e", "-q", "-f", "/dev/null"]
    for option in options:
        command += ["-o", option]
    server = OpenSSHServer(command, site.user.pw_name, site.key)
    return learn("openssh", server, OPENSSH, model.openssh(), OPENSSH_SUFFIXES, verbose)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print what is learned")
    parser.add_argument("what", nargs="*", help="transport, channel, openssh; without: all")
    arguments = parser.parse_args()
    wanted = arguments.what or ["transport", "channel", "openssh"]
    site = Site()
    try:
        same = [learn_openssh(site, arguments.show) if what == "openssh" else learn_ours(site, what, arguments.show)
                for what in wanted]
    finally:
        site.remove()
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
