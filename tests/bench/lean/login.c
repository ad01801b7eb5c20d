#include "login.h"

#include <sodium.h>
#include <string.h>

#include "client.h"
#include "fail.h"

#define ED25519 "ssh-ed25519"

/* Session identifier, request, and what surrounds them. */
#define SIGNED_BYTES 1024

static void write_key(struct writer *message, const struct options *options)
{
    size_t mark = writer_string_begin(message);
    writer_text(message, ED25519);
    writer_string(message, options->key.public_key, sizeof(options->key.public_key));
    writer_string_end(message, mark);
}

/* RFC 4252 sections 5 and 7, from the user's name on; `with_signature` says whether one follows. */
static void write_request(struct writer *message, const struct options *options,
                          bool with_signature)
{
    writer_text(message, options->user);
    writer_text(message, "ssh-connection");
    writer_text(message, "publickey");
    writer_bool(message, with_signature);
    writer_text(message, ED25519);
    write_key(message, options);
}

static void sign(const struct client *client, uint8_t signature[static 64])
{
    struct writer data;
    uint8_t bytes[SIGNED_BYTES];
    writer_init(&data, bytes, sizeof(bytes));
    writer_string(&data, client->exchange.session_id, client->exchange.session_id_bytes);
    writer_u8(&data, SSH_MSG_USERAUTH_REQUEST);
    write_request(&data, client->options, true);
    if (writer_failed(&data)) {
        fail("login", "the user's name is too long");
    }
    crypto_sign_detached(signature, NULL, bytes, data.used, client->options->key.secret_key);
}

static void ask_signed(struct client *client)
{
    uint8_t signature[64];
    struct writer message = client_message(client, SSH_MSG_USERAUTH_REQUEST);
    sign(client, signature);
    write_request(&message, client->options, true);
    size_t mark = writer_string_begin(&message);
    writer_text(&message, ED25519);
    writer_string(&message, signature, sizeof(signature));
    writer_string_end(&message, mark);
    client_send(client, &message);
    timeline_ask(&client->timeline, QUESTION_LOGIN);
}

static void ask_service(struct client *client)
{
    struct writer message = client_message(client, SSH_MSG_SERVICE_REQUEST);
    writer_text(&message, "ssh-userauth");
    client_send(client, &message);
    timeline_ask(&client->timeline, QUESTION_SERVICE);
}

/* ---- the stock client's steps ---------------------------------------------------------------- */

static void ask_none(struct client *client)
{
    struct writer message = client_message(client, SSH_MSG_USERAUTH_REQUEST);
    writer_text(&message, client->options->user);
    writer_text(&message, "ssh-connection");
    writer_text(&message, "none");
    client_send(client, &message);
    timeline_ask(&client->timeline, QUESTION_LOGIN);
    client->login.expect_no = true;
    while (client->login.expect_no && !client->login.done) {
        client_turn(client, true);
    }
}

static void ask_whether_acceptable(struct client *client)
{
    struct writer message = client_message(client, SSH_MSG_USERAUTH_REQUEST);
    write_request(&message, client->options, false);
    client_send(client, &message);
    timeline_ask(&client->timeline, QUESTION_LOGIN);
    while (!client->login.acceptable) {
        client_turn(client, true);
    }
}

void login_ask(struct client *client)
{
    ask_service(client);
    client->place = "login";
    if (!client->options->polite) {
        ask_signed(client);
        return;
    }
    while (!client->login.service) {
        client_turn(client, true);
    }
    ask_none(client);
    if (!client->login.done) {
        ask_whether_acceptable(client);
        ask_signed(client);
    }
    while (!client->login.done) {
        client_turn(client, true);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

void login_on_service_accept(struct client *client, struct reader *message)
{
    struct reader name = reader_string(message);
    if (!reader_is(&name, "ssh-userauth")) {
        fail("login", "the server accepts another service");
    }
    client->login.service = true;
    timeline_mark(&client->timeline, MARK_SERVICE);
    timeline_answer(&client->timeline, QUESTION_SERVICE);
}

void login_on_failure(struct client *client, struct reader *message)
{
    char methods[128];
    struct reader list = reader_string(message);
    if (!client->login.expect_no) {
        fail("login", "the server refuses user %s with this key; it would take: %s",
             client->options->user,
             reader_text(&list, methods, sizeof(methods)) ? methods : "(no list)");
    }
    client->login.expect_no = false;
    timeline_answer(&client->timeline, QUESTION_LOGIN);
}

void login_on_pk_ok(struct client *client, struct reader *message)
{
    (void)message;
    client->login.acceptable = true;
    timeline_answer(&client->timeline, QUESTION_LOGIN);
}

void login_on_success(struct client *client, struct reader *message)
{
    (void)message;
    client->login.done = true;
    timeline_mark(&client->timeline, MARK_LOGIN);
    timeline_answer(&client->timeline, QUESTION_LOGIN);
}
