/* The parts of what wire_bytes.c reads: packets, and the fields in their payloads. */
#include "mutate.h"

#include <string.h>

#include "wire.h"

enum { HEADER, PACKET, SEALED, STRING, NUMBER };

#define STR(length, text) "\0\0\0" length text
#define OPENING           STR("\7", "session")

const struct mutate_word mutate_words[] = {
    MUTATE_WORD(SEALED, "\5" STR("\x0c", "ssh-userauth")),
    MUTATE_WORD(SEALED, "\2" STR("\3", "x\0y")),
    MUTATE_WORD(SEALED, "\x5a" OPENING "\0\0\0\7\0\1\0\0\0\0\x80\0"),
    MUTATE_WORD(SEALED, "\x5a" OPENING "\0\0\0\x08\0\0\0\x08\0\0\0\1"),
    MUTATE_WORD(SEALED, "\x5b\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1"),
    MUTATE_WORD(SEALED, "\x5d\0\0\0\0\0\1\0\0"),
    MUTATE_WORD(SEALED, "\x5e\0\0\0\0" STR("\5", "hello")),
    MUTATE_WORD(SEALED, "\x5f\0\0\0\0\0\0\0\1" STR("\5", "hello")),
    MUTATE_WORD(SEALED, "\x60\0\0\0\0"),
    MUTATE_WORD(SEALED, "\x61\0\0\0\0"),
    MUTATE_WORD(SEALED, "\x50" STR("\x15", "keepalive@openssh.com") "\1"),
    MUTATE_WORD(SEALED, "\x50" STR("\x1c", "no-more-sessions@openssh.com") "\0"),
    MUTATE_WORD(SEALED, "\x62\0\0\0\0" STR("\5", "shell") "\1"),
    MUTATE_WORD(SEALED, "\x62\0\0\0\0" STR("\4", "exec") "\1" STR("\2", "ls")),
    MUTATE_WORD(SEALED, "\x62\0\0\0\0" STR("\x09", "subsystem") "\1" STR("\4", "sftp")),
    MUTATE_WORD(SEALED, "\x62\0\0\0\0" STR("\3", "env") "\1" STR("\4", "LANG") STR("\1", "C")),
    MUTATE_WORD(
        SEALED,
        "\x62\0\0\0\0" STR("\7", "pty-req") "\1" STR(
            "\5", "xterm") "\0\0\0\x50\0\0\0\x18\0\0\0\0\0\0\0\0" STR("\6", "\x35\0\0\0\1\0")),
    MUTATE_WORD(SEALED, "\x62\0\0\0\0" STR(
                            "\x0d", "window-change") "\0\0\0\0\x50\0\0\0\x18\0\0\0\0\0\0\0\0"),
    MUTATE_WORD(SEALED, "\x62\0\0\0\0" STR("\6", "signal") "\0" STR("\4", "TERM")),
    MUTATE_WORD(SEALED, "\x62\0\0\0\0" STR("\5", "break") "\1\0\0\0\0"),
    MUTATE_WORD(SEALED, "\xc0" STR("\4", "ping")),
    MUTATE_WORD(PACKET, "\2" STR("\3", "x\0y")),
    MUTATE_WORD(PACKET, "\x15"),
    MUTATE_WORD(STRING, STR("\0", "")),
    MUTATE_WORD(STRING, STR("\7", "session")),
    MUTATE_WORD(STRING, STR("\x0b", "ssh-ed25519")),
    MUTATE_WORD(NUMBER, "\0\0\0\0"),
    MUTATE_WORD(NUMBER, "\0\0\0\1"),
    MUTATE_WORD(NUMBER, "\0\0\x80\0"),
    MUTATE_WORD(NUMBER, "\xff\xff\xff\xff"),
};
const size_t mutate_word_count = sizeof(mutate_words) / sizeof(mutate_words[0]);

uint8_t mutate_separator(int kind)
{
    (void)kind;
    return 0;
}

/* The fields behind a message's number: s is a string, 1, 4 and c are so many bytes (c is a
 * cookie). */
