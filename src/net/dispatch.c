#include "net.h"

#define IN(phase) (1U << (phase))

/* The first key exchange is strict for every client, not only for those that offer kex-strict:
 * nothing but the next expected message, or DISCONNECT. In a later one the messages that RFC 4253
 * section 7.1 always allows may stand between. */
#define FIRST_KEX                                                                                  \
    (IN(SSH_PHASE_KEXINIT) | IN(SSH_PHASE_GUESS) | IN(SSH_PHASE_ECDH) | IN(SSH_PHASE_NEWKEYS))
#define LATER_KEX                                                                                  \
    (IN(SSH_PHASE_REKEY_GUESS) | IN(SSH_PHASE_REKEY_ECDH) | IN(SSH_PHASE_REKEY_NEWKEYS))
#define BETWEEN_KEX (IN(SSH_PHASE_SERVICE) | IN(SSH_PHASE_AUTH) | IN(SSH_PHASE_OPEN))
#define NEVER       0

struct row {
    uint8_t number;
    uint16_t phases; /* in any other phase the message ends the connection */
    message_handler *handler;
};

static const struct row rows[] = {
    {SSH_MSG_DISCONNECT, FIRST_KEX | BETWEEN_KEX | LATER_KEX, messages_on_disconnect},
    {SSH_MSG_IGNORE, BETWEEN_KEX | LATER_KEX, messages_on_ignore},
    {SSH_MSG_UNIMPLEMENTED, BETWEEN_KEX | LATER_KEX, messages_on_unimplemented},
    {SSH_MSG_DEBUG, BETWEEN_KEX | LATER_KEX, messages_on_debug},
    {SSH_MSG_SERVICE_REQUEST, IN(SSH_PHASE_SERVICE), messages_on_service_request},
    {SSH_MSG_EXT_INFO, IN(SSH_PHASE_SERVICE), messages_on_ext_info},

    {SSH_MSG_KEXINIT, IN(SSH_PHASE_KEXINIT) | BETWEEN_KEX, kexinit_on_kexinit},
    {SSH_MSG_KEX_ECDH_INIT, IN(SSH_PHASE_ECDH) | IN(SSH_PHASE_REKEY_ECDH), kex_on_ecdh_init},
    {SSH_MSG_NEWKEYS, IN(SSH_PHASE_NEWKEYS) | IN(SSH_PHASE_REKEY_NEWKEYS), kex_on_newkeys},

    {SSH_MSG_USERAUTH_REQUEST, IN(SSH_PHASE_AUTH) | IN(SSH_PHASE_OPEN), userauth_on_request},

    {SSH_MSG_GLOBAL_REQUEST, IN(SSH_PHASE_OPEN), channel_on_global_request},
    {SSH_MSG_CHANNEL_OPEN, IN(SSH_PHASE_OPEN), channel_on_open},
    {SSH_MSG_CHANNEL_WINDOW_ADJUST, IN(SSH_PHASE_OPEN), channel_on_window_adjust},
    {SSH_MSG_CHANNEL_DATA, IN(SSH_PHASE_OPEN), channel_on_data},
    {SSH_MSG_CHANNEL_EXTENDED_DATA, IN(SSH_PHASE_OPEN), channel_on_extended_data},
    {SSH_MSG_CHANNEL_EOF, IN(SSH_PHASE_OPEN), channel_on_eof},
    {SSH_MSG_CHANNEL_CLOSE, IN(SSH_PHASE_OPEN), channel_on_close},
    {SSH_MSG_CHANNEL_REQUEST, IN(SSH_PHASE_OPEN), channel_on_request},
    {SSH_MSG_PING, IN(SSH_PHASE_OPEN), messages_on_ping},

    /* Only keepalives ask for a reply, and any byte of the client's counts as one. Some clients
     * also reply to other messages. */
    {SSH_MSG_REQUEST_SUCCESS, IN(SSH_PHASE_OPEN), messages_on_unwanted_reply},
    {SSH_MSG_REQUEST_FAILURE, IN(SSH_PHASE_OPEN), messages_on_unwanted_reply},
    {SSH_MSG_CHANNEL_SUCCESS, IN(SSH_PHASE_OPEN), channel_on_unwanted_reply},
    {SSH_MSG_CHANNEL_FAILURE, IN(SSH_PHASE_OPEN), channel_on_unwanted_reply},

    /* Messages of a server, and answers to messages that we never send. */
    {SSH_MSG_SERVICE_ACCEPT, NEVER, NULL},
    {SSH_MSG_KEX_ECDH_REPLY, NEVER, NULL},
    {SSH_MSG_USERAUTH_FAILURE, NEVER, NULL},
    {SSH_MSG_USERAUTH_SUCCESS, NEVER, NULL},
    {SSH_MSG_USERAUTH_BANNER, NEVER, NULL},
    {SSH_MSG_USERAUTH_PK_OK, NEVER, NULL},
    {SSH_MSG_CHANNEL_OPEN_CONFIRMATION, NEVER, NULL},
    {SSH_MSG_CHANNEL_OPEN_FAILURE, NEVER, NULL},
    {SSH_MSG_PONG, NEVER, NULL},
};

