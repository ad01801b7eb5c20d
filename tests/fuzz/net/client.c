/* What the client says up to its login, and outside of channels. */
#include <stdio.h>
#include <string.h>

#include "world.h"

/* ---- key exchange and login ------------------------------------------------------------------ */

void client_identify(uint8_t kind)
{
    static const char *const lines[] = {
        "SSH-2.0-OpenSSH_9.2\r\n",
        "SSH-2.0-other\n",
        "SSH-1.99-old\r\n",
        "SSH-1.5-older\r\n",
        "GET / HTTP/1.0\r\n",
        "SSH-2.0-no line ending",
        "SSH-2.0-OpenSSHx comment here\r\n",
    };
    const size_t count = sizeof(lines) / sizeof(lines[0]);
    if (kind % (count + 2) < count) {
        client_raw(lines[kind % (count + 2)], strlen(lines[kind % (count + 2)]));
    } else if (kind % (count + 2) == count) {
        client_raw("SSH-2.0-a\0b\r\n", 13);
    } else {
        char line[300];
        memset(line, 'x', sizeof(line));
        memcpy(line, "SSH-2.0-", 8);
        memcpy(line + kind % 8 + 250, "\r\n", 2);
        client_raw(line, 256 + (size_t)kind % 8);
    }
}

#define CIPHER "chacha20-poly1305@openssh.com"

/* `kind`: 3 bits for the methods, strict key exchange, EXT_INFO, a guess, a certificate first, an
 * unusable list. `more`: the length of an unknown list. */
void client_kexinit(uint8_t kind, uint8_t more)
{
    static const char *const methods[] = {
        "sntrup761x25519-sha512",
        "curve25519-sha256",
        "sntrup761x25519-sha512@openssh.com",
        "unknown,curve25519-sha256@libssh.org",
        "curve25519-sha256,sntrup761x25519-sha512",
        "unknown",
        "curve25519-sha256,,",
        "unknown,sntrup761x25519-sha512",
    };
    char offered[128];
    const char *method = methods[kind & 7];
    bool strict = (kind & 8) != 0, odd = (kind & 128) != 0;
    snprintf(offered, sizeof(offered), "%s%s%s", method, (kind & 16) != 0 ? ",ext-info-c" : "",
             strict ? ",kex-strict-c-v00@openssh.com" : "");
    say("bfssssssss(f)sbu", SSH_MSG_KEXINIT, more, (size_t)16, offered,
        (kind & 64) != 0 ? "ssh-ed25519-cert-v01@openssh.com,ssh-ed25519" : "ssh-ed25519",
        odd && (more & 1) != 0 ? "aes128-ctr" : "x," CIPHER, CIPHER, "hmac-sha2-256", "",
        odd && (more & 2) != 0 ? "zlib" : "none,zlib", "none", 'l', odd ? 200 * (size_t)more : 0,
        "", (kind & 32) != 0, 0);
    world.client.declared_strict = world.client.epoch > 0 ? world.client.declared_strict : strict;
    world.client.hybrid = method[0] == 's' || (kind & 7) == 7;
}

void client_ecdh_init(uint8_t kind)
{
    bool hybrid = world.client.hybrid != ((kind & 8) != 0);
    size_t count = hybrid ? AGREE_HYBRID_CLIENT_BYTES : AGREE_X25519_BYTES;
    count = (kind & 7) == 6 ? count - 1 : count;
    say("b(f)", SSH_MSG_KEX_ECDH_INIT, (kind & 7) == 7 ? 0 : 0x40 + kind, count);
}

void client_newkeys(void)
{
    say("b", SSH_MSG_NEWKEYS);
    world.client.epoch++;
    if (world.client.declared_strict) {
        world.client.sequence = 0;
    }
}

static void say_bound_key(uint8_t kind)
{
    if ((world.config[1] & 2U) != 0 && (kind & 16) == 0) {
        fields_put(&saying, "(f)", 0x63, (size_t)300);
    } else {
        say_host_key((kind & 32) != 0 ? 0x62 : 0x61);
    }
}

