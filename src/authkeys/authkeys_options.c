/*
 * options = option *("," option)
 * option  = name | name "=" DQUOTE value DQUOTE        names in any case
 * value   = anything; \" is a quote
 */
#include "authkeys_internal.h"

#include <strings.h>

struct reading {
    const struct authkeys_query *query;
    const struct certificate *certificate;
    struct grant *grant;
    struct authkeys_line_terms *terms;
    bool has_from;
    char value[LIMIT_OPTION_BYTES]; /* of the present option, without its quotes */
};

enum form {
    PLAIN = 1 << 0,
    NEGATED = 1 << 1, /* with no- in front */
    VALUED = 1 << 2,
};

struct option {
    char name[sizeof("agent-forwarding")];
    uint8_t forms; /* in which it is allowed */
    uint8_t sets;  /* in which it sets the flag; the others clear it */
    uint32_t flag; /* of the grant */
    enum authkeys_reason (*handle)(struct reading *reading); /* for more than a flag */
};

static struct reader value_of(const struct reading *reading)
{
    return reader_over(reading->value, strlen(reading->value));
}

static enum authkeys_reason good_if(bool good)
{
    return good ? AUTHKEYS_GOOD : AUTHKEYS_BROKEN_OPTION;
}

/* ---- what they do ---------------------------------------------------------------------------- */

static enum authkeys_reason on_authority(struct reading *reading)
{
    reading->terms->is_authority = true;
    return AUTHKEYS_GOOD;
}

static enum authkeys_reason on_command(struct reading *reading)
{
    struct grant *grant = reading->grant;
    size_t bytes = strlen(reading->value);
    if ((grant->flags & GRANT_FORCED) != 0 || bytes >= sizeof(grant->command)) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    grant->flags |= GRANT_FORCED;
    memcpy(grant->command, reading->value, bytes + 1);
    grant->command_bytes = (uint32_t)bytes;
    return AUTHKEYS_GOOD;
}

static enum authkeys_reason on_principals(struct reading *reading)
{
    const struct certificate *certificate = reading->certificate;
    if (reading->terms->has_principals) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    reading->terms->has_principals = true;
    reading->terms->names_principal =
        certificate != NULL && certificate_names_one_of(certificate, value_of(reading));
    return AUTHKEYS_GOOD;
}

static enum authkeys_reason on_from(struct reading *reading)
{
    if (reading->has_from) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    reading->has_from = true;
    return match_from(value_of(reading), reading->query->address);
}

/* May be repeated: the earliest time counts. */
static enum authkeys_reason on_expiry_time(struct reading *reading)
{
    int64_t at;
    if (!expiry_read(&at, reading->value)) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    return reading->query->now < at ? AUTHKEYS_GOOD : AUTHKEYS_EXPIRED;
}

static bool has_variable(const struct grant *grant, const char *name, size_t name_bytes)
{
    const char *end = grant->environment + grant->environment_bytes;
    for (const char *at = grant->environment; at < end; at += strlen(at) + 1) {
        if (strncmp(at, name, name_bytes) == 0 && at[name_bytes] == '=') {
            return true;
        }
    }
    return false;
}

/* Of several settings of one variable the first counts. */
static enum authkeys_reason on_environment(struct reading *reading)
{
    struct grant *grant = reading->grant;
    const char *value = reading->value;
    size_t name_bytes = strspn(value, "abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    size_t bytes = strlen(value) + 1;
    if (name_bytes == 0 || value[name_bytes] != '=') {
        return AUTHKEYS_BROKEN_OPTION;
    }
    if (!reading->query->may_set_environment || has_variable(grant, value, name_bytes)) {
        return AUTHKEYS_GOOD;
    }
    if (bytes > sizeof(grant->environment) - grant->environment_bytes) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    memcpy(grant->environment + grant->environment_bytes, value, bytes);
    grant->environment_bytes += (uint32_t)bytes;
    return AUTHKEYS_GOOD;
}

/* ---- forwarding: read, and never granted ----------------------------------------------------- */

/* 1 to 65535, or *. */
static bool is_port(const char *text)
{
    unsigned port;
    return strcmp(text, "*") == 0 || (number_read(&port, text) && port > 0 && port <= 65535);
}

/* host:port or [address]:port. */
static bool is_host_and_port(const char *text)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL) {
        return false;
    }
    bool bracketed = text[0] == '[' && colon - text >= 3 && colon[-1] == ']';
    bool named = colon != text && memchr(text, ':', (size_t)(colon - text)) == NULL;
    return (bracketed || named) && is_port(colon + 1);
}

static enum authkeys_reason on_permitopen(struct reading *reading)
{
    return good_if(is_host_and_port(reading->value));
}

static enum authkeys_reason on_permitlisten(struct reading *reading)
{
    return good_if(is_host_and_port(reading->value) || is_port(reading->value));
}

