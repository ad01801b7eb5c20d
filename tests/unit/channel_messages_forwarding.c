/* For channel_messages.c: which refused requests are logged, and how often. */
#include "channels.h"
#include "net.h"

#include <string.h>
#include <unistd.h>

#include "log.h"
#include "rig.h"
#include "unit.h"

static struct rig rig;

static void start(void)
{
    rig_open(&rig, SSH_PHASE_OPEN);
}

UNIT_FIXTURE(start, NULL);

static void note(const char *type)
{
    struct reader name = reader_over((const uint8_t *)type, strlen(type));
    channel_note_forwarding(rig.connection, &name);
}

static const struct {
    const char *type, *text;
} kinds[] = {
    {"direct-tcpip", "no port forwarding (ssh -J, -L, -W)"},
    {"direct-streamlocal@openssh.com", "no port forwarding (ssh -J, -L, -W)"},
    {"tcpip-forward", "no remote port forwarding (ssh -R)"},
    {"streamlocal-forward@openssh.com", "no remote socket forwarding (-R)"},
    {"auth-agent-req@openssh.com", "no agent forwarding (ssh -A)"},
    {"x11-req", "no X11 forwarding (ssh -X)"},
};

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

TEST_EACH(each_kind_once, KINDS)
{
    rig_reply_done(&rig, IPC_NOTE, 1);
    note(kinds[_i].type);
    rig_expect_note(&rig, LOG_EVENT, kinds[_i].text);
    for (int again = 0; again < 3; again++) {
        note(kinds[_i].type);
    }
    rig_expect_no_request(&rig);
    /* The others are still logged. */
    int other = _i >= 2 ? 0 : 2;
    rig_reply_done(&rig, IPC_NOTE, 1);
    note(kinds[other].type);
    rig_expect_note(&rig, LOG_EVENT, kinds[other].text);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

TEST(other_types_are_not_logged)
{
    static const char *const types[] = {"",       "d",      "direct", "keepalive@openssh.com",
                                        "x11",    "x11-re", "tcpip",  "cancel-tcpip-forward",
                                        "session"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        note(types[i]);
    }
    rig_expect_no_request(&rig);
}

static void say(int which)
{
    if (which == 0) {
        rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbsu", "tcpip-forward", 1, "", 0);
        rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
    } else if (which == 1) {
        rig_say(&rig, SSH_MSG_CHANNEL_OPEN, "suuususu", "direct-tcpip", 77, 1000, 1000, "host", 22,
                "", 0);
        rig_expect(&rig, SSH_MSG_CHANNEL_OPEN_FAILURE, "uuss", 77,
                   SSH_OPEN_ADMINISTRATIVELY_PROHIBITED,
                   "this server has no forwarding, only sessions", "");
    } else {
        rig_say(&rig, SSH_MSG_CHANNEL_OPEN, "suuu", "session", 5, 1000, 1000);
        rig_hear(&rig, SSH_MSG_CHANNEL_OPEN_CONFIRMATION);
        rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usb", 0, "auth-agent-req@openssh.com", 1);
        rig_expect(&rig, SSH_MSG_CHANNEL_FAILURE, "u", 5);
    }
}

/* The client has its answer, and the log its line. */
TEST_EACH(requests_of_clients, 3)
{
    static const int expected[] = {2, 0, 4};
    rig_reply_done(&rig, IPC_NOTE, 1);
    say(_i);
    rig_expect_note(&rig, LOG_EVENT, kinds[expected[_i]].text);
    rig_expect_silence(&rig);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

TEST(the_monitor_is_gone)
{
    close(rig.monitor);
    rig.monitor = -1;
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sb", "tcpip-forward", 0);
    rig_expect_failed(&rig, "the monitor is gone");
    ck_assert_int_eq(rig.connection->phase, SSH_PHASE_ENDED);
}
