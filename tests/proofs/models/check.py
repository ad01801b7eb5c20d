#!/usr/bin/env python3
"""Checks the models with SPIN: each state that they can reach. secrecy.vp is for Verifpal. run.sh says how it is used."""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

from source import FIRST_KEX_MESSAGES, HERE, PROTECTIONS, REQUESTS, TOP, Source

WORK = TOP / "build" / "model"
STRICT = {"CLIENT_IS_STRICT": 1, "CHECKS_CLIENT": 1, "CHECKS_SERVER": 1}
OLD_CLIENT = {"CLIENT_IS_STRICT": 0, "CHECKS_CLIENT": 0, "CHECKS_SERVER": 1}
HOSTILE, OUR_OWN = {"TAKEN_OVER": 1}, {"TAKEN_OVER": 0}
X25519_FALLS, SNTRUP_FALLS = {"X25519_FALLS": 1}, {"SNTRUP_FALLS": 1}
SECRET_UP, DOWN = "confidentiality? secret_up", "authentication? Server -> Client: down"
LOGIN = "authentication? Client -> Server: login[precondition[Server -> Client: down]]"
SEEN, HOLDS = "seen", "holds"
SECONDS = 1200

# `wanted`: HOLDS, all states are as the model demands; SEEN, the model can come to its `goal`; else the one demand that
# is made, which must fail. The demands of secrecy.vp are its queries. `bug` is for Source.
Run = collections.namedtuple("Run", "name model wanted constants goal bug", defaults=({}, None, None))

RUNS = (
    Run("packets, strict client", "transport", HOLDS, STRICT),
    Run("packets to the server, client not strict", "transport", HOLDS, OLD_CLIENT),
    Run("all packets can arrive", "transport", SEEN, STRICT, "REACHES_END"),
    Run("logins", "login", HOLDS),
    Run("logins, one connection for each user", "login", HOLDS, {"MOST_LOGINS": 1}),
    Run("a login can succeed", "login", SEEN, {}, "REACHES_LOGIN"),
    Run("all processes end, network process hostile", "processes", HOLDS, HOSTILE),
    Run("all processes end, network process ours", "processes", HOLDS, OUR_OWN),
    Run("a session can start", "processes", SEEN, OUR_OWN, "REACHES_SESSION"),
    Run("X25519 is broken", "secrecy", HOLDS, X25519_FALLS),
    Run("sntrup761 is broken", "secrecy", HOLDS, SNTRUP_FALLS),
    Run("X25519 alone, not broken", "secrecy", HOLDS, {"SECRET_HAS_KEM": 0}),
    Run("both are broken: input is known", "secrecy", SEEN, {**X25519_FALLS, **SNTRUP_FALLS}, SECRET_UP),
)

