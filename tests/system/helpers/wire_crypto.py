"""The primitives of the raw client: libsodium through ctypes, so that the tests need no package of their own."""

import ctypes
import ctypes.util
import os

_sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
_sodium.sodium_init()

# RFC 8032 section 5.1: the order of the base point.
ED25519_ORDER = 2**252 + 27742317777372353535851937790883648493


def chacha20(key, nonce, counter, data):
    """DJB's ChaCha20: 64-bit nonce, 64-bit block counter."""
    out = ctypes.create_string_buffer(len(data))
    _sodium.crypto_stream_chacha20_xor_ic(
        out, data, ctypes.c_ulonglong(len(data)), nonce, ctypes.c_uint64(counter), key)
    return out.raw


def poly1305(key, data):
    tag = ctypes.create_string_buffer(16)
    _sodium.crypto_onetimeauth_poly1305(tag, data, ctypes.c_ulonglong(len(data)), key)
    return tag.raw


def x25519_base(secret):
    out = ctypes.create_string_buffer(32)
    _sodium.crypto_scalarmult_base(out, secret)
    return out.raw


def x25519(secret, point):
    out = ctypes.create_string_buffer(32)
    if _sodium.crypto_scalarmult(out, secret, point) != 0:
        raise ValueError("low order point")
    return out.raw


def ed25519_verify(public, message, signature):
    return _sodium.crypto_sign_verify_detached(
        signature, message, ctypes.c_ulonglong(len(message)), public) == 0


def public_of(seed):
    """The public key that belongs to the 32 secret bytes."""
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
    _sodium.crypto_sign_seed_keypair(public, secret, seed)
    return public.raw


class Ed25519Key:
    """A user's key pair; `name` only tells keys apart in a test's own messages."""

    def __init__(self, name="key"):
        self.name = name
        public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        _sodium.crypto_sign_seed_keypair(public, secret, os.urandom(32))
        self.public, self._secret = public.raw, secret.raw

    def sign(self, message):
        signature = ctypes.create_string_buffer(64)
        _sodium.crypto_sign_detached(
            signature, None, message, ctypes.c_ulonglong(len(message)), self._secret)
        return signature.raw

    def sign_malleable(self, message):
        """The same signature with S + L in the place of S: equal modulo the order, forbidden by RFC 8032 5.1.7."""
        signature = self.sign(message)
        s = int.from_bytes(signature[32:], "little") + ED25519_ORDER
        return signature[:32] + s.to_bytes(32, "little")


class Sealer:
    """chacha20-poly1305@openssh.com, one direction: 64 key bytes, sequence number given by the caller."""

    def __init__(self, key):
        self.main, self.header = key[:32], key[32:]

    def seal(self, sequence, packet):
        nonce = sequence.to_bytes(8, "big")
        length = chacha20(self.header, nonce, 0, packet[:4])
        body = chacha20(self.main, nonce, 1, packet[4:])
        return length + body + poly1305(self._poly_key(nonce), length + body)

    def open_length(self, sequence, sealed):
        return int.from_bytes(chacha20(self.header, sequence.to_bytes(8, "big"), 0, sealed), "big")

    def open(self, sequence, sealed, tag):
        nonce = sequence.to_bytes(8, "big")
        if poly1305(self._poly_key(nonce), sealed) != tag:
            raise ValueError("the server's tag is wrong")
        return chacha20(self.main, nonce, 1, sealed[4:])

    def _poly_key(self, nonce):
        return chacha20(self.main, nonce, 0, bytes(32))