static void say_signature(bool security_key)
{
    if (security_key) {
        fields_put(&saying, "(s(f)bu)", "sk-ssh-ed25519@openssh.com", 0x22, (size_t)64, 1, 7);
    } else {
        fields_put(&saying, "(s(f))", "ssh-ed25519", 0x22, (size_t)64);
    }
}

/* `kind`: 2 bits for the method, whether it is signed, whether the key is odd, how it is bound, a
 * long key, another service. */
void client_auth(uint8_t kind)
{
    static const char *const keys[] = {"ssh-ed25519", "sk-ssh-ed25519@openssh.com",
                                       "ssh-ed25519-cert-v01@openssh.com", "ssh-rsa"};
    static const char *const methods[] = {"publickey", "publickey-hostbound-v00@openssh.com",
                                          "none", "password"};
    const char *key = keys[(kind & 8) != 0 ? 1 + kind / 16 % 3 : 0];
    say_begin(SSH_MSG_USERAUTH_REQUEST);
    fields_put(&saying, "sss", "alice", kind == 0xff ? "ssh-userauth" : "ssh-connection",
               methods[kind & 3]);
    if ((kind & 3) <= 1) {
        fields_put(&saying, "bs(s(f)f)", (kind & 4) != 0, key, key, 0x11, (size_t)32, 0,
                   (size_t)((kind & 64) != 0 ? 8200 : 0));
        if ((kind & 3) == 1) {
            say_bound_key(kind);
        }
        if ((kind & 4) != 0) {
            say_signature(key[0] == 's' && key[1] == 'k');
        }
    }
    say_end();
}

/* All that leads to a login, in one burst: no round trip is needed, as the keys are known. */
void client_log_in(uint8_t kind)
{
    client_identify((kind & 16) != 0 ? 1 : 0);
    client_kexinit((uint8_t)((kind & 1) | ((kind & 2) != 0 ? 0 : 8) | ((kind & 4) != 0 ? 16 : 0) |
                             ((kind & 8) != 0 ? 64 : 0)),
                   0);
    client_ecdh_init(0);
    client_newkeys();
    say("bs", SSH_MSG_SERVICE_REQUEST, "ssh-userauth");
    if ((kind & 32) == 0) {
        client_auth((kind & 64) != 0 ? 5 : 4);
    }
}

void client_rekey(uint8_t kind)
{
    client_kexinit((uint8_t)((kind & 1) | 8 | ((kind & 2) != 0 ? 32 + 2 : 0)), kind);
    if ((kind & 2) != 0) {
        say("bf", (kind & 1) != 0 ? 34 : SSH_MSG_KEX_ECDH_INIT, 1, (size_t)40);
    }
    client_ecdh_init(kind & 0x10);
    client_newkeys();
}

/* ---- other transport messages ---------------------------------------------------------------- */

static void say_notice(uint8_t number, uint8_t argument)
{
    switch (number) {
    case SSH_MSG_DISCONNECT:
        say("buss", number, argument, "bye", "");
        break;
    case SSH_MSG_DEBUG:
        say("bbss", number, argument, "a text", "en");
        break;
    case SSH_MSG_UNIMPLEMENTED:
        say("bu", number, argument);
        break;
    case SSH_MSG_EXT_INFO:
        say("buss", number, 1, "server-sig-algs", "x");
        break;
    case SSH_MSG_SERVICE_REQUEST:
        say("bs", number, argument == 0 ? "ssh-userauth" : "ssh-connection");
        break;
    default: /* IGNORE, PING: a string */
        say("b(f)", number, argument, (size_t)argument * argument);
    }
}

void client_transport(uint8_t kind, uint8_t argument)
{
    static const uint8_t numbers[] = {SSH_MSG_SERVICE_REQUEST,
                                      SSH_MSG_IGNORE,
                                      SSH_MSG_DEBUG,
                                      SSH_MSG_UNIMPLEMENTED,
                                      SSH_MSG_PING,
                                      SSH_MSG_EXT_INFO,
                                      SSH_MSG_DISCONNECT,
                                      150};
    say_notice(numbers[kind % sizeof(numbers)], argument);
}
