/*
 * The transport: versions, packets and key exchanges (RFC 4253).
 */
#ifndef WREN_TRANSPORT_H
#define WREN_TRANSPORT_H

#include "chachapoly.h"
#include "wire.h"

struct connection;

/* A handler parses its message, checks that nothing is left over, acts, and returns the next phase:
 * enum ssh_phase of net.h, which includes this header. Only dispatch.c stores the phase, unless the
 * connection has ended. */
typedef enum ssh_phase message_handler(struct connection *connection, struct reader *message);

/* ---- versions, version.c --------------------------------------------------------------------- */

/* The protocol version exchange (RFC 4253 section 4.2): each side first sends one identification
 * line, without its CR LF V_C of the client and V_S of the server.
 *
 *     SSH-protoversion-softwareversion SP comments CR LF */

/* Sends our line. */
void version_send(struct connection *connection);

/*
 * Reads the client's line from the input and keeps it as V_C. Returns true if all of it was there.
 * Ends the connection as soon as the input cannot become a valid line.
 */
bool version_read(struct connection *connection);

/* True if V_C names OpenSSH. Only its client gets extensions that cannot be negotiated. */
bool version_is_openssh(const struct connection *connection);

/* ---- packets, packet.c ----------------------------------------------------------------------- */

/* The binary packet protocol (RFC 4253 section 6) of one direction: length, padding, sequence
 * number, encryption in place. No I/O.
 *
 *     uint32 packet_length | byte padding_length | payload | random padding | mac
 *
 * `mac` is the tag of chacha20-poly1305@openssh.com. Before a direction's first NEWKEYS its packets
 * are not encrypted and have no tag. */

/* packet_length and padding_length: the payload follows. */
#define PACKET_HEADER_BYTES (CHACHAPOLY_LENGTH_BYTES + 1)

/* The most bytes of a packet of ours besides its payload: header, 4 to 11 bytes of padding, tag. */
#define PACKET_OVERHEAD_BYTES (PACKET_HEADER_BYTES + 11 + CHACHAPOLY_TAG_BYTES)

struct packet_direction {
    bool sealed;       /* packets are encrypted and have a tag */
    bool logged_in;    /* the limit is LIMIT_LOGGED_IN_PACKET_BYTES, else LIMIT_PACKET_BYTES */
    uint32_t sequence; /* of the next packet; a key exchange comes long before it wraps */
    uint32_t packets;  /* since the last packet_new_keys() */
    uint32_t length;   /* packet_length of the packet that is being read; 0 if not known yet */
    uint64_t bytes;    /* of the packets counted above */
    uint8_t key[CHACHAPOLY_KEY_BYTES];
};

enum packet_status {
    PACKET_INCOMPLETE,
    PACKET_READY,
    PACKET_CORRUPT, /* wrong length, padding or tag: the caller must not know which */
};

struct packet {
    uint8_t *payload;     /* inside the buffer */
    size_t payload_bytes; /* at least 1 */
    size_t total_bytes;   /* of the whole packet in the buffer */
};

/*
 * Decrypts the packet at the start of `bytes` in place, if all of it is there. After
 * PACKET_INCOMPLETE call again with the same start and more bytes. After PACKET_CORRUPT the
 * direction must not be used any more. Never waits for more than the direction's limit.
 */
enum packet_status packet_open(struct packet_direction *direction, uint8_t *bytes, size_t count,
                               struct packet *packet);

/* After PACKET_INCOMPLETE: the size of the whole packet, or 0 if its length has not arrived yet.
 * The length is not authenticated. */
size_t packet_awaited_bytes(const struct packet_direction *direction);

/*
 * Makes a packet of the payload at bytes + PACKET_HEADER_BYTES: writes the header before it,
 * padding and tag after it, and encrypts. `bytes` has room for payload_bytes +
 * PACKET_OVERHEAD_BYTES. Returns the packet's size.
 */
size_t packet_seal(struct packet_direction *direction, uint8_t *bytes, size_t payload_bytes);

/* The size that packet_seal() returns for such a payload once the direction has a key. */
size_t packet_sealed_bytes(size_t payload_bytes);

/* After the direction's NEWKEYS: the next packet uses `key`. With strict key exchange its sequence
 * number is 0. */
void packet_new_keys(struct packet_direction *direction,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], bool strict);

/* ---- messages, messages.c -------------------------------------------------------------------- */

