/*
 * options = option *("," option)
 * option  = name | name "=" DQUOTE value DQUOTE        names in any case
 * value   = anything; \" is a quote
 */
#include "authkeys_options.h"

#include <string.h>
#include <strings.h>

#include "expiry.h"
#include "match.h"
#include "text.h"

struct reading {
    const struct login_attempt *attempt;
    struct grant *grant;
    struct authkeys_line_terms *terms;
    bool has_from;
    char value[LIMIT_OPTION_BYTES]; /* of the option at hand, without its quotes */
};

enum form {
    PLAIN = 1 << 0,
    NEGATED = 1 << 1, /* with no- in front */
    VALUED = 1 << 2,
};

struct option {
    char name[sizeof("agent-forwarding")];
    uint8_t forms; /* in which it may stand */
    uint32_t flag; /* of the grant */
    enum authkeys_reason (*handle)(struct reading *reading, const struct option *option,
                                   enum form form);
};

static struct reader value_of(const struct reading *reading)
{
    return reader_over(reading->value, strlen(reading->value));
}

static enum authkeys_reason good_if(bool good)
{
    return good ? AUTHKEYS_LISTED : AUTHKEYS_BROKEN_OPTION;
}

/* ---- what they do ---------------------------------------------------------------------------- */

static enum authkeys_reason on_nothing(struct reading *reading, const struct option *option,
                                       enum form form)
{
    (void)reading;
    (void)option;
    (void)form;
    return AUTHKEYS_LISTED;
}

static enum authkeys_reason on_flag(struct reading *reading, const struct option *option,
                                    enum form form)
{
    if (form == NEGATED) {
        reading->grant->flags &= ~option->flag;
    } else {
        reading->grant->flags |= option->flag;
    }
    return AUTHKEYS_LISTED;
}

static enum authkeys_reason on_touch(struct reading *reading, const struct option *option,
                                     enum form form)
{
    return on_flag(reading, option, form == NEGATED ? PLAIN : NEGATED);
}

static enum authkeys_reason on_restrict(struct reading *reading, const struct option *option,
                                        enum form form)
{
    (void)form;
    reading->grant->flags &= ~option->flag;
    return AUTHKEYS_LISTED;
}

static enum authkeys_reason on_authority(struct reading *reading, const struct option *option,
                                         enum form form)
{
    (void)option;
    (void)form;
    reading->terms->is_authority = true;
    return AUTHKEYS_LISTED;
}

static enum authkeys_reason on_command(struct reading *reading, const struct option *option,
                                       enum form form)
{
    struct grant *grant = reading->grant;
    size_t bytes = strlen(reading->value);
    (void)form;
    if ((grant->flags & option->flag) != 0 || bytes >= sizeof(grant->command)) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    grant->flags |= option->flag;
    memcpy(grant->command, reading->value, bytes + 1);
    grant->command_bytes = (uint32_t)bytes;
    return AUTHKEYS_LISTED;
}

static enum authkeys_reason on_principals(struct reading *reading, const struct option *option,
                                          enum form form)
{
    const struct certificate *certificate = reading->attempt->certificate;
    (void)option;
    (void)form;
    if (reading->terms->has_principals) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    reading->terms->has_principals = true;
    reading->terms->names_principal =
        certificate != NULL && certificate_names_one_of(certificate, value_of(reading));
    return AUTHKEYS_LISTED;
}

static enum authkeys_reason on_from(struct reading *reading, const struct option *option,
                                    enum form form)
{
    (void)option;
    (void)form;
    if (reading->has_from) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    reading->has_from = true;
    switch (match_from(value_of(reading), reading->attempt->address)) {
    case MATCH_YES:
        return AUTHKEYS_LISTED;
    case MATCH_NO:
        return AUTHKEYS_ELSEWHERE;
    case MATCH_BROKEN:
        break;
    }
    return AUTHKEYS_BROKEN_OPTION;
}

