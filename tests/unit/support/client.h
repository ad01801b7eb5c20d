/*
 * A client's half of the key exchange: its KEXINIT, Q_C, and its own computation of K and of the
 * keys, with nothing of ours in it but sntrup761_encapsulate() and the test's random source.
 */
#ifndef WREN_UNIT_CLIENT_H
#define WREN_UNIT_CLIENT_H

#include "rig.h"
#include "ssh_client.h"

#define CURVE25519 "curve25519-sha256"
#define HYBRID     "sntrup761x25519-sha512"
#define CIPHER     "chacha20-poly1305@openssh.com"

/* The name-lists of a KEXINIT; NULL stands for the stock client's choice. */
struct offer {
    const char *methods, *host_keys, *ciphers_up, *ciphers_down, *macs_up, *macs_down;
    const char *compression_up, *compression_down, *language_up, *language_down;
    bool packet_follows;
    uint32_t reserved;
};

/* The whole message I_C, its number first. */
size_t offer_pack(uint8_t out[static WIRE_ROOM], const struct offer *offer);

struct client {
    size_t i_c_bytes, i_s_bytes, q_c_bytes, q_s_bytes;
    uint8_t i_c[WIRE_ROOM], i_s[WIRE_ROOM];
    uint8_t secret[32], q_c[1190], q_s[1071];
    struct secrets secrets;
    uint8_t key_up[64], key_down[64]; /* letters C and D */
};

#define CLIENT_VERSION "SSH-2.0-unit_test"

/* Makes randombytes_buf() give bytes that the test can tell afterwards; to be called before
 * rig_open(). */
void client_know_random(void);

/* Sets V_C and a host key. */
void client_open(struct rig *rig, struct client *client);

/* Says this KEXINIT and keeps it as I_C, and keeps the server's, which it hears, as I_S. */
void client_kexinit(struct rig *rig, struct client *client, const struct offer *offer);
void client_hear_kexinit(struct rig *rig, struct client *client);
void client_say_kexinit(struct rig *rig, struct client *client, const struct offer *offer);

/* ECDH_INIT with a fresh Q_C; REPLY and NEWKEYS are checked against H as the client computes it,
 * and against the monitor's request. Afterwards the server's direction has its new key. */
void client_exchange(struct rig *rig, struct client *client, bool hybrid);

/* The client's NEWKEYS. */
void client_newkeys(struct rig *rig, struct client *client, bool strict);

/* All of it. */
void client_whole_exchange(struct rig *rig, struct client *client, const struct offer *offer,
                           bool hybrid);

#endif