LOST = "NONE_IS_MISSING"
TABLE = "src/ipc/ipc.h"
SELF_CHECKS = (
    Run("no strict key exchange: Terrapin", "transport", LOST, STRICT, None,
        (*PROTECTIONS["OFFERS_STRICT_KEX"], "", PROTECTIONS["STRICT_IF_OFFERED"][1], "")),
    Run("a client without it: Terrapin", "transport", LOST, {**OLD_CLIENT, "CHECKS_CLIENT": 1}),
    Run("IGNORE in the first key exchange", "transport", LOST, OLD_CLIENT, None,
        ("src/net/dispatch.c", "{SSH_MSG_IGNORE, BETWEEN_KEX", "{SSH_MSG_IGNORE, FIRST_KEX | BETWEEN_KEX")),
    Run("H without both KEXINITs: downgrade", "transport", "SAME_OFFERS", STRICT, None,
        (*PROTECTIONS["HASH_HAS_KEXINITS"], "")),
    Run("data in a key exchange", "transport", "HELD_BACK", STRICT, None,
        (*PROTECTIONS["HOLDS_BACK"], "return !of_key_exchange")),
    Run("numbers that go on after NEWKEYS", "transport", HOLDS, STRICT, "REACHES_END",
        (*PROTECTIONS["RESETS_IN"], "")),
    Run("numbers of our packets that go on", "transport", HOLDS, STRICT, "REACHES_END",
        (*PROTECTIONS["RESETS_OUT"], "")),
    Run("no cookie of this connection: two logins by one signature", "login", "SIGNED_FOR_ONE", {}, None,
        (*PROTECTIONS["CHECKS_COOKIE"], "if (false) {")),
    Run("no cookie of this connection: replay", "login", "SIGNED_NOW", {}, None, (*PROTECTIONS["CHECKS_COOKIE"], "if (false) {")),
    Run("session identifier of a later exchange: replay", "login", "SIGNED_NOW", {}, None,
        (*PROTECTIONS["KEEPS_FIRST_HASH"], "if (true) {")),
    Run("signature without session identifier", "login", "SIGNED_NOW", {}, None, (*PROTECTIONS["SIGNED_HAS_SESSION_ID"], "")),
    Run("H without K_S: a login elsewhere", "login", "SIGNED_FOR_US", {}, None, (*PROTECTIONS["HASH_HAS_HOSTKEY"], "")),
    Run("signature not verified", "login", "SIGNED", {}, None, (*PROTECTIONS["VERIFIES_SIGNATURE"], "false")),
    Run("SIGN before START", "login", "IN_ORDER", {}, None,
        (TABLE, "sign_tail_bytes, MONITOR_SERVING", "sign_tail_bytes, MONITOR_NOT_OVER")),
    Run("AUTH after the login", "login", "LOGS_IN_ONCE", {}, None,
        (TABLE, "auth_tail_bytes, MONITOR_BEFORE_LOGIN", "auth_tail_bytes, MONITOR_SERVING")),
    Run("AUTH before the first SIGN", "login", "IN_ORDER", {}, None,
        (*PROTECTIONS["WANTS_SESSION_ID"], "if (false) {")),
    Run("AUTH after the last attempt", "login", "IN_FEW_ATTEMPTS", {}, None,
        (*PROTECTIONS["COUNTS_ATTEMPTS"], "if (false) {")),
    Run("a login beyond the user's limit", "login", "WITHIN_LIMIT", {"MOST_LOGINS": 1}, None,
        (*PROTECTIONS["COUNTS_LOGIN"], "request->stage == IPC_AUTH_SIGNED;")),
    Run("PROVE before the login", "login", "PROVES_LATE", {}, None,
        (TABLE, "prove, NULL, MONITOR_AFTER_LOGIN", "prove, NULL, MONITOR_SERVING")),
    Run("slot kept after the login", "processes", "SLOT_IS_FREE", OUR_OWN, None,
        (*PROTECTIONS["GIVES_BACK_SLOT"], "")),
    Run("login without a record", "processes", "LOGIN_COUNTS", OUR_OWN, None,
        (*PROTECTIONS["COUNTS_LOGIN"], "request->stage == IPC_AUTH_SIGNED;")),
    *(Run(name, "processes", "ALL_END", HOSTILE, None, (*PROTECTIONS[protection], ""))
      for name, protection in (("no login deadline", "LOOKS_AT_DEADLINE"),
                               ("a client's end that is not seen", "WATCHES_CONNECTION"),
                               ("a monitor that waits until replies are read", "NEVER_WAITS"),
                               ("a child that reads keys for ever", "READER_HAS_DEADLINE"),
                               ("a network process without its monitor", "NETWORK_ENDS_WITH_MONITOR"),
                               ("a session process without its monitor", "SESSION_ENDS_WITH_MONITOR"))),
    Run("K without sntrup761's secret", "secrecy", SECRET_UP, X25519_FALLS, None, (*PROTECTIONS["SECRET_HAS_KEM"], "")),
    Run("K without X25519's secret", "secrecy", SECRET_UP, SNTRUP_FALLS, None,
        (*PROTECTIONS["SECRET_HAS_X25519"], "crypto_hash_sha512(secret, both, SNTRUP761_SECRET_BYTES);")),
    Run("H without Q_S and K: a man in the middle", "secrecy", SECRET_UP, {}, None,
        (*PROTECTIONS["HASH_HAS_SERVER_PUBLIC"], "", PROTECTIONS["HASH_HAS_SECRET"][1], "")),
    Run("H without K_S and K: a login elsewhere", "secrecy", LOGIN, {}, None,
        (*PROTECTIONS["HASH_HAS_HOSTKEY"], "", PROTECTIONS["HASH_HAS_SECRET"][1], "")),
    Run("one letter for both keys: reflection", "secrecy", DOWN, {}, None,
        (*PROTECTIONS["TWO_LETTERS"], "derive_key(kex, &exchange, 'C', exchange.server_key);")),
    Run("signature without session identifier", "secrecy", LOGIN, {}, None, (*PROTECTIONS["SIGNED_HAS_SESSION_ID"], "")),
    Run("signature not verified", "secrecy", LOGIN, {}, None, (*PROTECTIONS["VERIFIES_SIGNATURE"], "false")),
)


