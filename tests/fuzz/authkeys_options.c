/*
 * Options of a line of authorized_keys, judged a second time from the meaning of each one: a flag
 * is what the last option about it says, a command or a list may stand once, the first setting of a
 * variable counts. Addresses and dates have targets of their own (match, expiry), so that here
 * both sides ask the same functions.
 *
 * Input: a byte of circumstances, a line with the client's address, then the options
 * (support/second.h).
 */
#include "authkeys_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "second.h"

#define TEXT_BYTES    24576
#define ADDRESS_BYTES 80

/* Who wants to log in, with what. */
struct attempt {
    struct authkeys_query query;
    const struct certificate *certificate;
};

/* What the options before the first broken one say. */
struct expected {
    enum authkeys_reason reason;
    struct input name; /* the option at fault */
    bool pty, user_rc, untouched, verify;
    unsigned commands, froms, principals;
    bool authority, named;
    char command[SECOND_VALUE_BYTES];
    struct fields environment;
    uint8_t environment_bytes[LIMIT_GRANT_ENVIRONMENT_BYTES];
};

static bool is(struct input name, const char *wanted)
{
    return name.left == strlen(wanted) &&
           strncasecmp((const char *)name.at, wanted, name.left) == 0;
}

static bool is_any(struct input name, const char *const *wanted)
{
    for (; *wanted != NULL; wanted++) {
        if (is(name, *wanted)) {
            return true;
        }
    }
    return false;
}

static const char *const switches[] = {"pty",
                                       "user-rc",
                                       "port-forwarding",
                                       "agent-forwarding",
                                       "X11-forwarding",
                                       "touch-required",
                                       "verify-required",
                                       NULL};
static const char *const words[] = {"restrict", "cert-authority", NULL};
static const char *const valued[] = {"command",      "principals",  "from",
                                     "expiry-time",  "environment", "permitopen",
                                     "permitlisten", "tunnel",      NULL};

static bool takes_no(struct input *name)
{
    bool no = name->left > 3 && strncasecmp((const char *)name->at, "no-", 3) == 0;
    input_take(name, no ? 3 : 0);
    return no;
}

static bool is_known(struct input name)
{
    return is_any(name, switches) || is_any(name, words) || is_any(name, valued) ||
           (takes_no(&name) && is_any(name, switches));
}

/* ---- without a value ------------------------------------------------------------------------- */

static bool say_switch(struct expected *expected, struct input name)
{
    bool on = !takes_no(&name);
    if (is(name, "restrict") && on) {
        expected->pty = expected->user_rc = false;
    } else if (is(name, "cert-authority") && on) {
        expected->authority = true;
    } else if (!is_any(name, switches)) {
        return false;
    }
    expected->pty = is(name, "pty") ? on : expected->pty;
    expected->user_rc = is(name, "user-rc") ? on : expected->user_rc;
    expected->untouched = is(name, "touch-required") ? !on : expected->untouched;
    expected->verify = is(name, "verify-required") ? on : expected->verify;
    return true;
}

/* ---- with a value ---------------------------------------------------------------------------- */

/* Zeros at the front do not count, but nine digits at most. */
static bool is_port(const char *text)
{
    size_t digits = strlen(text);
    if (strcmp(text, "*") == 0) {
        return true;
    }
    if (digits == 0 || digits > 9 || strspn(text, "0123456789") != digits) {
        return false;
    }
    long port = atol(text);
    return port >= 1 && port <= 65535;
}

static bool is_destination(const char *value, bool port_alone)
{
    char host[SECOND_VALUE_BYTES];
    const char *port = strrchr(value, ':');
    if (port == NULL) {
        return port_alone && is_port(value);
    }
    memcpy(host, value, (size_t)(port - value));
    host[port - value] = '\0';
    size_t bytes = strlen(host);
    bool bracketed = bytes > 2 && host[0] == '[' && host[bytes - 1] == ']';
    return is_port(port + 1) && (bracketed || (bytes > 0 && strchr(host, ':') == NULL));
}

