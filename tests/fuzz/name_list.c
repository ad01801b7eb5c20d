/*
 * Name-lists, and the choice that a KEXINIT leads to: the lists are split a second time, and the
 * choice is made from RFC 4253 section 7.1. A list with an empty name is read up to it.
 *
 * Of the network process only kexinit.c is here: the target has functions of its own in the place
 * of those that send, refuse and log.
 *
 * Input: a byte of circumstances, then the client's KEXINIT without the message number. If the
 * byte's highest bit is set: a list, which is split.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "net.h"
#include "second.h"
#include "transport.h"

/* ---- in the place of others ------------------------------------------------------------------ */

static char refusal[128];
static size_t sent;

enum ssh_phase connection_refuse(struct connection *connection, enum ssh_disconnect code,
                                 const char *format, ...)
{
    (void)connection;
    FUZZ_CHECK(code == SSH_DISCONNECT_PROTOCOL_ERROR || code == SSH_DISCONNECT_KEY_EXCHANGE_FAILED);
    va_list values;
    va_start(values, format);
    FUZZ_CHECK(refusal[0] == '\0' &&
               vsnprintf(refusal, sizeof(refusal), format, values) < (int)sizeof(refusal));
    va_end(values);
    return SSH_PHASE_ENDED;
}

enum ssh_phase connection_fail(struct connection *connection, const char *reason)
{
    (void)connection;
    fuzz_fail(reason, __FILE__, __LINE__);
}

struct writer message_begin(struct connection *connection, enum ssh_message number)
{
    static uint8_t bytes[LIMIT_KEXINIT_BYTES];
    struct writer message;
    (void)connection;
    writer_init(&message, bytes, sizeof(bytes));
    writer_u8(&message, (uint8_t)number);
    return message;
}

void message_send(struct connection *connection, struct writer *message)
{
    FUZZ_CHECK(!message->failed);
    FUZZ_CHECK(message->used == connection->kex.server_kexinit_bytes);
    sent++;
}

