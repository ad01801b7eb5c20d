/* What the client says of channels, and in global requests. */
#include <string.h>

#include "put.h"
#include "world.h"

/* ---- channels -------------------------------------------------------------------------------- */

void client_open(uint8_t window, uint8_t packet)
{
    static const uint32_t windows[] = {0, 1, 100, 32768, 65536, 2097152, 0x7fffffff, 0xffffffff};
    static const uint32_t packets[] = {32768, 0, 31, 32, 33, 1000, 65536, 0xffffffff};
    put_begin(SSH_MSG_CHANNEL_OPEN);
    put_text((window & 0x80) != 0 ? "direct-tcpip" : "session");
    put_u32(world.client.next_number++);
    put_u32(windows[window & 7]);
    put_u32(packets[packet & 7]);
    put_say();
}

static void put_pty(uint8_t kind)
{
    put_text("xterm");
    for (uint32_t i = 0; i < 4; i++) {
        put_u32(80000 * (kind & 1U) + i);
    }
    put_u32(11);
    put_u8(1);
    put_u32(kind);
    put_u8(91);
    put_u32(1);
    put_u8(0);
}

static void put_fields(uint8_t which, uint8_t kind)
{
    static const char *const signals[] = {"TERM", "KILL", "WINCH", "USR1"};
    static const char *const variables[] = {"LANG", "LC_ALL", "PATH", "GIT_PROTOCOL"};
    switch (which) {
    case 0: /* pty-req */
        put_pty(kind);
        break;
    case 1: /* env */
        put_text(variables[kind & 3]);
        put_u32(kind);
        put_fill('v', kind);
        break;
    case 3: /* exec */
        put_u32(kind == 30 ? 131001 : kind);
        put_fill('c', kind == 30 ? 131001 : kind);
        break;
    case 4: /* subsystem */
        put_text("sftp");
        break;
    case 5: /* window-change */
        for (uint32_t i = 0; i < 4; i++) {
            put_u32(i + kind);
        }
        break;
    case 6: /* signal */
        put_text(signals[kind & 3]);
        break;
    case 7: /* break */
        put_u32(kind);
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
    put_begin(SSH_MSG_CHANNEL_REQUEST);
    put_u32(channel->slot);
    put_text(kind >= 0xf8 ? "x11-req" : types[which]);
    put_u8(want_reply);
    if (kind < 0xf8) {
        put_fields(which, kind / 8);
    }
    put_say();
}

void client_data(struct peer_channel *channel, size_t count, bool is_stderr)
{
    put_begin(is_stderr ? SSH_MSG_CHANNEL_EXTENDED_DATA : SSH_MSG_CHANNEL_DATA);
    put_u32(channel->slot);
    if (is_stderr) {
        put_u32(1);
    }
    put_u32((uint32_t)count);
    channel->in_flight += count;
    put_bytes(stream_bytes(STREAM_STDIN, channel->data_bytes + world.steps), count);
    put_say();
}

void client_number(uint8_t number, const struct peer_channel *channel)
{
    put_begin(number);
    put_u32(channel->slot);
    put_say();
}

void client_adjust(const struct peer_channel *channel, uint32_t more)
{
    put_begin(SSH_MSG_CHANNEL_WINDOW_ADJUST);
    put_u32(channel->slot);
    put_u32(more);
    put_say();
}

static void put_proved_keys(uint8_t kind)
{
    put_host_key(0x61);
    if ((kind & 64) != 0) {
        put_host_key((kind & 32) != 0 ? 0x65 : 0x62);
    }
}

void client_global(uint8_t kind)
{
    static const char *const types[] = {"keepalive@openssh.com", "hostkeys-prove-00@openssh.com",
                                        "tcpip-forward", "no-more-sessions@openssh.com"};
    put_begin(SSH_MSG_GLOBAL_REQUEST);
    put_text(types[kind & 3]);
    put_u8((kind & 128) == 0);
    if ((kind & 3) == 1) {
        put_proved_keys(kind);
    }
    put_say();
}
