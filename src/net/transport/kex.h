/*
 * The key exchange, the first one and later ones: in kexinit.c KEXINIT, what we offer and the
 * choice between both offers (RFC 4253 section 7.1); in kex.c the messages from KEX_ECDH_INIT to
 * NEWKEYS (RFC 5656 section 4), with the methods of RFC 8731 and draft-josefsson-ntruprime-ssh.
 */
#ifndef WREN_KEX_H
#define WREN_KEX_H

#include "connection.h"
#include "reader.h"

/* Sends our KEXINIT and keeps it as I_S. From now on until our NEWKEYS, message_send() holds other
 * messages back. */
void kexinit_send(struct connection *connection);

/* Handler: keeps I_C, sends our KEXINIT if we have not yet, and chooses the method. */
enum ssh_phase kexinit_on_kexinit(struct connection *connection, struct reader *message);

/* Makes our X25519 pair for the next exchange. Called while we wait for the client, so that the
 * reply needs less time. */
void kex_prepare(struct connection *connection);

/* We start a key exchange after this many bytes or packets in one direction, or with a packet of
 * the client's this long after the last key exchange. rekey_limits.c has the values, so that a test
 * can link the daemon with smaller ones (tests/unit/substitutes/rekey_often.c, tests/system/test_rekey.py). */
extern const uint64_t rekey_after_bytes;
extern const uint32_t rekey_after_packets;
extern const uint64_t rekey_after_ms;

/* Starts a key exchange if the present keys have reached one of these limits and no key
 * exchange is running. Only after login: OpenSSH's client accepts no KEXINIT while it logs in. The
 * client may take any time to answer. Ends the connection before a sequence number wraps. */
void kex_rekey_if_due(struct connection *connection);

/* Handlers. The packet that follows a wrong guess is ignored, with any content. */
enum ssh_phase kex_on_wrong_guess(struct connection *connection, struct reader *message);
enum ssh_phase kex_on_ecdh_init(struct connection *connection, struct reader *message);
enum ssh_phase kex_on_newkeys(struct connection *connection, struct reader *message);

#endif
