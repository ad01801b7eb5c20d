#!/usr/bin/env python3
"""Learns the state machine of a running server from outside, and compares it with the one in model.py.

    learn.py [--show] [--deep] [transport|channel|openssh]...

AALpy asks; the server answers through the tests' own client. What is learned is printed as a table with --show; each
difference is printed as the shortest messages that show it, with both answers. Ends with 1 if there is one.
"""

import argparse
import collections
import itertools
import os
import random
import shutil
import subprocess
import sys
import time

import model
from servers import Ours, OpenSSHServer, Unclear, ends  # it sets the path of the modules below
from aalpy.automata import MealyMachine
from aalpy.base import SUL, Oracle
from aalpy.learning_algs import run_KV
from daemon import Log
from site_setup import Site

LOGIN = ("VERSION", "KEXINIT", "ECDH_INIT", "NEWKEYS", "SERVICE_REQUEST", "AUTH_SIGNED")
# Each row of the table in src/net/dispatch.c has its message here.
TRANSPORT = ("VERSION", "KEXINIT", "KEXINIT_GUESS", "KEXINIT_ALIEN", "ECDH_INIT", "ECDH_ZERO", "NEWKEYS", "SERVICE_REQUEST",
             "SERVICE_OTHER", "EXT_INFO", "AUTH_NONE", "AUTH_PROBE", "AUTH_SIGNED", "AUTH_FORGED", "AUTH_OTHER", "IGNORE",
             "DEBUG", "UNIMPLEMENTED", "UNKNOWN", "UNKNOWN_KEX", "PING", "GLOBAL_REQUEST", "OPEN_FORWARDING", "EXEC", "DATA",
             "EXTENDED", "ADJUST", "EOF", "CLOSE", "REQUEST_SUCCESS", "REQUEST_FAILURE", "CHANNEL_SUCCESS",
             "CHANNEL_FAILURE", "SERVICE_ACCEPT", "ECDH_REPLY", "USERAUTH_FAILURE", "USERAUTH_SUCCESS", "USERAUTH_BANNER",
             "PK_OK", "OPEN_CONFIRMATION", "OPEN_FAILURE", "PONG", "DISCONNECT")
CHANNEL = ("OPEN", "EXEC", "ENV", "REQUEST", "DATA", "EXTENDED", "ADJUST", "EOF", "CLOSE", "CHANNEL_SUCCESS", "PING",
           "GLOBAL_REQUEST", "AUTH_SIGNED", "KEXINIT", "ECDH_INIT", "NEWKEYS", "IGNORE", "UNKNOWN", "DISCONNECT")
OPENSSH = ("KEXINIT", "ECDH_INIT", "NEWKEYS", "SERVICE_REQUEST", "AUTH_NONE", "AUTH_PROBE", "OPEN_FORWARDING",
            "IGNORE", "UNKNOWN", "USERAUTH_SUCCESS", "DISCONNECT")
SHOWN_DIFFERENCES = 6
SKIPPED = 77
MACHINES = ("transport", "channel", "openssh")


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


class Words(Oracle):
    """Looks for a word that the hypothesis gets wrong. First the way to each state, then each message, then each of a few
    words that tell states apart: this finds each difference of a server that has no more states than the hypothesis or
    the model (the W method). A server with more states is looked for with each two messages in each state, and with walks
    that never end the connection, the same ones in each run. `deep` has the words that tell states apart follow each two
    messages: this finds each difference of a server that has one state more."""

    def __init__(self, alphabet, sul, telling, deep, walks=100, length=14):
        super().__init__(alphabet, sul)
        self.telling, self.deep, self.walks, self.length = telling, deep, walks, length

    def find_cex(self, hypothesis):
        hypothesis.compute_prefixes()
        telling = [*self.telling, *tell_apart(hypothesis)]
        steps = [self.near(hypothesis, 1, telling), self.paths(hypothesis), self.near(hypothesis, 2, [()])]
        if self.deep:
            steps.append(self.near(hypothesis, 2, telling))
        for word, answers in self.sul.server.query_all(itertools.chain.from_iterable(steps)):
            for i, (answer, guess) in enumerate(zip(answers, outputs(hypothesis, word)), 1):
                if answer != guess:
                    return word[:i]  # the algorithm takes no longer one
        return None

    def find_near(self, machine):
        """The shortest of the words near the machine's states that it gets wrong, each once. This finds in seconds what
        most broken servers do, before anything is learned."""
        for messages, telling in ((0, [(letter,) for letter in self.alphabet]), (1, self.telling)):
            found = {}
            for word, answers in self.sul.server.query_all(self.near(machine, messages, telling)):
                for i, (answer, right) in enumerate(zip(answers, outputs(machine, word)), 1):
                    if answer != right:
                        found.setdefault(word[:i], None)
                        break
            if found:
                return [(state_after(machine, word[:-1]).state_id, word) for word in sorted(found, key=len)]
        return []

    def near(self, hypothesis, messages, telling):
        for state in hypothesis.states:
            for middle in itertools.product(self.alphabet, repeat=messages):
                for end in telling:
                    yield state.prefix + middle + end

    def paths(self, hypothesis):
        chance = random.Random(1)
        for _ in range(self.walks):
            word, state = [], hypothesis.initial_state
            while len(word) < self.length:
                living = [letter for letter in self.alphabet if not ends(state.output_fun[letter])]
                if not living:
                    break
                word.append(chance.choice(living))
                state = state.transitions[word[-1]]
            yield (*word, chance.choice(self.alphabet))


def tell_apart(machine):
    """A few words, of which each two states answer at least one otherwise."""
    if len(machine.states) == 1:
        return [()]
    return [tuple(word) for word in machine.compute_characterization_set(raise_warning=False)]


