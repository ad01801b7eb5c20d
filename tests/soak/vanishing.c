/*
 * Guests who vanish. What they leave behind is the server's to tidy up.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "life.h"

enum stage {
    STAGE_CONNECTED,  /* nothing is sent */
    STAGE_GREETED,    /* a line of ours, no KEXINIT */
    STAGE_EXCHANGING, /* our part is sent, nothing read */
    STAGE_EXCHANGED,
    STAGE_ASKED, /* for the login: the answer is on its way */
    STAGE_LOGGED_IN,
    STAGE_COMMAND,
    STAGE_TERMINAL,
    STAGE_DOWNLOADING, /* with a full window */
    STAGE_UPLOADING,
    STAGE_SFTP, /* with an open file */
    STAGE_REKEYING,
    STAGES,
};

/* Longer than the server's time limits in soak/life.py. */
#define SILENCE_MS 9000

static struct session *run(struct client *client, const char *command, bool pty)
{
    struct session *session = session_ask(client);
    session_run(client, session, command, pty);
    client_turn(client, false);
    return session;
}

static void reach_session(struct client *client, enum stage stage)
{
    struct sftp sftp;
    static const uint8_t data[8192];
    switch (stage) {
    case STAGE_COMMAND:
        run(client, "cat", false);
        break;
    case STAGE_TERMINAL:
        run(client, "sleep 3600", true);
        break;
    case STAGE_DOWNLOADING: {
        const struct session *session = run(client, "head -c 100000000 /dev/zero", false);
        while (session->bytes < 100000) {
            client_turn(client, true);
        }
        break;
    }
    case STAGE_UPLOADING:
        run(client, "cat >/dev/null", false)->to_send = 1 << 20;
        client_turn(client, false);
        break;
    case STAGE_SFTP:
        sftp_begin(&sftp, client);
        sftp_open(&sftp, "half", SFTP_WRITE_NEW);
        sftp_write(&sftp, 0, data, sizeof(data));
        break;
    default: /* STAGE_REKEYING */
        exchange_start(client);
        client_turn(client, false);
    }
}

static void reach(struct client *client, enum stage stage)
{
    client_turn(client, false); /* what is due leaves */
    if (stage >= STAGE_EXCHANGED) {
        while (client->exchange.finished == 0) {
            client_turn(client, true);
        }
    }
    if (stage >= STAGE_ASKED) {
        login_ask(client);
        client_turn(client, false);
    }
    if (stage >= STAGE_LOGGED_IN) {
        client_await(client, &client->login.done);
    }
    if (stage > STAGE_LOGGED_IN) {
        reach_session(client, stage);
    }
}

static void vanish_now(void)
{
    switch (chance(5)) {
    case 0:
        leave(LEAVE_IN_ORDER);
        break;
    case 1:
        leave(LEAVE_WITH_RESET);
        break;
    case 2:
        leave(LEAVE_WITHOUT_A_WORD);
        break;
    case 3: /* half of the connection is closed, and nobody reads the other one */
        shutdown(soak_fd, SHUT_WR);
        hold_link(soak_fd, SILENCE_MS);
        break;
    default:
        hold_link(soak_fd, SILENCE_MS);
    }
}

void vanish(const struct options *options)
{
    static const char line[] = "SSH-2.0-gone\r\n";
    enum stage stage = (enum stage)chance(STAGES);
    struct client *client = meet(options);
    if (stage >= STAGE_EXCHANGING) {
        reach(client, stage);
    } else if (stage == STAGE_GREETED && send(soak_fd, line, sizeof(line) - 1, MSG_NOSIGNAL) < 0) {
        leave(LEAVE_IN_ORDER);
    }
    vanish_now();
    forget();
}