enum dispatch_verdict dispatch_lookup(uint8_t number, enum ssh_phase phase,
                                      message_handler **handler)
{
    /* The guessed packet can belong to any key exchange method (RFC 4253 section 7): 30 to 49. */
    bool guess = phase == SSH_PHASE_GUESS || phase == SSH_PHASE_REKEY_GUESS;
    if (guess && number >= SSH_MSG_KEX_ECDH_INIT && number < SSH_MSG_USERAUTH_REQUEST) {
        *handler = kex_on_wrong_guess;
        return DISPATCH_HANDLE;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].number == number) {
            *handler = rows[i].handler;
            return (rows[i].phases & IN(phase)) != 0 ? DISPATCH_HANDLE : DISPATCH_REFUSE;
        }
    }
    return (IN(phase) & BETWEEN_KEX) != 0 ? DISPATCH_UNIMPLEMENTED : DISPATCH_REFUSE;
}

static enum ssh_phase refuse_message(struct connection *connection, uint8_t number)
{
    static const char when[SSH_PHASES][sizeof("before the service request")] = {
        [SSH_PHASE_KEXINIT] = "before the key exchange",
        [SSH_PHASE_GUESS] = "in the key exchange",
        [SSH_PHASE_ECDH] = "in the key exchange",
        [SSH_PHASE_NEWKEYS] = "before NEWKEYS",
        [SSH_PHASE_SERVICE] = "before the service request",
        [SSH_PHASE_AUTH] = "before login",
        [SSH_PHASE_OPEN] = "after login",
        [SSH_PHASE_REKEY_GUESS] = "in the key exchange",
        [SSH_PHASE_REKEY_ECDH] = "in the key exchange",
        [SSH_PHASE_REKEY_NEWKEYS] = "before NEWKEYS",
    };
    return connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR,
                             "message %u is not allowed %s", number, when[connection->phase]);
}

void dispatch(struct connection *connection, const uint8_t *payload, size_t payload_bytes,
              uint32_t sequence)
{
    struct reader message = reader_over(payload, payload_bytes);
    uint8_t number = reader_u8(&message);
    enum ssh_phase next = connection->phase;
    message_handler *handler = NULL;
    switch (dispatch_lookup(number, connection->phase, &handler)) {
    case DISPATCH_HANDLE:
        next = handler(connection, &message);
        break;
    case DISPATCH_UNIMPLEMENTED:
        messages_send_unimplemented(connection, sequence);
        break;
    case DISPATCH_REFUSE:
        next = refuse_message(connection, number);
        break;
    }
    if (connection->phase == SSH_PHASE_AUTH && next == SSH_PHASE_OPEN) {
        connection->in.logged_in = true;
        hostkeys_announce(connection);
    }
    if ((IN(next) & LATER_KEX) != 0 && (IN(connection->phase) & LATER_KEX) == 0) {
        connection->resume = connection->phase;
    }
    connection->phase = connection->end.reached ? SSH_PHASE_ENDED : next;
}

/* False if no packet is complete, or after ending the connection. */
static bool take_packet(struct connection *connection)
{
    struct packet packet;
    uint32_t sequence = connection->in.sequence;
    enum packet_status status =
        packet_open(&connection->in, connection->buffers.input + connection->input_start,
                    connection->input_end - connection->input_start, &packet);
    if (status == PACKET_CORRUPT) {
        connection->phase =
            connection_refuse(connection, SSH_DISCONNECT_MAC_ERROR, "corrupt packet");
    }
    if (status != PACKET_READY) {
        return false;
    }
    dispatch(connection, packet.payload, packet.payload_bytes, sequence);
    connection->input_start += packet.total_bytes;
    return true;
}

void dispatch_input(struct connection *connection)
{
    if (connection->phase == SSH_PHASE_VERSION && connection->input_end > 0 &&
        version_read(connection)) {
        connection->phase = SSH_PHASE_KEXINIT;
    }
    connection->socket.input_waits = false;
    while (!connection->end.reached && connection->phase != SSH_PHASE_VERSION) {
        connection->socket.input_waits = output_room(connection) < LIMIT_REPLY_BYTES;
        if (connection->socket.input_waits || !take_packet(connection)) {
            break;
        }
    }
}
