/* What the client says of channels, and in global requests. */
#include "world.h"

/* ---- channels -------------------------------------------------------------------------------- */

void client_open(uint8_t window, uint8_t packet)
{
    static const uint32_t windows[] = {0, 1, 100, 32768, 65536, 2097152, 0x7fffffff, 0xffffffff};
    static const uint32_t packets[] = {32768, 0, 31, 32, 33, 1000, 65536, 0xffffffff};
    say("bsuuu", SSH_MSG_CHANNEL_OPEN, (window & 0x80) != 0 ? "direct-tcpip" : "session",
        world.client.next_number++, windows[window & 7], packets[packet & 7]);
}

static void say_fields(uint8_t which, uint8_t kind)
{
    static const char *const signals[] = {"TERM", "KILL", "WINCH", "USR1"};
    static const char *const variables[] = {"LANG", "LC_ALL", "PATH", "GIT_PROTOCOL"};
    uint32_t size = 80000 * (kind & 1U);
    switch (which) {
    case 0: /* pty-req */
        fields_put(&saying, "suuuu(bubub)", "xterm", size, size + 1, size + 2, size + 3, 1, kind,
                   91, 1, 0);
        break;
    case 1: /* env */
        fields_put(&saying, "s(f)", variables[kind & 3], 'v', (size_t)kind);
        break;
    case 3: /* exec */
        fields_put(&saying, "(f)", 'c', (size_t)(kind == 30 ? 131001 : kind));
        break;
    case 4: /* subsystem */
        fields_text(&saying, "sftp");
        break;
    case 5: /* window-change */
        fields_put(&saying, "uuuu", kind, kind + 1, kind + 2, kind + 3);
        break;
    case 6: /* signal */
        fields_text(&saying, signals[kind & 3]);
        break;
    case 7: /* break */
        fields_number(&saying, 4, kind);
        break;
    default: /* shell, and unknown ones */
        break;
    }
}

void client_request(struct peer_channel *channel, uint8_t kind, bool want_reply)
{
    static const char *const types[] = {"pty-req",   "env",           "shell",  "exec",
                                        "subsystem", "window-change", "signal", "break"};
    uint8_t which = kind & 7;
    say_begin(SSH_MSG_CHANNEL_REQUEST);
    fields_put(&saying, "usb", channel->slot, kind >= 0xf8 ? "x11-req" : types[which], want_reply);
    if (kind < 0xf8) {
        say_fields(which, kind / 8);
    }
    say_end();
}

void client_data(struct peer_channel *channel, size_t count, bool is_stderr)
{
    const uint8_t *bytes = stream_bytes(STREAM_STDIN, channel->data_bytes + world.steps);
    channel->in_flight += count;
    if (is_stderr) {
        say("buud", SSH_MSG_CHANNEL_EXTENDED_DATA, channel->slot, 1, bytes, count);
    } else {
        say("bud", SSH_MSG_CHANNEL_DATA, channel->slot, bytes, count);
    }
}

void client_number(uint8_t number, const struct peer_channel *channel)
{
    say("bu", number, channel->slot);
}

void client_adjust(const struct peer_channel *channel, uint32_t more)
{
    say("buu", SSH_MSG_CHANNEL_WINDOW_ADJUST, channel->slot, more);
}

void client_global(uint8_t kind)
{
    static const char *const types[] = {"keepalive@openssh.com", "hostkeys-prove-00@openssh.com",
                                        "tcpip-forward", "no-more-sessions@openssh.com"};
    say_begin(SSH_MSG_GLOBAL_REQUEST);
    fields_put(&saying, "sb", types[kind & 3], (kind & 128) == 0);
    if ((kind & 3) == 1) {
        say_host_key(0x61);
        if ((kind & 64) != 0) {
            say_host_key((kind & 32) != 0 ? 0x65 : 0x62);
        }
    }
    say_end();
}
