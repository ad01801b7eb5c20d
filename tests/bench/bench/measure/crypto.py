"""The primitives, against other libraries': see tests/bench/crypto/. They are opened at run time, in the peers' world,
so that what TinySSH links with there is measured as it is there.

What works on data is also measured as on a processor without AVX-512, if this one has AVX2 at least: OpenSSL and we can
be told to do without, and libsodium has nothing for it."""

import os

# The libraries have no SSH packets: theirs is RFC 8439's ChaCha20-Poly1305, one block of ChaCha20 less.
TITLES = {"seal": "seal a packet of {} B (the others: without its encrypted length)",
          "open": "open a packet of {} B (the others: without its encrypted length)",
          "both": "seal and open a packet of {} B in place (the others: without its encrypted length)",
          "chacha20": "ChaCha20 of {} B", "poly1305": "Poly1305 of {} B", "encapsulate": "sntrup761 encapsulation",
          "x25519": "X25519, shared secret", "sign": "Ed25519, sign", "verify": "Ed25519, verify"}
LIBRARIES = {"openssl": "OpenSSL's libcrypto", "libsodium": "libsodium", "libntruprime": "libntruprime",
             "lib25519": "lib25519"}


def add_line(results, line):
    row, size, library, nanoseconds = line.split()
    key = f"crypto.{row}" + (f".{size}" if size != "0" else "")
    results.add((key, TITLES[row].format(size), "µs"), library, float(nanoseconds) / 1e3)


def add_line_of_avx2(results, line):
    row, size, library, nanoseconds = line.split()
    if size != "0":
        results.add((f"crypto.avx2.{row}.{size}", "AVX2 only: " + TITLES[row].format(size), "µs"), library,
                    float(nanoseconds) / 1e3)


def measure(bench):
    bench.progress("crypto")
    program = bench.world.install(os.path.join(bench.helpers, "crypto_bench"), "tools")
    lines = bench.world.run([program, str(bench.plan.crypto)], seconds=300).decode().splitlines()
    for line in lines:
        add_line(bench.results, line)
    bench.progress("crypto, AVX2 only")
    avx2 = bench.world.run([program, "--level", "avx2", str(bench.plan.crypto)], seconds=300).decode()
    for line in avx2.splitlines():
        add_line_of_avx2(bench.results, line)
    found = {line.split()[2] for line in lines}
    bench.results.titles.update({name: title for name, title in LIBRARIES.items() if name in found})
    for name, title in LIBRARIES.items():
        if name not in found:
            bench.results.note(f"{title} is not installed, so not compared with")
