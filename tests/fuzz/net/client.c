/* What the client says up to its login, and outside of channels. */
#include <string.h>

#include "put.h"
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

static void put_names(const char *first, bool has_first, const char *rest)
{
    size_t mark = put_string_begin();
    if (has_first) {
        put_bytes(first, strlen(first));
    }
    put_bytes(rest, strlen(rest));
    put_string_end(mark);
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
    const char *method = methods[kind & 7];
    bool strict = (kind & 8) != 0;
    put_begin(SSH_MSG_KEXINIT);
    put_fill(more, 16);
    put_names(method, true,
              strict ? ((kind & 16) != 0 ? ",ext-info-c,kex-strict-c-v00@openssh.com"
                                         : ",kex-strict-c-v00@openssh.com")
                     : ((kind & 16) != 0 ? ",ext-info-c" : ""));
    put_names("ssh-ed25519-cert-v01@openssh.com,", (kind & 64) != 0, "ssh-ed25519");
    put_text((kind & 128) != 0 && (more & 1) != 0 ? "aes128-ctr" : "x," CIPHER);
    put_text(CIPHER);
    put_text("hmac-sha2-256");
    put_text("");
    put_text((kind & 128) != 0 && (more & 2) != 0 ? "zlib" : "none,zlib");
    put_text("none");
    size_t languages = (kind & 128) != 0 ? 200 * (size_t)more : 0;
    put_u32((uint32_t)languages);
    put_fill('l', languages);
    put_text("");
    put_u8((kind & 32) != 0);
    put_u32(0);
    world.client.declared_strict = world.client.epoch > 0 ? world.client.declared_strict : strict;
    world.client.hybrid = method[0] == 's' || (kind & 7) == 7;
    put_say();
}

void client_ecdh_init(uint8_t kind)
{
    bool hybrid = world.client.hybrid != ((kind & 8) != 0);
    size_t count = hybrid ? AGREE_HYBRID_CLIENT_BYTES : AGREE_X25519_BYTES;
    count = (kind & 7) == 6 ? count - 1 : count;
    put_begin(SSH_MSG_KEX_ECDH_INIT);
    put_u32((uint32_t)count);
    put_fill((kind & 7) == 7 ? 0 : (uint8_t)(0x40 + kind), count);
    put_say();
}

void client_newkeys(void)
{
    put_begin(SSH_MSG_NEWKEYS);
    put_say();
    world.client.epoch++;
    if (world.client.declared_strict) {
        world.client.sequence = 0;
    }
}

static void put_bound_key(uint8_t kind)
{
    if ((world.config[1] & 2U) != 0 && (kind & 16) == 0) {
        put_u32(300);
        put_fill(0x63, 300);
    } else {
        put_host_key((kind & 32) != 0 ? 0x62 : 0x61);
    }
}

static void put_blob(const char *name, uint8_t kind)
{
    size_t mark = put_string_begin();
    put_text(name);
    put_u32(32);
    put_fill(0x11, 32);
    put_fill(0, (kind & 64) != 0 ? 8200 : 0);
    put_string_end(mark);
}

static void put_signature(bool security_key)
{
    const char *name = security_key ? "sk-ssh-ed25519@openssh.com" : "ssh-ed25519";
    put_u32((uint32_t)(4 + strlen(name) + 4 + 64 + (security_key ? 5 : 0)));
    put_text(name);
    put_u32(64);
    put_fill(0x22, 64);
    if (security_key) {
        put_u8(1);
        put_u32(7);
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
    put_begin(SSH_MSG_USERAUTH_REQUEST);
    put_text("alice");
    put_text(kind == 0xff ? "ssh-userauth" : "ssh-connection");
    put_text(methods[kind & 3]);
    if ((kind & 3) <= 1) {
        put_u8((kind & 4) != 0);
        put_text(key);
        put_blob(key, kind);
        if ((kind & 3) == 1) {
            put_bound_key(kind);
        }
        if ((kind & 4) != 0) {
            put_signature(key[0] == 's' && key[1] == 'k');
        }
    }
    put_say();
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
    put_begin(SSH_MSG_SERVICE_REQUEST);
    put_text("ssh-userauth");
    put_say();
    if ((kind & 32) == 0) {
        client_auth((kind & 64) != 0 ? 5 : 4);
    }
}

void client_rekey(uint8_t kind)
{
    client_kexinit((uint8_t)((kind & 1) | 8 | ((kind & 2) != 0 ? 32 + 2 : 0)), kind);
    if ((kind & 2) != 0) {
        put_begin((kind & 1) != 0 ? 34 : SSH_MSG_KEX_ECDH_INIT);
        put_fill(1, 40);
        put_say();
    }
    client_ecdh_init(kind & 0x10);
    client_newkeys();
}

/* ---- other transport messages ---------------------------------------------------------------- */

static void put_notice(uint8_t number, uint8_t argument)
{
    put_begin(number);
    switch (number) {
    case SSH_MSG_DISCONNECT:
        put_u32(argument);
        put_text("bye");
        put_text("");
        break;
    case SSH_MSG_DEBUG:
        put_u8(argument);
        put_text("a text");
        put_text("en");
        break;
    case SSH_MSG_UNIMPLEMENTED:
        put_u32(argument);
        break;
    case SSH_MSG_EXT_INFO:
        put_u32(1);
        put_text("server-sig-algs");
        put_text("x");
        break;
    case SSH_MSG_SERVICE_REQUEST:
        put_text(argument == 0 ? "ssh-userauth" : "ssh-connection");
        break;
    default: /* IGNORE, PING: a string */
        put_u32((uint32_t)argument * argument);
        put_fill(argument, (size_t)argument * argument);
    }
    put_say();
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
    put_notice(numbers[kind % sizeof(numbers)], argument);
}
