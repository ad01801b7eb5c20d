#include "login.h"

#include <sodium.h>
#include <string.h>

#include "client.h"
#include "fail.h"

#define ED25519 "ssh-ed25519"

/* Session identifier, request, and what surrounds them. */
#define SIGNED_BYTES 1024

/* RFC 4252 section 7; `with_signature` says whether one follows. */
static void put_request(struct fields *fields, const struct options *options, bool with_signature)
{
    fields_put(fields, "bsssbsk", SSH_MSG_USERAUTH_REQUEST, options->user, "ssh-connection",
               "publickey", with_signature, ED25519, options->key.public_key);
    if (fields->full) {
        fail("login", "the user's name is too long");
    }
}

/* After the service was asked for: then the session has its identifier. */
static void ask_signed(struct client *client)
{
    const struct secrets *secrets = &client->exchange.secrets;
    uint8_t bytes[SIGNED_BYTES], signature[64];
    struct fields data = FIELDS_IN(bytes);
    fields_string(&data, secrets->session_id, secrets->session_id_bytes);
    size_t request = data.used;
    put_request(&data, client->options, true);
    crypto_sign_detached(signature, NULL, bytes, data.used, client->options->key.secret_key);
    client_say(client, "r(sd)", bytes + request, data.used - request, ED25519, signature,
               sizeof(signature));
    timeline_ask(&client->timeline, QUESTION_LOGIN);
}

static void ask_service(struct client *client)
{
    client_say(client, "bs", SSH_MSG_SERVICE_REQUEST, "ssh-userauth");
    timeline_ask(&client->timeline, QUESTION_SERVICE);
}

/* ---- the stock client's steps ---------------------------------------------------------------- */

static void ask_none(struct client *client)
{
    client_say(client, "bsss", SSH_MSG_USERAUTH_REQUEST, client->options->user, "ssh-connection",
               "none");
    timeline_ask(&client->timeline, QUESTION_LOGIN);
    client->login.expect_no = true;
    while (client->login.expect_no && !client->login.done) {
        client_turn(client, true);
    }
}

static void ask_whether_acceptable(struct client *client)
{
    uint8_t bytes[SIGNED_BYTES];
    struct fields request = FIELDS_IN(bytes);
    put_request(&request, client->options, false);
    client_say(client, "r", bytes, request.used);
    timeline_ask(&client->timeline, QUESTION_LOGIN);
    client_await(client, &client->login.acceptable);
}

void login_ask(struct client *client)
{
    ask_service(client);
    client->place = "login";
    if (!client->options->polite) {
        ask_signed(client);
        return;
    }
    client_await(client, &client->login.service);
    ask_none(client);
    if (!client->login.done) {
        ask_whether_acceptable(client);
        ask_signed(client);
    }
    client_await(client, &client->login.done);
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
