#include "client.h"

#include <stdlib.h>
#include <string.h>

#include "dial.h"
#include "fail.h"

/* ---- begin ----------------------------------------------------------------------------------- */

static int dial(const struct options *options, pid_t *child)
{
    if (options->exec) {
        return dial_program(options->program, child);
    }
    return dial_connect(options->host, options->port);
}

struct client *client_begin(const struct options *options)
{
    static const char line[] = CLIENT_VERSION "\r\n";
    struct client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        fail("connect", "out of memory");
    }
    client->options = options;
    client->place = "key exchange";
    exchange_prepare(client);
    timeline_start(&client->timeline);
    link_open(&client->link, dial(options, &client->child));
    timeline_mark(&client->timeline, MARK_CONNECTED);
    timeline_wait(&client->timeline, client->timeline.marks_ns[MARK_CONNECTED]);
    link_add(&client->link, line, sizeof(line) - 1);
    timeline_ask(&client->timeline, QUESTION_GREETING);
    if (!options->polite) {
        exchange_start(client);
    }
    return client;
}

/* TinySSH looks at what came behind a login when more arrives, or after a minute. */
static bool wants_login_first(const struct client *client)
{
    static const char tinyssh[] = "SSH-2.0-tinyssh";
    return strncmp(client->server_version, tinyssh, sizeof(tinyssh) - 1) == 0;
}

/* A server may say something else first (RFC 4253 section 4.2). */
static void read_identification(struct client *client)
{
    const char *line;
    size_t bytes;
    while (!client->identified && link_take_line(&client->link, &line, &bytes)) {
        if (bytes < 4 || memcmp(line, "SSH-", 4) != 0) {
            continue;
        }
        if (bytes < 8 || memcmp(line, "SSH-2.0-", 8) != 0) {
            fail("identification", "the server does not speak SSH 2.0");
        }
        memcpy(client->server_version, line, bytes);
        client->identified = true;
        client->login_first = wants_login_first(client);
        timeline_mark(&client->timeline, MARK_IDENTIFICATION);
        timeline_answer(&client->timeline, QUESTION_GREETING);
    }
    if (client->identified && client->options->polite) {
        exchange_start(client);
    }
}

/* ---- messages in ----------------------------------------------------------------------------- */

static void on_nothing(struct client *client, struct reader *message)
{
    (void)client;
    (void)message;
}

static void on_disconnect(struct client *client, struct reader *message)
{
    char text[LIMIT_NOTE_BYTES + 1];
    uint32_t code = reader_u32(message);
    struct reader description = reader_string(message);
    if (!reader_text(&description, text, sizeof(text))) {
        strcpy(text, "(no text)");
    }
    fail(client->place, "the server disconnects (%u): %s", (unsigned)code, text);
}

static void on_global_request(struct client *client, struct reader *message)
{
    reader_string(message);
    if (reader_bool(message)) {
        client->owed_refusals++;
    }
}

typedef void handler(struct client *client, struct reader *message);

static handler *const handlers[256] = {
    [SSH_MSG_DISCONNECT] = on_disconnect,
    [SSH_MSG_IGNORE] = on_nothing,
    [SSH_MSG_UNIMPLEMENTED] = on_nothing,
    [SSH_MSG_DEBUG] = on_nothing,
    [SSH_MSG_SERVICE_ACCEPT] = login_on_service_accept,
    [SSH_MSG_EXT_INFO] = on_nothing,
    [SSH_MSG_KEXINIT] = exchange_on_kexinit,
    [SSH_MSG_NEWKEYS] = exchange_on_newkeys,
    [SSH_MSG_KEX_ECDH_REPLY] = exchange_on_reply,
    [SSH_MSG_USERAUTH_FAILURE] = login_on_failure,
    [SSH_MSG_USERAUTH_SUCCESS] = login_on_success,
    [SSH_MSG_USERAUTH_BANNER] = on_nothing,
    [SSH_MSG_USERAUTH_PK_OK] = login_on_pk_ok,
    [SSH_MSG_GLOBAL_REQUEST] = on_global_request,
    [SSH_MSG_CHANNEL_OPEN_CONFIRMATION] = session_on_confirmation,
    [SSH_MSG_CHANNEL_OPEN_FAILURE] = session_on_open_failure,
    [SSH_MSG_CHANNEL_WINDOW_ADJUST] = session_on_window_adjust,
    [SSH_MSG_CHANNEL_DATA] = session_on_data,
    [SSH_MSG_CHANNEL_EXTENDED_DATA] = session_on_extended_data,
    [SSH_MSG_CHANNEL_EOF] = session_on_eof,
    [SSH_MSG_CHANNEL_CLOSE] = session_on_close,
    [SSH_MSG_CHANNEL_REQUEST] = session_on_request,
    [SSH_MSG_CHANNEL_SUCCESS] = session_on_success,
    [SSH_MSG_CHANNEL_FAILURE] = session_on_failure,
};