bool ask_note(struct connection *connection, uint32_t level, const char *text)
{
    (void)connection;
    (void)level;
    FUZZ_CHECK(text[0] != '\0');
    return true;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Takes the next name. False at the end and before an empty name. A name that a comma at the end
 * follows still counts. */
static bool next(struct input *list, struct input *name, bool *broken)
{
    size_t count = 0;
    if (list->left == 0) {
        return false;
    }
    while (count < list->left && list->at[count] != ',') {
        count++;
    }
    *name = input_take(list, count);
    bool comma = list->left > 0;
    input_take(list, 1);
    *broken = count == 0 || (comma && list->left == 0);
    return !*broken;
}

static void check_list(struct input list)
{
    struct reader reader = reader_over(list.at, list.left), found;
    struct input name;
    bool broken = false;
    while (next(&list, &name, &broken)) {
        FUZZ_CHECK(reader_name(&reader, &found));
        FUZZ_CHECK(second_same((struct input){found.bytes, found.left}, name));
    }
    FUZZ_CHECK(!reader_name(&reader, &found));
    FUZZ_CHECK(reader.failed == broken && reader.left == 0);
}

static bool has(struct input list, const char *wanted)
{
    struct input name;
    bool broken;
    while (next(&list, &name, &broken)) {
        if (second_is(name, wanted)) {
            return true;
        }
    }
    return false;
}

/* ---- the choice ------------------------------------------------------------------------------ */

struct choice {
    const char *refusal; /* or NULL */
    bool hybrid, certified, wrong_guess;
};

/* The first of the client's names among ours; the number of ours if there is none. */
static size_t choose(struct input list, const char *const *ours, size_t count)
{
    struct input name;
    bool broken;
    while (next(&list, &name, &broken)) {
        for (size_t i = 0; i < count; i++) {
            if (ours[i] != NULL && second_is(name, ours[i])) {
                return i;
            }
        }
    }
    return count;
}

static bool begins_with(struct input list, const char *wanted)
{
    struct input name;
    bool broken;
    return next(&list, &name, &broken) && second_is(name, wanted);
}

static const char *lacking(const struct input *lists)
{
    static const char cipher[] = "chacha20-poly1305@openssh.com";
    return !has(lists[2], cipher)   ? "no common cipher from client to server"
           : !has(lists[3], cipher) ? "no common cipher from server to client"
           : !has(lists[6], "none") ? "no common compression from client to server"
           : !has(lists[7], "none") ? "no common compression from server to client"
                                    : NULL;
}

static struct choice decide(struct input message, const struct net_options *options,
                            bool certificate, unsigned begun)
{
    const char *methods[] = {"sntrup761x25519-sha512", "sntrup761x25519-sha512@openssh.com",
                             "curve25519-sha256", "curve25519-sha256@libssh.org"};
    const char *keys[] = {certificate ? "ssh-ed25519-cert-v01@openssh.com" : NULL, "ssh-ed25519"};
    struct choice choice = {.refusal = NULL};
    struct input lists[10];
    uint64_t follows, reserved;
    bool whole = message.left >= 16, too_long = message.left + 1 > LIMIT_CLIENT_KEXINIT_BYTES;
    input_take(&message, 16);
    for (size_t i = 0; i < 10; i++) {
        whole = whole && second_string(&message, &lists[i]);
    }
    if (!whole || !second_number(&message, 1, &follows) || !second_number(&message, 4, &reserved) ||
        message.left > 0) {
        choice.refusal = "malformed KEXINIT";
        return choice;
    }
    for (size_t i = 0; i < 4; i++) {
        bool off = i < 2 ? options->no_sntrup : options->no_curve25519;
        methods[i] = off ? NULL : methods[i];
    }
    const char *first = options->no_sntrup ? methods[2] : methods[0];
    size_t method = choose(lists[0], methods, 4), key = choose(lists[1], keys, 2);
    choice.refusal = too_long      ? "KEXINIT is too long"
                     : begun >= 8  ? "too many key exchanges before login"
                     : method == 4 ? "no common key exchange method"
                     : key == 2    ? "no common host key algorithm"
                                   : lacking(lists);
    choice.hybrid = method < 2;
    choice.certified = key == 0;
    choice.wrong_guess = follows != 0 && !(first != NULL && begins_with(lists[0], first) &&
                                           begins_with(lists[1], keys[certificate ? 0 : 1]));
    return choice;
}

static void check_sent(const struct connection *connection, bool first)
{
    struct input ours = {connection->buffers.kex.server_kexinit,
                         connection->kex.server_kexinit_bytes};
    struct input list;
    FUZZ_CHECK(input_u8(&ours) == 20);
    input_take(&ours, 16);
    FUZZ_CHECK(second_string(&ours, &list));
    FUZZ_CHECK(has(list, "kex-strict-s-v00@openssh.com") == first);
    for (size_t i = 1; i < 10; i++) {
        FUZZ_CHECK(second_string(&ours, &list));
    }
    FUZZ_CHECK(ours.left == 5);
}

static void check_choice(struct input message, uint8_t kind)
{
    static struct connection connection;
    struct net_options options = {.no_sntrup = (kind & 1) != 0, .no_curve25519 = (kind & 2) != 0};
    bool first = (kind & 4) == 0, open = (kind & 8) != 0, certificate = (kind & 16) != 0;
    uint8_t *copy = input_copy((struct input){message.at - 1, message.left + 1});
    struct reader reader = reader_over(copy + 1, message.left);
    memset(&connection.kex, 0, sizeof(connection.kex));
    connection.options = &options;
    connection.phase = open ? SSH_PHASE_OPEN : SSH_PHASE_KEXINIT;
    connection.kex.session_id_bytes = first ? 0 : 32;
    connection.kex.begun_before_login = (kind & 32) != 0 ? 8 : 7;
    connection.kex.sent = (kind & 64) != 0;
    connection.host_keys.certificate_bytes = certificate ? 100 : 0;
    refusal[0] = '\0';
    sent = 0;

    enum ssh_phase phase = kexinit_on_kexinit(&connection, &reader);
    unsigned begun = !open && (kind & 32) != 0 ? 8 : 0;
    const struct choice choice = decide(message, &options, certificate, begun);
    FUZZ_CHECK(strcmp(refusal, choice.refusal != NULL ? choice.refusal : "") == 0);
    FUZZ_CHECK((phase == SSH_PHASE_ENDED) == (choice.refusal != NULL));
    if (choice.refusal == NULL) {
        enum ssh_phase guess = first ? SSH_PHASE_GUESS : SSH_PHASE_REKEY_GUESS;
        enum ssh_phase ecdh = first ? SSH_PHASE_ECDH : SSH_PHASE_REKEY_ECDH;
        struct input rest = message, list;
        FUZZ_CHECK(phase == (choice.wrong_guess ? guess : ecdh));
        FUZZ_CHECK(connection.kex.hybrid == choice.hybrid);
        FUZZ_CHECK(connection.kex.certified == choice.certified);
        FUZZ_CHECK(sent == ((kind & 64) != 0 ? 0 : 1));
        FUZZ_CHECK(connection.kex.client_kexinit_bytes == message.left + 1);
        FUZZ_CHECK(memcmp(connection.buffers.kex.client_kexinit, copy, message.left + 1) == 0);
        input_take(&rest, 16);
        second_string(&rest, &list);
        FUZZ_CHECK(connection.kex.strict == (first && has(list, "kex-strict-c-v00@openssh.com")));
        FUZZ_CHECK(connection.kex.ext_info == (first && has(list, "ext-info-c")));
        if (sent > 0) {
            check_sent(&connection, first);
        }
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint8_t kind = input_u8(&input);
    if (size == 0) {
        return 0;
    }
    if ((kind & 128) != 0) {
        uint8_t *copy = input_copy(input);
        check_list((struct input){copy, input.left});
        free(copy);
    } else if ((kind & 3) != 3) { /* one method must be left */
        check_choice(input, kind);
    }
    return 0;
}
