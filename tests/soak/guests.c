#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "life.h"

#define KIB 1024U

static struct session *run(struct client *client, const char *command, bool pty)
{
    struct session *session = session_ask(client);
    session->eof_due = true;
    session_run(client, session, command, pty);
    return session;
}

static void expect_bytes(const struct session *session, uint64_t expected)
{
    if (session->bytes != expected) {
        fail("session", "%llu bytes came of %llu", (unsigned long long)session->bytes,
             (unsigned long long)expected);
    }
}

void guest_command(const struct options *options)
{
    struct client *client = meet(options);
    login_ask(client);
    struct session *session = run(client, "echo here; exit 0", false);
    session_finish(client, session);
    expect_bytes(session, sizeof("here"));
    part(client);
}

static void download(const struct options *options, const char *command, uint64_t bytes)
{
    struct client *client = meet(options);
    login_ask(client);
    struct session *session = run(client, command, false);
    session_finish(client, session);
    expect_bytes(session, bytes);
    part(client);
}

void guest_download(const struct options *options)
{
    download(options, "head -c 262144 /dev/zero", 256 * KIB);
}

/* Some ten key exchanges, most of them asked for while data flows. */
void guest_rekey(const struct options *options)
{
    struct options own = *options;
    own.rekey_bytes = 48 * KIB;
    own.window = 64 * KIB;
    download(&own, "head -c 524288 /dev/zero", 512 * KIB);
}

void guest_upload(const struct options *options)
{
    struct client *client = meet(options);
    login_ask(client);
    struct session *session = session_ask(client);
    session_run(client, session, "wc -c", false);
    session->to_send = 200 * KIB;
    session->eof_due = true;
    session_finish(client, session);
    expect_bytes(session, sizeof("204800"));
    part(client);
}

void guest_terminal(const struct options *options)
{
    struct client *client = meet(options);
    login_ask(client);
    struct session *session = run(client, "stty size", true);
    session_finish(client, session);
    expect_bytes(session, sizeof("24 80\r"));
    part(client);
}

void guest_sessions(const struct options *options)
{
    struct session *sessions[4];
    struct client *client = meet(options);
    login_ask(client);
    for (size_t i = 0; i < 4; i++) {
        sessions[i] = run(client, "head -c 20000 /dev/zero", i == 0);
    }
    for (size_t i = 0; i < 4; i++) {
        session_finish(client, sessions[i]);
        expect_bytes(sessions[i], 20000);
    }
    part(client);
}

void guest_sftp(const struct options *options)
{
    char name[32];
    static uint8_t data[3 * 8192];
    struct sftp sftp;
    unsigned pieces = 1 + chance(3);
    memset(data, (int)chance(256), sizeof(data));
    snprintf(name, sizeof(name), "guest-%d", (int)getpid());
    struct client *client = meet(options);
    login_ask(client);
    sftp_begin(&sftp, client);
    sftp_open(&sftp, name, SFTP_WRITE_NEW);
    for (unsigned i = 0; i < pieces; i++) {
        sftp_write(&sftp, i * 8192, data + i * 8192, 8192);
    }
    sftp_close(&sftp);
    sftp_open(&sftp, name, SFTP_READ);
    sftp_read(&sftp, 0, data, 8192 * pieces);
    sftp_close(&sftp);
    sftp_remove(&sftp, name);
    sftp_end(&sftp);
    part(client);
}

/* A connection that rests for longer than the server takes to give back memory, without a session.
 */
void guest_quiet(const struct options *options)
{
    struct client *client = meet(options);
    login_ask(client);
    client_await(client, &client->login.done);
    usleep(200000);
    session_finish(client, run(client, "exit 0", false));
    part(client);
}
