/* The part of authkeys_options.h about certificates. */
#include <string.h>

#include "authkeys_options.h"
#include "match.h"

#define TYPE_USER 1

/* What a certificate allows and forces; merged into the line's grant once all of it is read. */
struct terms {
    const struct login_attempt *attempt;
    uint32_t flags;
    struct reader command;
    bool has_source;
};

struct option {
    char name[sizeof("permit-agent-forwarding")];
    uint32_t flag;
    enum authkeys_reason (*handle)(struct terms *terms, struct reader data);
};

/* Data that is a text in a string; broken if it is anything else. */
static bool read_value(struct reader *value, struct reader data)
{
    *value = reader_string(&data);
    return reader_end(&data) && !reader_has_nul(value);
}

static enum authkeys_reason on_force_command(struct terms *terms, struct reader data)
{
    if ((terms->flags & GRANT_FORCED) != 0 || !read_value(&terms->command, data) ||
        terms->command.left >= LIMIT_FORCED_COMMAND_BYTES) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    terms->flags |= GRANT_FORCED;
    return AUTHKEYS_LISTED;
}

static enum authkeys_reason on_source_address(struct terms *terms, struct reader data)
{
    struct reader list;
    if (terms->has_source || !read_value(&list, data) || list.left >= LIMIT_OPTION_BYTES) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    terms->has_source = true;
    switch (match_networks(list, terms->attempt->address)) {
    case MATCH_YES:
        return AUTHKEYS_LISTED;
    case MATCH_NO:
        return AUTHKEYS_ELSEWHERE;
    case MATCH_BROKEN:
        break;
    }
    return AUTHKEYS_BROKEN_OPTION;
}

static const struct option critical_options[] = {
    {"force-command", 0, on_force_command},
    {"source-address", 0, on_source_address},
    {"verify-required", GRANT_VERIFY, NULL},
    {"", 0, NULL},
};

static const struct option extensions[] = {
    {"permit-pty", GRANT_PTY, NULL},
    {"permit-user-rc", GRANT_USER_RC, NULL},
    {"no-touch-required", GRANT_UNTOUCHED, NULL},
    {"permit-port-forwarding", 0, NULL},
    {"permit-agent-forwarding", 0, NULL},
    {"permit-X11-forwarding", 0, NULL},
    {"", 0, NULL},
};

static enum authkeys_reason read_one(struct terms *terms, const struct option *known,
                                     const struct reader *name, struct reader data)
{
    while (known->name[0] != '\0' && !reader_is(name, known->name)) {
        known++;
    }
    if (known->name[0] == '\0') {
        return AUTHKEYS_UNKNOWN_OPTION;
    }
    if (known->handle != NULL) {
        return known->handle(terms, data);
    }
    terms->flags |= known->flag;
    return data.left == 0 ? AUTHKEYS_LISTED : AUTHKEYS_BROKEN_OPTION;
}

/* An extension that is not known gives nothing; an option that is critical must be known. */
static enum authkeys_reason read_all(struct terms *terms, const struct option *known,
                                     struct reader list, char option[static AUTHKEYS_OPTION_BYTES])
{
    while (list.left > 0) {
        struct reader name = reader_string(&list);
        struct reader data = reader_string(&list);
        enum authkeys_reason reason =
            list.failed ? AUTHKEYS_BROKEN_OPTION : read_one(terms, known, &name, data);
        if (reason == AUTHKEYS_UNKNOWN_OPTION && known == extensions) {
            continue;
        }
        if (reason != AUTHKEYS_LISTED) {
            authkeys_name_option(option, name.bytes, name.left);
            return reason;
        }
    }
    return AUTHKEYS_LISTED;
}

static enum authkeys_reason merge(struct grant *grant, const struct terms *terms)
{
    bool forces = (terms->flags & GRANT_FORCED) != 0;
    /* NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker): a forced command has bytes. */
    if (forces && (grant->flags & GRANT_FORCED) != 0 &&
        (terms->command.left != grant->command_bytes ||
         memcmp(terms->command.bytes, grant->command, grant->command_bytes) != 0)) {
        return AUTHKEYS_COMMANDS_DIFFER;
    }
    if (forces) {
        memcpy(grant->command, terms->command.bytes, terms->command.left);
        grant->command[terms->command.left] = '\0';
        grant->command_bytes = (uint32_t)terms->command.left;
    }
    /* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */
    uint32_t permitted = grant->flags & terms->flags & GRANT_PERMISSIONS;
    uint32_t restricted = (grant->flags | terms->flags) & (GRANT_VERIFY | GRANT_FORCED);
    grant->flags = permitted | restricted | GRANT_CERTIFICATE;
    return AUTHKEYS_LISTED;
}

enum authkeys_reason authkeys_options_of_certificate(struct grant *grant,
                                                     char option[static AUTHKEYS_OPTION_BYTES],
                                                     const struct login_attempt *attempt)
{
    const struct certificate *certificate = attempt->certificate;
    struct terms terms = {.attempt = attempt};
    uint64_t now = (uint64_t)attempt->now;
    if (!certificate_is_signed(certificate)) {
        return AUTHKEYS_CERT_SIGNATURE;
    }
    if (certificate->type != TYPE_USER) {
        return AUTHKEYS_CERT_TYPE;
    }
    if (attempt->now < 0 || now < certificate->valid_after) {
        return AUTHKEYS_CERT_NOT_YET;
    }
    if (now >= certificate->valid_before) {
        return AUTHKEYS_CERT_EXPIRED;
    }
    enum authkeys_reason reason = read_all(&terms, critical_options, certificate->critical, option);
    if (reason == AUTHKEYS_LISTED) {
        reason = read_all(&terms, extensions, certificate->extensions, option);
    }
    return reason == AUTHKEYS_LISTED ? merge(grant, &terms) : reason;
}