/* May stand several times: the earliest counts. */
static enum authkeys_reason on_expiry_time(struct reading *reading, const struct option *option,
                                           enum form form)
{
    int64_t at;
    (void)option;
    (void)form;
    if (!expiry_read(&at, reading->value)) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    return reading->attempt->now < at ? AUTHKEYS_LISTED : AUTHKEYS_EXPIRED;
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
static enum authkeys_reason on_environment(struct reading *reading, const struct option *option,
                                           enum form form)
{
    struct grant *grant = reading->grant;
    const char *value = reading->value;
    size_t name_bytes = strspn(value, "abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    size_t bytes = strlen(value) + 1;
    (void)option;
    (void)form;
    if (name_bytes == 0 || value[name_bytes] != '=') {
        return AUTHKEYS_BROKEN_OPTION;
    }
    if (!reading->attempt->may_set_environment || has_variable(grant, value, name_bytes)) {
        return AUTHKEYS_LISTED;
    }
    if (bytes > sizeof(grant->environment) - grant->environment_bytes) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    memcpy(grant->environment + grant->environment_bytes, value, bytes);
    grant->environment_bytes += (uint32_t)bytes;
    return AUTHKEYS_LISTED;
}

/* ---- forwarding: read, and never granted ----------------------------------------------------- */

/* 1 to 65535, or *. */
static bool is_port(const char *text)
{
    unsigned port;
    return strcmp(text, "*") == 0 || (number_read(&port, text) && port > 0 && port <= 65535);
}

/* host:port, [address]:port; for permitlisten also a port alone. */
static enum authkeys_reason on_permit(struct reading *reading, const struct option *option,
                                      enum form form)
{
    const char *value = reading->value;
    const char *colon = strrchr(value, ':');
    (void)form;
    if (colon == NULL) {
        return good_if(strcmp(option->name, "permitlisten") == 0 && is_port(value));
    }
    bool bracketed = value[0] == '[' && colon - value >= 3 && colon[-1] == ']';
    bool named = colon != value && memchr(value, ':', (size_t)(colon - value)) == NULL;
    return good_if((bracketed || named) && is_port(colon + 1));
}

static enum authkeys_reason on_tunnel(struct reading *reading, const struct option *option,
                                      enum form form)
{
    unsigned unit;
    (void)option;
    (void)form;
    return good_if(strcasecmp(reading->value, "any") == 0 || number_read(&unit, reading->value));
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct option options_known[] = {
    {"restrict", PLAIN, GRANT_PTY | GRANT_USER_RC, on_restrict},
    {"cert-authority", PLAIN, 0, on_authority},
    {"pty", PLAIN | NEGATED, GRANT_PTY, on_flag},
    {"user-rc", PLAIN | NEGATED, GRANT_USER_RC, on_flag},
    {"port-forwarding", PLAIN | NEGATED, 0, on_nothing},
    {"agent-forwarding", PLAIN | NEGATED, 0, on_nothing},
    {"X11-forwarding", PLAIN | NEGATED, 0, on_nothing},
    {"touch-required", PLAIN | NEGATED, GRANT_UNTOUCHED, on_touch},
    {"verify-required", PLAIN | NEGATED, GRANT_VERIFY, on_flag},
    {"command", VALUED, GRANT_FORCED, on_command},
    {"principals", VALUED, 0, on_principals},
    {"from", VALUED, 0, on_from},
    {"expiry-time", VALUED, 0, on_expiry_time},
    {"environment", VALUED, 0, on_environment},
    {"permitopen", VALUED, 0, on_permit},
    {"permitlisten", VALUED, 0, on_permit},
    {"tunnel", VALUED, 0, on_tunnel},
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

/* Whatever its form: one that is known and stands wrongly is broken, not unknown. */
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
    return option->handle(reading, option, form);
}

/* An option ends with the text, or with a comma and another option. */
static bool take_comma(struct reader *text)
{
    return text->left == 0 || (reader_take(text, ",") && text->left > 0);
}

/* Never inlined, for the size of the program: it has many callers. */
__attribute__((noinline)) void authkeys_name_option(char out[static AUTHKEYS_OPTION_BYTES],
                                                    const void *name, size_t name_bytes)
{
    size_t bytes = name_bytes < AUTHKEYS_OPTION_BYTES ? name_bytes : AUTHKEYS_OPTION_BYTES - 1;
    memset(out, 0, AUTHKEYS_OPTION_BYTES);
    if (bytes > 0) {
        memcpy(out, name, bytes);
    }
}

bool authkeys_options_name_authority(struct reader options)
{
    struct reading reading = {.attempt = NULL};
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
                                              const struct login_attempt *attempt)
{
    struct reading reading = {.attempt = attempt, .grant = grant, .terms = terms};
    enum authkeys_reason refused = AUTHKEYS_LISTED;
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
        if (reason != AUTHKEYS_LISTED && (broken || refused == AUTHKEYS_LISTED)) {
            authkeys_name_option(option, name.bytes, name.left);
            refused = reason;
        }
        if (broken) {
            break;
        }
    }
    if (refused == AUTHKEYS_LISTED && terms->has_principals && !terms->is_authority) {
        authkeys_name_option(option, "principals", strlen("principals"));
        refused = AUTHKEYS_BROKEN_OPTION;
    }
    return refused;
}