/* The small messages of the transport layer:
 *
 *     DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG    RFC 4253 section 11
 *     SERVICE_REQUEST, SERVICE_ACCEPT             RFC 4253 section 10
 *     EXT_INFO                                    RFC 8308
 *     PING, PONG                                  OpenSSH's PROTOCOL, section 1.8 */

message_handler messages_on_disconnect, messages_on_ignore, messages_on_unimplemented,
    messages_on_debug, messages_on_service_request, messages_on_ext_info, messages_on_ping;

/* REQUEST_SUCCESS and REQUEST_FAILURE are ignored: any byte of the client's answers a keepalive. */
message_handler messages_on_unwanted_reply;

/* `sequence` is the sequence number of the packet with the unknown message. */
void messages_send_unimplemented(struct connection *connection, uint32_t sequence);

/* Our extensions, for a client that has sent ext-info-c. Must follow our first NEWKEYS at once. */
void messages_send_ext_info(struct connection *connection);

/* Ends the connection: the message `name` is too short or too long, or a field is invalid. */
enum ssh_phase messages_refuse_malformed(struct connection *connection, const char *name);

/* The same, if anything is left of the message; else the phase stays. */
enum ssh_phase messages_at_end(struct connection *connection, const struct reader *message,
                               const char *name);

/* ---- key exchange, kexinit.c and kex.c ------------------------------------------------------- */

/* The key exchange, the first one and later ones: in kexinit.c KEXINIT, what we offer and the
 * choice between both offers (RFC 4253 section 7.1); in kex.c the messages from KEX_ECDH_INIT to
 * NEWKEYS (RFC 5656 section 4), with the methods of RFC 8731 and draft-josefsson-ntruprime-ssh. */

/* Sends our KEXINIT and keeps it as I_S. From now on until our NEWKEYS, message_send() holds other
 * messages back. */
void kexinit_send(struct connection *connection);

/* Keeps I_C, sends our KEXINIT if we have not yet, and chooses the method. */
message_handler kexinit_on_kexinit;

/* Makes our X25519 pair for the next exchange. Called while we wait for the client, so that the
 * reply needs less time. */
void kex_prepare(struct connection *connection);

/* We start a key exchange after this many bytes or packets in one direction, or with a packet of
 * the client's this long after the last key exchange. rekey_limits.c has the values, so that a test
 * can link the daemon with smaller ones (tests/unit/substitutes/rekey_often.c,
 * tests/system/test_rekey.py). */
extern const uint64_t rekey_after_bytes;
extern const uint32_t rekey_after_packets;
extern const uint64_t rekey_after_ms;

/* Starts a key exchange if the present keys have reached one of these limits and no key
 * exchange is running. Only after login: OpenSSH's client accepts no KEXINIT while it logs in. The
 * client may take any time to answer. Ends the connection before a sequence number wraps. */
void kex_rekey_if_due(struct connection *connection);

/* The packet that follows a wrong guess is ignored, with any content. */
message_handler kex_on_wrong_guess, kex_on_ecdh_init, kex_on_newkeys;

/* ---- host keys, hostkeys.c ------------------------------------------------------------------- */

/* Our host keys as the client sees them: K_S of a key exchange, and after login
 * hostkeys-00@openssh.com and hostkeys-prove-00@openssh.com (OpenSSH's PROTOCOL, section 2.5), with
 * which a client learns of new host keys. */

#define HOSTKEYS_PROVE "hostkeys-prove-00@openssh.com"

/* Writes a public key of ours or a signature by it, as a string: "ssh-ed25519" and these bytes. */
void hostkeys_write(struct writer *message, const uint8_t *bytes, size_t count);

/* Writes K_S of this key exchange, as a string. */
void hostkeys_write_k_s(const struct connection *connection, struct writer *message);

/* True if `blob` is K_S of the first key exchange: publickey-hostbound-v00@openssh.com binds a
 * login to it. */
bool hostkeys_is_bound(const struct connection *connection, struct reader blob);

/* Sends all our host keys to a client that has just logged in. */
void hostkeys_announce(struct connection *connection);

/* Reads the keys of a global request HOSTKEYS_PROVE and answers it. The request fails if a key is
 * not ours, or if the client has asked for a key more than LIMIT_HOSTKEY_PROOFS times. */
enum ssh_phase hostkeys_on_prove(struct connection *connection, struct reader *message,
                                 bool want_reply);

#endif