/* Strict key exchange: nothing but the first exchange's own messages, and no other order (that the
 * handlers check). */
static bool is_allowed(const struct client *client, uint8_t number)
{
    const struct exchange *exchange = &client->exchange;
    bool of_exchange = number >= SSH_MSG_KEXINIT && number < SSH_MSG_USERAUTH_REQUEST;
    bool first = exchange->finished == 0;
    return !first || of_exchange || number == SSH_MSG_DISCONNECT || !exchange->strict;
}

static void handle(struct client *client, struct reader *payload)
{
    uint8_t number = reader_u8(payload);
    if (handlers[number] == NULL || !is_allowed(client, number)) {
        fail(client->place, "the server's message %u does not belong there", (unsigned)number);
    }
    handlers[number](client, payload);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void send_refusals(struct client *client)
{
    for (; client->owed_refusals > 0; client->owed_refusals--) {
        link_say(&client->link, "b", SSH_MSG_REQUEST_FAILURE);
    }
}

static void rekey_if_due(struct client *client)
{
    uint64_t moved = client->link.bytes_in + client->link.bytes_out;
    uint64_t every = client->options->rekey_bytes;
    if (every > 0 && moved - client->rekeyed_bytes >= every && client->login.done &&
        !client->exchange.running) {
        client->rekeyed_bytes = moved;
        exchange_start(client);
    }
}

void client_turn(struct client *client, bool wait)
{
    struct reader payload;
    bool more = false;
    rekey_if_due(client);
    if (!client->exchange.asked) {
        send_refusals(client);
        more = session_send_due(client);
    }
    uint64_t waited_ns = client->link.waited_ns;
    link_turn(&client->link,
              !wait  ? LINK_NO_WAIT
              : more ? LINK_WAIT_TO_WRITE
                     : LINK_WAIT,
              client->place);
    timeline_wait(&client->timeline, client->link.waited_ns - waited_ns);
    if (!client->identified) {
        read_identification(client);
    }
    while (client->identified && link_take(&client->link, &payload)) {
        handle(client, &payload);
    }
    if (client->link.ended) {
        fail(client->place, "the server has closed the connection");
    }
}

void client_await(struct client *client, const bool *flag)
{
    while (!*flag) {
        client_turn(client, true);
    }
}

/* Nothing but a key exchange's messages may leave during one. */
static void await_exchange(struct client *client)
{
    while (client->exchange.asked || client->exchange.secrets.session_id_bytes == 0) {
        client_turn(client, true);
    }
}

void client_say(struct client *client, const char *format, ...)
{
    va_list arguments;
    await_exchange(client);
    va_start(arguments, format);
    link_say_list(&client->link, format, arguments);
    va_end(arguments);
}

/* ---- end ------------------------------------------------------------------------------------- */

void client_drop(struct client *client)
{
    link_close(&client->link);
    if (client->child > 0) {
        dial_reap(client->child);
    }
    free(client);
}

void client_end(struct client *client)
{
    await_exchange(client);
    session_send_due(client); /* the last CLOSE */
    link_say(&client->link, "buss", SSH_MSG_DISCONNECT, SSH_DISCONNECT_BY_APPLICATION, "done", "");
    link_finish(&client->link);
    timeline_mark(&client->timeline, MARK_ENDED);
}