static const char *const fields_of[256] = {
    [SSH_MSG_DISCONNECT] = "4ss",
    [SSH_MSG_IGNORE] = "s",
    [SSH_MSG_UNIMPLEMENTED] = "4",
    [SSH_MSG_DEBUG] = "1ss",
    [SSH_MSG_SERVICE_REQUEST] = "s",
    [SSH_MSG_KEXINIT] = "cssssssssss14",
    [SSH_MSG_KEX_ECDH_INIT] = "s",
    [SSH_MSG_USERAUTH_REQUEST] = "sss1sss",
    [SSH_MSG_GLOBAL_REQUEST] = "s1ssss",
    [SSH_MSG_CHANNEL_OPEN] = "s444ss",
    [SSH_MSG_CHANNEL_WINDOW_ADJUST] = "44",
    [SSH_MSG_CHANNEL_DATA] = "4s",
    [SSH_MSG_CHANNEL_EXTENDED_DATA] = "44s",
    [SSH_MSG_CHANNEL_EOF] = "4",
    [SSH_MSG_CHANNEL_CLOSE] = "4",
    [SSH_MSG_CHANNEL_REQUEST] = "4s1",
};

/* What a channel request brings. */
static const char *request_fields(struct input name)
{
    static const struct {
        const char *name, *fields;
    } requests[] = {{"pty-req", "s4444s"}, {"window-change", "4444"}, {"env", "ss"}, {"exec", "s"},
                    {"subsystem", "s"},    {"signal", "s"},           {"break", "4"}};
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        if (name.left == strlen(requests[i].name) &&
            memcmp(name.at, requests[i].name, name.left) == 0) {
            return requests[i].fields;
        }
    }
    return "";
}

static size_t find_fields(struct mutate_parts *parts, int packet, struct input input, size_t at,
                          size_t end, const char *fields)
{
    for (; *fields != '\0' && at < end; fields++) {
        if (*fields == 's') {
            at = mutate_add_counted(parts, STRING, packet, input, at, 4, end);
            continue;
        }
        size_t count = *fields == 'c' ? 16 : (size_t)(*fields - '0');
        if (count > end - at) {
            return SIZE_MAX;
        }
        if (*fields == '4') {
            int number = mutate_add(parts, NUMBER, packet, at, at + count);
            if (number >= 0) {
                parts->part[number].form = MUTATE_NUMBER;
            }
        }
        at += count;
    }
    return at;
}

static void find_payload(struct mutate_parts *parts, int packet, struct input input)
{
    size_t at = parts->part[packet].content, end = parts->part[packet].content_end;
    const char *fields = at < end ? fields_of[input.at[at]] : NULL;
    if (fields == NULL) {
        return;
    }
    size_t name = at + 5;
    size_t rest = find_fields(parts, packet, input, at + 1, end, fields);
    if (input.at[at] == SSH_MSG_CHANNEL_REQUEST && rest < end) {
        struct input request = {input.at + name + 4, rest - 1 - name - 4};
        find_fields(parts, packet, input, rest, end, request_fields(request));
    }
}

/* Returns where the packet ends, or SIZE_MAX if there is none. */
static size_t find_packet(struct mutate_parts *parts, struct input input, size_t at, bool sealed)
{
    size_t tag = sealed ? 16 : 0;
    struct input rest = {input.at + at, input.left - at};
    size_t length = input_u32(&rest);
    size_t padding = input_u8(&rest);
    int number = -1;
    if (length > padding && length < input.left && 4 + length + tag <= input.left - at) {
        number = mutate_add(parts, sealed ? SEALED : PACKET, -1, at, at + 4 + length + tag);
    }
    if (number < 0) {
        return SIZE_MAX;
    }
    struct mutate_part *part = &parts->part[number];
    part->form = sealed ? MUTATE_SEALED : MUTATE_PACKET;
    part->content = at + 5;
    part->content_end = at + 4 + length - padding;
    find_payload(parts, number, input);
    return part->end;
}

void mutate_find(struct mutate_parts *parts, struct input input)
{
    struct input rest = input;
    input_take(&rest, 2);
    input_line(&rest);
    size_t at = input.left - rest.left;
    bool sealed = false;
    mutate_add(parts, HEADER, -1, 0, at);
    while (at < input.left) {
        size_t begin = at;
        at = find_packet(parts, input, at, sealed);
        sealed =
            sealed || (at != SIZE_MAX && at > begin + 5 && input.at[begin + 5] == SSH_MSG_NEWKEYS);
    }
}