static enum authkeys_reason on_tunnel(struct reading *reading)
{
    unsigned unit;
    return good_if(strcasecmp(reading->value, "any") == 0 || number_read(&unit, reading->value));
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct option options_known[] = {
    {"restrict", PLAIN, 0, GRANT_PTY | GRANT_USER_RC, NULL},
    {"cert-authority", PLAIN, 0, 0, on_authority},
    {"pty", PLAIN | NEGATED, PLAIN, GRANT_PTY, NULL},
    {"user-rc", PLAIN | NEGATED, PLAIN, GRANT_USER_RC, NULL},
    {"port-forwarding", PLAIN | NEGATED, 0, 0, NULL},
    {"agent-forwarding", PLAIN | NEGATED, 0, 0, NULL},
    {"X11-forwarding", PLAIN | NEGATED, 0, 0, NULL},
    {"touch-required", PLAIN | NEGATED, NEGATED, GRANT_UNTOUCHED, NULL},
    {"verify-required", PLAIN | NEGATED, PLAIN, GRANT_VERIFY, NULL},
    {"command", VALUED, 0, 0, on_command},
    {"principals", VALUED, 0, 0, on_principals},
    {"from", VALUED, 0, 0, on_from},
    {"expiry-time", VALUED, 0, 0, on_expiry_time},
    {"environment", VALUED, 0, 0, on_environment},
    {"permitopen", VALUED, 0, 0, on_permitopen},
    {"permitlisten", VALUED, 0, 0, on_permitlisten},
    {"tunnel", VALUED, 0, 0, on_tunnel},
};

static bool is_name(const struct reader *name, const char *wanted)
{
    return name->left == strlen(wanted) &&
           strncasecmp((const char *)name->bytes, wanted, name->left) == 0;
}

/* Consumes "no-" if a name follows it. */
static bool take_no(struct reader *name)
{
    return name->left > 3 && strncasecmp((const char *)name->bytes, "no-", 3) == 0 &&
           reader_bytes(name, 3) != NULL;
}

static const struct option *find_option(const struct reader *name, unsigned form)
{
    for (size_t i = 0; i < sizeof(options_known) / sizeof(options_known[0]); i++) {
        const struct option *option = &options_known[i];
        if ((option->forms & form) != 0 && is_name(name, option->name)) {
            return option;
        }
    }
    return NULL;
}

/* A known option in the wrong form is broken, not unknown. */
static bool is_known(struct reader name)
{
    return find_option(&name, PLAIN | NEGATED | VALUED) != NULL ||
           (take_no(&name) && find_option(&name, NEGATED) != NULL);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads a value in quotes. A NUL is refused: it would hide the rest of the value. */
static bool read_quoted(struct reading *reading, struct reader *text)
{
    size_t used = 0;
    int byte;
    if (!reader_take(text, "\"")) {
        return false;
    }
    while ((byte = reader_peek(text)) > 0 && byte != '"') {
        if (used + 1 >= sizeof(reading->value)) {
            return false;
        }
        reading->value[used++] = (char)(reader_take(text, "\\\"") ? '"' : reader_u8(text));
    }
    reading->value[used] = '\0';
    return reader_take(text, "\"");
}

static enum authkeys_reason read_option(struct reading *reading, struct reader *text,
                                        const struct reader *whole_name)
{
    struct reader name = *whole_name;
    enum form form = PLAIN;
    if (reader_take(text, "=")) {
        form = VALUED;
    } else if (take_no(&name)) {
        form = NEGATED;
    }
    const struct option *option = find_option(&name, form);
    if (option == NULL) {
        return is_known(*whole_name) ? AUTHKEYS_BROKEN_OPTION : AUTHKEYS_UNKNOWN_OPTION;
    }
    if (form == VALUED && !read_quoted(reading, text)) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    if (option->handle != NULL) {
        return option->handle(reading);
    }
    if ((option->sets & form) != 0) {
        reading->grant->flags |= option->flag;
    } else {
        reading->grant->flags &= ~option->flag;
    }
    return AUTHKEYS_GOOD;
}

/* An option ends with the text, or with a comma and another option. */
static bool take_comma(struct reader *text)
{
    return text->left == 0 || (reader_take(text, ",") && text->left > 0);
}

bool authkeys_options_name_authority(struct reader options)
{
    struct reading reading = {.query = NULL};
    while (options.left > 0) {
        struct reader name = reader_until(&options, ",=");
        bool valued = reader_take(&options, "=");
        if (!valued && is_name(&name, "cert-authority")) {
            return true;
        }
        if ((valued && !read_quoted(&reading, &options)) || !take_comma(&options)) {
            return false;
        }
    }
    return false;
}

/* Reads all options even if one refuses: a malformed one after it is the better reason to log. */
enum authkeys_reason authkeys_options_of_line(struct grant *grant,
                                              struct authkeys_line_terms *terms,
                                              char option[static AUTHKEYS_OPTION_BYTES],
                                              struct reader options,
                                              const struct authkeys_query *query,
                                              const struct certificate *certificate)
{
    struct reading reading = {
        .query = query, .certificate = certificate, .grant = grant, .terms = terms};
    enum authkeys_reason refused = AUTHKEYS_GOOD;
    memset(terms, 0, sizeof(*terms));
    grant->flags = GRANT_OF_PLAIN_LINE;
    grant->command_bytes = grant->environment_bytes = 0;
    memset(grant->command, 0, sizeof(grant->command));
    memset(grant->environment, 0, sizeof(grant->environment));
    while (options.left > 0) {
        struct reader name = reader_until(&options, ",=");
        enum authkeys_reason reason = read_option(&reading, &options, &name);
        bool broken = reason == AUTHKEYS_UNKNOWN_OPTION || reason == AUTHKEYS_BROKEN_OPTION;
        if (!broken && !take_comma(&options)) {
            reason = AUTHKEYS_BROKEN_OPTION;
            broken = true;
        }
        if (reason != AUTHKEYS_GOOD && (broken || refused == AUTHKEYS_GOOD)) {
            authkeys_name_option(option, name.bytes, name.left);
            refused = reason;
        }
        if (broken) {
            break;
        }
    }
    if (refused == AUTHKEYS_GOOD && terms->has_principals && !terms->is_authority) {
        authkeys_name_option(option, "principals", strlen("principals"));
        refused = AUTHKEYS_BROKEN_OPTION;
    }
    return refused;
}