def program(run, folder, deep):
    """Writes and builds SPIN's checker."""
    source = Source(run.bug)
    text = source.read(f"{HERE.relative_to(TOP)}/{run.model}.pml")
    constants = dict.fromkeys(re.findall(r"\breached\((REACHES_\w+)\)", text), 0)
    constants |= dict.fromkeys(re.findall(r"\bmust\((\w+),", text), int(run.wanted == HOLDS))
    if run.goal or run.wanted in constants:
        constants[run.goal or run.wanted] = 1
    constants |= {**run.constants, **(deep if run in RUNS else {})}
    front = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    front += "#define must(demand, condition) assert(!(demand) || (condition))\n"
    front += "#define reached(goal) if :: goal -> assert(false) :: else fi\n"
    with open(f"{folder}/model.pml", "w", encoding="utf-8") as file:
        file.write(source.promela() + front + text)
    subprocess.run(["spin", "-a", "model.pml"], cwd=folder, check=True, stdout=subprocess.PIPE)
    # The breadth-first search finds the shortest story.
    options = ["-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=4096", "-DMEMLIM=8000", *(["-DBFS"] if run in SELF_CHECKS else [])]
    subprocess.run(["gcc", "-O1", "-w", *options, "-o", "pan", "pan.c"], cwd=folder, check=True)


def verdict(output):
    """HOLDS, "fails" or what else SPIN says; None: it has not looked at all states."""
    found = re.search(r"^pan:1: (.*?) \(at depth", output, re.M)
    if found:
        return "fails" if found[1].startswith("assertion") else found[1]
    whole = "errors: 0" in output and "Search not completed" not in output and "max search depth too small" not in output
    return HOLDS if whole else None


def story(folder, source):
    """What happens on the way to what SPIN has found."""
    names = {str(number): name for name, (number, _) in source.messages().items()}
    told = subprocess.run(["spin", "-t", "-T", "model.pml"], cwd=folder, capture_output=True, text=True).stdout
    return [re.sub(r"message (\d+)", lambda number: names.get(number[1], number[1]), line)
            for line in re.findall(r"@ (.*)", told)]