def outputs(machine, word):
    return [state_after(machine, word[:i]).output_fun[letter] for i, letter in enumerate(word)]


def state_after(machine, word):
    state = machine.initial_state
    for letter in word:
        state = state.transitions[letter]
    return state


def machine_of(start, states, alphabet):
    """The table as one of AALpy's machines."""
    return MealyMachine.from_state_setup({name: {letter: model.answer(states, name, letter) for letter in alphabet}
                                          for name in sorted(states, key=lambda name: name != start)})


def differences(learned, awaited, alphabet):
    """The shortest words on which the two machines differ, at most one for each pair of states and message: the model's
    state and the word."""
    waiting = collections.deque([(learned.initial_state, awaited.initial_state, ())])
    seen, found = {(learned.initial_state, awaited.initial_state)}, []
    while waiting:
        state, like, word = waiting.popleft()
        for letter in alphabet:
            if state.output_fun[letter] != like.output_fun[letter]:
                found.append((like.state_id, word + (letter,)))
                continue
            pair = (state.transitions[letter], like.transitions[letter])
            if pair not in seen:
                seen.add(pair)
                waiting.append((*pair, word + (letter,)))
    return found


def show_differences(server, awaited, found):
    """Both answers to each; the server's is asked for, not taken from the hypothesis."""
    for name, word in found[:SHOWN_DIFFERENCES]:
        answers = server.query(word)
        print(f"  In the model's state {name} the answer to {word[-1]} differs. The shortest messages that show it:")
        for letter, answer in zip(word[:-1], answers):
            print(f"    {letter:18}{answer}")
        print(f"    {word[-1]:18}the model says {outputs(awaited, word)[-1]!r}, the server says {answers[-1]!r}")
    if len(found) > SHOWN_DIFFERENCES:
        print(f"  and {len(found) - SHOWN_DIFFERENCES} more")


def show(learned, alphabet):
    for state in learned.states:
        print(state.state_id, " ".join(state.prefix))
        for letter in alphabet:
            if not ends(state.output_fun[letter]):
                print(f"    {letter:18}{state.output_fun[letter]:32} {state.transitions[letter].state_id}")


def learn(what, server, alphabet, table, options):
    began = time.monotonic()
    sul, awaited = Asked(server), machine_of(*table, alphabet)
    oracle = Words(list(alphabet), sul, tell_apart(awaited), options.deep)
    try:
        wrong = None if options.show else oracle.find_near(awaited)
        if wrong:
            print(f"{what}: the server is not the model; {server.connections} connections, {server.messages} messages sent, "
                  f"{time.monotonic() - began:.0f} s", flush=True)
            show_differences(server, awaited, wrong)
            return False
        # A broken server may have many states. Far beyond the model's it makes no sense to go on.
        learned = run_KV(list(alphabet), sul, oracle, automaton_type="mealy", max_learning_rounds=2 * awaited.size,
                         cache_and_non_det_check=False, print_level=0)
        found = differences(learned, awaited, alphabet)
        if options.show:
            show(learned, alphabet)
        print(f"{what}: {learned.size} states, the model has {awaited.size}; {len(alphabet)} messages; "
              f"{server.connections} connections, {server.messages} messages sent, {time.monotonic() - began:.0f} s; "
              f"{len(found)} differences", flush=True)
        show_differences(server, awaited, found)
    except Unclear as problem:
        print(f"{what}: no state machine, after {time.monotonic() - began:.0f} s: {problem}", flush=True)
        return False
    finally:
        server.end()
    return not found and learned.size == awaited.size


def learn_ours(site, what, options):
    log = Log(os.path.join(site.folder("log"), "learn-" + what))
    try:
        if what == "transport":
            return learn(what, Ours(site, log), TRANSPORT, model.transport(), options)
        return learn(what, Ours(site, log, LOGIN), CHANNEL, model.channel(), options)
    finally:
        log.file.close()


def learn_openssh(site, options):
    """What the learner finds for another server, as a check of the learner; None if that server is not here."""
    program = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))
    if not program or not site.root:
        print("openssh: skipped, there is no sshd" if site.root else "openssh: skipped, it needs root")
        return None
    folder = site.folder("sshd", 0o700)
    key = os.path.join(folder, "key")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    os.makedirs("/run/sshd", exist_ok=True)
    settings = ["HostKey=" + key, "PidFile=none", "UsePAM=no", "StrictModes=no", "PasswordAuthentication=no",
                "KbdInteractiveAuthentication=no", "AuthorizedKeysFile=" + site.authorized_keys, "MaxAuthTries=100",
                "AllowTcpForwarding=no"]
    command = [program, "-i", "-e", "-q", "-f", "/dev/null"]
    for setting in settings:
        command += ["-o", setting]
    server = OpenSSHServer(command, site.user.pw_name, site.key)
    return learn("openssh", server, OPENSSH, model.openssh(), options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deep", action="store_true", help="find any one state more, with three times as many connections")
    parser.add_argument("--show", action="store_true", help="print what is learned")
    parser.add_argument("what", nargs="*", help="transport, channel, openssh; without: all")
    arguments = parser.parse_args()
    wanted = arguments.what or MACHINES
    if not set(wanted) <= set(MACHINES):
        parser.error(f"there are only {', '.join(MACHINES)}")
    site = Site()
    try:
        same = [learn_openssh(site, arguments) if what == "openssh" else learn_ours(site, what, arguments)
                for what in wanted]
    finally:
        site.remove()
    if same == [None]:
        sys.exit(SKIPPED)
    sys.exit(1 if False in same else 0)


if __name__ == "__main__":
    main()
