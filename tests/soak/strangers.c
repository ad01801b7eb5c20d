#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dial.h"
#include "fail.h"
#include "life.h"

/* How long a stranger waits for the server to send it away. */
#define PATIENCE_SECONDS 20

static void expect_end(void)
{
    char bytes[4096];
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    setsockopt(soak_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    while (recv(soak_fd, bytes, sizeof(bytes), 0) > 0) {
    }
}

static void say(const void *bytes, size_t count)
{
    send(soak_fd, bytes, count, MSG_NOSIGNAL);
}

static void say_garbage(void)
{
    uint8_t bytes[2000];
    randombytes_buf(bytes, sizeof(bytes));
    say(bytes, 1 + chance(sizeof(bytes)));
}

/* ---- who tries keys -------------------------------------------------------------------------- */

/* The server refuses each key, and at last ends the connection. */
static void try_keys(const struct options *options)
{
    struct client *client = meet(options);
    login_ask(client);
    client_await(client, &client->login.done);
}

void stranger_wrong_key(const struct options *options)
{
    struct options own = *options;
    crypto_sign_keypair(own.key.public_key, own.key.secret_key);
    try_keys(&own);
}

void stranger_wrong_user(const struct options *options)
{
    static const char *const users[] = {"root", "admin", "nobody", "oracle", "pi", ""};
    struct options own = *options;
    own.user = users[chance(6)];
    try_keys(&own);
}

/* ---- who says something else ----------------------------------------------------------------- */

static void connect_to(const struct options *options)
{
    dial_connect(options->host, options->port);
}

void stranger_garbage(const struct options *options)
{
    connect_to(options);
    if (chance(2) == 0) {
        say("GET / HTTP/1.1\r\n\r\n", 18);
    }
    say_garbage();
    shutdown(soak_fd, SHUT_WR);
    expect_end();
    leave(LEAVE_IN_ORDER);
}

void stranger_late_garbage(const struct options *options)
{
    connect_to(options);
    say("SSH-2.0-x\r\n", 11);
    say_garbage();
    shutdown(soak_fd, SHUT_WR);
    expect_end();
    leave(LEAVE_WITH_RESET);
}

/* Behind a whole key exchange, so that the tag is wrong. */
void stranger_bad_packet(const struct options *options)
{
    struct client *client = meet(options);
    while (client->exchange.finished == 0) {
        client_turn(client, true);
    }
    client_turn(client, false); /* NEWKEYS leaves */
    say_garbage();
    shutdown(soak_fd, SHUT_WR);
    expect_end();
    leave(LEAVE_IN_ORDER);
    forget();
}

/* ---- who says nothing ------------------------------------------------------------------------ */

void stranger_scan(const struct options *options)
{
    char bytes[256];
    connect_to(options);
    if (chance(2) == 0 && recv(soak_fd, bytes, sizeof(bytes), 0) < 0) {
        leave(LEAVE_IN_ORDER);
    }
    leave((enum leaving)chance(2));
}

void stranger_drip(const struct options *options)
{
    connect_to(options);
    say("SSH-2.0-drip", 1 + chance(12));
    hold_link(soak_fd, 7000);
}

/* One after the other, and all of them stay: half of the crowds come from one address. */
void stranger_crowd(const struct options *options)
{
    bool one = chance(2) == 0;
    for (unsigned i = 0; i < CROWD; i++) {
        if (!one) {
            come_from(false);
        }
        connect_to(options);
        hold_link(soak_fd, 7000);
    }
}