/* Nine digits at most, or "any". */
static bool is_tunnel(const char *value)
{
    size_t bytes = strlen(value);
    return strcasecmp(value, "any") == 0 ||
           (bytes >= 1 && bytes <= 9 && strspn(value, "0123456789") == bytes);
}

/* Lists with the same name of both. Names without bytes are none. */
static bool share_name(struct input list, struct input principals)
{
    struct input principal;
    while (second_string(&principals, &principal)) {
        char text[SECOND_VALUE_BYTES], wanted[SECOND_VALUE_BYTES];
        input_text(list, text, sizeof(text));
        bool whole = input_text(principal, wanted, sizeof(wanted)) == principal.left;
        for (char *at = text, *name; (name = strsep(&at, ",")) != NULL;) {
            if (whole && name[0] != '\0' && strcmp(name, wanted) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool set_variable(struct expected *expected, const char *value, bool may_set)
{
    size_t name_bytes = strcspn(value, "=");
    for (size_t i = 0; i < name_bytes; i++) {
        char letter = (char)(value[i] | 0x20);
        bool good = (letter >= 'a' && letter <= 'z') || (value[i] >= '0' && value[i] <= '9');
        if (!good && value[i] != '_') {
            return false;
        }
    }
    if (name_bytes == 0 || value[name_bytes] == '\0') {
        return false;
    }
    struct fields *all = &expected->environment;
    for (size_t at = 0; at < all->used; at += strlen((char *)all->bytes + at) + 1) {
        if (strncmp((char *)all->bytes + at, value, name_bytes + 1) == 0) {
            return true;
        }
    }
    if (!may_set) {
        return true;
    }
    bool fits = strlen(value) < all->room - all->used;
    fields_bytes(all, value, fits ? strlen(value) + 1 : 0);
    return fits;
}

static enum authkeys_reason say_from(struct expected *expected, const char *value,
                                     const char *address)
{
    if (expected->froms++ > 0) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    return match_from(reader_over(value, strlen(value)), address);
}

static enum authkeys_reason say_value(struct expected *expected, struct input name,
                                      const char *value, const struct attempt *attempt)
{
    bool good = true;
    int64_t end;
    if (is(name, "command")) {
        good = expected->commands++ == 0;
        strcpy(expected->command, value);
    } else if (is(name, "principals")) {
        good = expected->principals++ == 0;
        const struct certificate *certificate = attempt->certificate;
        expected->named =
            certificate != NULL &&
            share_name((struct input){(const uint8_t *)value, strlen(value)},
                       (struct input){certificate->principals.bytes, certificate->principals.left});
    } else if (is(name, "from")) {
        return say_from(expected, value, attempt->query.address);
    } else if (is(name, "expiry-time")) {
        if (expiry_read(&end, value)) {
            return end <= attempt->query.now ? AUTHKEYS_EXPIRED : AUTHKEYS_GOOD;
        }
        good = false;
    } else if (is(name, "environment")) {
        good = set_variable(expected, value, attempt->query.may_set_environment);
    } else if (is(name, "tunnel")) {
        good = is_tunnel(value);
    } else {
        good = is_destination(value, is(name, "permitlisten"));
    }
    return good ? AUTHKEYS_GOOD : AUTHKEYS_BROKEN_OPTION;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static enum authkeys_reason say_option(struct expected *expected,
                                       const struct second_option *option,
                                       const struct attempt *attempt)
{
    bool good = option->valued ? is_any(option->name, valued) : say_switch(expected, option->name);
    if (!good) {
        return is_known(option->name) ? AUTHKEYS_BROKEN_OPTION : AUTHKEYS_UNKNOWN_OPTION;
    }
    if (option->valued && !option->readable) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    enum authkeys_reason reason =
        option->valued ? say_value(expected, option->name, option->value, attempt) : AUTHKEYS_GOOD;
    bool judged = reason != AUTHKEYS_BROKEN_OPTION;
    return judged && !option->ends ? AUTHKEYS_BROKEN_OPTION : reason;
}

static void expect(struct expected *expected, struct input options, const struct attempt *attempt)
{
    static struct second_option option;
    memset(expected, 0, sizeof(*expected));
    expected->pty = expected->user_rc = true;
    expected->reason = AUTHKEYS_GOOD;
    expected->environment = (struct fields)FIELDS_IN(expected->environment_bytes);
    while (options.left > 0) {
        second_option(&options, &option);
        enum authkeys_reason reason = say_option(expected, &option, attempt);
        bool broken = reason == AUTHKEYS_BROKEN_OPTION || reason == AUTHKEYS_UNKNOWN_OPTION;
        if (broken || (reason != AUTHKEYS_GOOD && expected->reason == AUTHKEYS_GOOD)) {
            expected->reason = reason;
            expected->name = option.name;
        }
        if (broken) {
            return;
        }
    }
    if (expected->reason == AUTHKEYS_GOOD && expected->principals > 0 && !expected->authority) {
        expected->reason = AUTHKEYS_BROKEN_OPTION;
        expected->name = (struct input){(const uint8_t *)"principals", strlen("principals")};
    }
}

static void check_grant(const struct grant *grant, const struct expected *expected)
{
    uint32_t flags = (expected->pty ? GRANT_PTY : 0) | (expected->user_rc ? GRANT_USER_RC : 0) |
                     (expected->untouched ? GRANT_UNTOUCHED : 0) |
                     (expected->verify ? GRANT_VERIFY : 0) |
                     (expected->commands > 0 ? GRANT_FORCED : 0);
    FUZZ_CHECK(grant->flags == flags);
    FUZZ_CHECK(strcmp(grant->command, expected->command) == 0);
    FUZZ_CHECK(grant->command_bytes == strlen(expected->command));
    FUZZ_CHECK(grant->environment_bytes == expected->environment.used);
    FUZZ_CHECK(
        memcmp(grant->environment, expected->environment_bytes, sizeof(grant->environment)) == 0);
}

static void check(struct input options, const struct attempt *attempt)
{
    static struct grant grant;
    static struct expected expected;
    struct authkeys_line_terms terms;
    char option[AUTHKEYS_OPTION_BYTES] = "", cut[AUTHKEYS_OPTION_BYTES] = "";
    memset(&grant, 0xa5, sizeof(grant)); /* of a line before */
    enum authkeys_reason reason =
        authkeys_options_of_line(&grant, &terms, option, reader_over(options.at, options.left),
                                 &attempt->query, attempt->certificate);
    expect(&expected, options, attempt);
    FUZZ_CHECK(reason == expected.reason);
    if (expected.name.left > 0) {
        size_t shown = expected.name.left < sizeof(cut) ? expected.name.left : sizeof(cut) - 1;
        memcpy(cut, expected.name.at, shown);
    }
    FUZZ_CHECK(memcmp(option, cut, sizeof(cut)) == 0);
    if (reason == AUTHKEYS_GOOD) {
        check_grant(&grant, &expected);
        FUZZ_CHECK(terms.is_authority == expected.authority);
        FUZZ_CHECK(terms.has_principals == (expected.principals > 0));
        FUZZ_CHECK(terms.names_principal == expected.named);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t principals[] = "\0\0\0\5alice\0\0\0\0\0\0\0\3bob\0\0\0\3a,b";
    static uint8_t bytes[TEXT_BYTES];
    const struct certificate certificate = {
        .principals = reader_over(principals, sizeof(principals) - 1),
    };
    struct input input = {data, size};
    char address[ADDRESS_BYTES];
    uint8_t kind = input_u8(&input);
    input_text(input_line(&input), address, sizeof(address));
    const struct attempt attempt = {
        .query.address = (kind & 1) != 0 ? NULL : address,
        .query.now = 1800000000,
        .query.may_set_environment = (kind & 2) != 0,
        .certificate = (kind & 4) != 0 ? &certificate : NULL,
    };
    setenv("TZ", "UTC0", 1);
    size_t count = second_expand(bytes, sizeof(bytes), input, "\"192.0.2.7\"");
    uint8_t *copy = input_copy((struct input){bytes, count});
    check((struct input){copy, count}, &attempt);
    free(copy);
    return 0;
}