def search(run, folder):
    """As check(), with Verifpal."""
    source = Source(run.bug)
    constants = {**source.protections(), **run.constants}
    text = "".join(f"#define {name} {value}\n" for name, value in constants.items()) + source.read("tests/proofs/models/secrecy.vp")
    if run.wanted != HOLDS:
        text = f"{text.partition('queries[')[0]}queries[\n{run.goal or run.wanted}\n]\n"
    with open(f"{folder}/secrecy.vp", "w", encoding="utf-8") as file:
        subprocess.run(["gcc", "-E", "-P", "-undef", "-x", "c", "-"], input=text, stdout=file, text=True, check=True)
    command = ["timeout", str(SECONDS), os.environ["WREN_VERIFPAL"], "verify", "secrecy.vp", "--sessions", "1"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    queries = re.findall(r"\w+\? ", text.partition("queries[")[2])
    # One line for each query in the end, and before that one for each attack as it is found.
    verdicts = re.findall(r"^ *(PASS \+|FAIL x) \w+\? (?!.*\(Analysis \d+\)$)(.*)", done.stdout, re.M)
    if done.returncode != 0 or len(verdicts) != len(queries):
        return f"Verifpal ends with status {done.returncode}", 0, done.stdout.splitlines()[-5:]
    failed = any(verdict == "FAIL x" for verdict, _ in verdicts)
    whole = all("[search exhausted" in words for _, words in verdicts)
    return "fails" if failed else HOLDS if whole else None, 0, re.findall(r"^ +[|>] (.*)", done.stdout, re.M)


def check(run, deep):
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        if run.model == "secrecy":
            return search(run, folder)
        program(run, folder, deep)
        # processes.pml says itself where nobody may be stuck.
        command = ["timeout", str(SECONDS), "./pan", "-m400000", *(["-E"] if run.model == "processes" else [])]
        output = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout
        found = verdict(output)
        states = re.search(r"(\S+) states, stored", output)
        return found, int(float(states[1])) if states else 0, story(folder, Source(run.bug)) if found != HOLDS else []


def report(run, result, show):
    found, states, lines = result
    good = found == (HOLDS if run.wanted == HOLDS else "fails")
    if run.goal:
        words = {HOLDS: "no way there", "fails": "there is a way"}
    else:
        words = {HOLDS: "holds", "fails": run.wanted.partition("[")[0] + " fails" if run.wanted != HOLDS else "a demand fails"}
    searched = f", {states} states" if states else ""
    print(f"{'ok   ' if good else 'WRONG'} {run.name:48} {words.get(found, found or 'not all is searched')}{searched}")
    if show or not good:
        print("".join(f"          {line}\n" for line in lines), end="")
    sys.stdout.flush()
    return good


def changed(source):
    """How often the source has something that the models do not know."""
    wrong = [f"{PROTECTIONS[name][0]} lacks, or has more than once, what the models call {name}:\n      {PROTECTIONS[name][1]}\n"
             "      If only its words have changed, change them in tests/proofs/models/source.py, too."
             for name, there in source.protections().items() if not there]
    wrong += [f"the models do not know the request {name}" for name in source.requests().keys() ^ REQUESTS]
    wrong += [f"transport.pml does not know {name} in the first key exchange" for name in source.first_kex_messages() - FIRST_KEX_MESSAGES]
    for words in wrong:
        print("WRONG", words)
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("models", nargs="*", default=["transport", "login", "processes"])
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    deep = {"MOST_ACTS": 3, "MOST_REQUESTS": 4} if arguments.deep else {}
    runs = [run for run in (SELF_CHECKS if arguments.self_check else RUNS) if run.model in arguments.models]
    unknown = set(arguments.models) - {run.model for run in RUNS}
    if unknown:
        sys.exit(f"model: there is no model {' '.join(sorted(unknown))}")
    passed, failed = 0, 0 if arguments.self_check else changed(Source())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for run, result in zip(runs, pool.map(lambda run: check(run, deep), runs)):
            good = report(run, result, arguments.show)
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} {'planted bugs found' if arguments.self_check else 'hold'}, {failed} not")
    if os.environ.get("WREN_COUNTS"):
        with open(os.environ["WREN_COUNTS"], "w", encoding="utf-8") as file:
            json.dump({"passed": passed, "failed": failed, "skipped": 0}, file)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
