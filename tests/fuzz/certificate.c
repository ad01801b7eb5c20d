/*
 * User certificates. Raw ones are split a second time by plain reading. Signed ones are made from
 * their fields: all fields must come back, the signature must hold, a single changed bit must break
 * it, and the options are judged a second time. Times are compared in 128 bits.
 *
 * Input: a byte. Raw: the certificate. Signed: the circumstances and the fields
 * (support/certified.h).
 */
#include "authkeys_internal.h"

#include <stdlib.h>
#include <string.h>

#include "certified.h"
#include "fuzz.h"

static struct input input_of(struct reader reader)
{
    return (struct input){reader.bytes, reader.left};
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A key's blob of one of the two types; `application` is empty for the plain one. */
static bool split_key(struct input blob, bool *sk, struct input *key, struct input *application)
{
    struct input type;
    *application = (struct input){NULL, 0};
    if (!second_string(&blob, &type)) {
        return false;
    }
    *sk = second_is(type, "sk-ssh-ed25519@openssh.com");
    return (*sk || second_is(type, "ssh-ed25519")) && second_string(&blob, key) &&
           key->left == 32 && (!*sk || second_string(&blob, application)) && blob.left == 0 &&
           application->left <= 441; /* so that the whole key has at most 512 bytes */
}

static bool are_names(struct input list)
{
    struct input name;
    while (list.left > 0) {
        if (!second_string(&list, &name) || second_has_nul(name)) {
            return false;
        }
    }
    return true;
}

struct parts {
    struct input type, nonce, key, application, key_id, principals, critical, extensions;
    struct input reserved, authority, signature, authority_key, authority_application;
    uint64_t serial, kind, valid_after, valid_before;
    bool authority_sk;
    size_t signed_count;
};

static bool split(struct parts *parts, bool sk, struct input blob)
{
    size_t whole = blob.left;
    bool good =
        second_string(&blob, &parts->type) && second_string(&blob, &parts->nonce) &&
        second_string(&blob, &parts->key) && (!sk || second_string(&blob, &parts->application)) &&
        second_number(&blob, 8, &parts->serial) && second_number(&blob, 4, &parts->kind) &&
        second_string(&blob, &parts->key_id) && second_string(&blob, &parts->principals) &&
        second_number(&blob, 8, &parts->valid_after) &&
        second_number(&blob, 8, &parts->valid_before) && second_string(&blob, &parts->critical) &&
        second_string(&blob, &parts->extensions) && second_string(&blob, &parts->reserved) &&
        second_string(&blob, &parts->authority);
    parts->signed_count = whole - blob.left;
    return good && second_string(&blob, &parts->signature) && blob.left == 0 &&
           second_is(parts->type, sk ? "sk-ssh-ed25519-cert-v01@openssh.com"
                                     : "ssh-ed25519-cert-v01@openssh.com") &&
           parts->key.left == 32 && (!sk || parts->application.left <= 441) &&
           split_key(parts->authority, &parts->authority_sk, &parts->authority_key,
                     &parts->authority_application) &&
           !second_has_nul(parts->key_id) && are_names(parts->principals);
}

static bool check_read(struct certificate *certificate, bool sk, struct input blob)
{
    struct parts parts = {.kind = 0};
    bool good = certificate_read(certificate, sk, blob.at, blob.left);
    FUZZ_CHECK(good == split(&parts, sk, blob));
    if (!good) {
        return false;
    }
    FUZZ_CHECK(certificate->key.sk == sk && certificate->authority.sk == parts.authority_sk);
    FUZZ_CHECK(memcmp(certificate->key.public_key, parts.key.at, 32) == 0);
    FUZZ_CHECK(memcmp(certificate->authority.public_key, parts.authority_key.at, 32) == 0);
    FUZZ_CHECK(!sk || second_same(input_of(certificate->key.application), parts.application));
    FUZZ_CHECK(
        second_same(input_of(certificate->authority.application), parts.authority_application));
    FUZZ_CHECK(certificate->serial == parts.serial && certificate->type == parts.kind);
    FUZZ_CHECK(certificate->valid_after == parts.valid_after);
    FUZZ_CHECK(certificate->valid_before == parts.valid_before);
    FUZZ_CHECK(second_same(input_of(certificate->key_id), parts.key_id));
    FUZZ_CHECK(second_same(input_of(certificate->principals), parts.principals));
    FUZZ_CHECK(second_same(input_of(certificate->critical), parts.critical));
    FUZZ_CHECK(second_same(input_of(certificate->extensions), parts.extensions));
    FUZZ_CHECK(second_same(input_of(certificate->signature), parts.signature));
    FUZZ_CHECK(certificate->signed_bytes == blob.at);
    FUZZ_CHECK(certificate->signed_count == parts.signed_count);
    return true;
}

/* ---- principals ------------------------------------------------------------------------------ */

static void check_principals(const struct certificate *certificate, const char *name)
{
    struct input list = input_of(certificate->principals), one;
    bool named = false;
    while (second_string(&list, &one)) {
        named = named || (one.left > 0 && second_is(one, name));
    }
    FUZZ_CHECK(certificate_names(certificate, name) == named);
    if (strchr(name, ',') == NULL) {
        char names[128] = "nobody,,";
        strcat(names, name);
        FUZZ_CHECK(certificate_names_one_of(certificate, reader_over(names, strlen(names))) ==
                   (named || certificate_names(certificate, "nobody")));
    }
}

/* ---- options --------------------------------------------------------------------------------- */

struct expected {
    uint32_t flags;
    bool forced, sourced;
    struct input command;
    struct input fault;
};

static bool is_text(struct input data, struct input *text)
{
    return second_string(&data, text) && data.left == 0 && !second_has_nul(*text);
}

static enum authkeys_reason judge_critical(struct expected *expected, struct input name,
                                           struct input data, const char *address)
{
    struct input text;
    if (second_is(name, "force-command")) {
        bool good = !expected->forced && is_text(data, &text) && text.left < 4096;
        expected->forced = true;
        expected->command = good ? text : expected->command;
        return good ? AUTHKEYS_GOOD : AUTHKEYS_BROKEN_OPTION;
    }
    if (second_is(name, "source-address")) {
        if (expected->sourced || !is_text(data, &text) || text.left >= 4096) {
            return AUTHKEYS_BROKEN_OPTION;
        }
        expected->sourced = true;
        return match_networks(reader_over(text.at, text.left), address);
    }
    expected->flags |= second_is(name, "verify-required") ? GRANT_VERIFY : 0;
    return !second_is(name, "verify-required") ? AUTHKEYS_UNKNOWN_OPTION
           : data.left == 0                    ? AUTHKEYS_GOOD
                                               : AUTHKEYS_BROKEN_OPTION;
}

static enum authkeys_reason judge_extension(struct expected *expected, struct input name,
                                            struct input data)
{
    static const struct {
        const char *name;
        uint32_t flag;
    } known[] = {{"permit-X11-forwarding", 0},      {"permit-agent-forwarding", 0},
                 {"permit-port-forwarding", 0},     {"permit-pty", GRANT_PTY},
                 {"permit-user-rc", GRANT_USER_RC}, {"no-touch-required", GRANT_UNTOUCHED}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (second_is(name, known[i].name)) {
            expected->flags |= known[i].flag;
            return data.left == 0 ? AUTHKEYS_GOOD : AUTHKEYS_BROKEN_OPTION;
        }
    }
    return AUTHKEYS_GOOD;
}

static enum authkeys_reason judge_list(struct expected *expected, struct input list, bool critical,
                                       const char *address)
{
    while (list.left > 0) {
        struct input name, data;
        bool whole = second_string(&list, &name);
        expected->fault = whole ? name : (struct input){NULL, 0};
        if (!whole || !second_string(&list, &data)) {
            return AUTHKEYS_BROKEN_OPTION;
        }
        enum authkeys_reason reason = critical ? judge_critical(expected, name, data, address)
                                               : judge_extension(expected, name, data);
        if (reason != AUTHKEYS_GOOD) {
            return reason;
        }
    }
    expected->fault = (struct input){NULL, 0};
    return AUTHKEYS_GOOD;
}

static enum authkeys_reason judge(struct expected *expected, const struct certified_fields *fields,
                                  const struct authkeys_query *query, const struct grant *line)
{
    __int128 now = query->now;
    if (fields->type != 1) {
        return AUTHKEYS_CERT_TYPE;
    }
    if (now < 0 || now < (__int128)fields->valid_after) {
        return AUTHKEYS_CERT_NOT_YET;
    }
    if (now >= (__int128)fields->valid_before) {
        return AUTHKEYS_CERT_EXPIRED;
    }
    enum authkeys_reason reason = judge_list(expected, fields->critical, true, query->address);
    if (reason == AUTHKEYS_GOOD) {
        reason = judge_list(expected, fields->extensions, false, NULL);
    }
    bool both = expected->forced && (line->flags & GRANT_FORCED) != 0;
    bool differ = both && !second_is(expected->command, line->command);
    return reason == AUTHKEYS_GOOD && differ ? AUTHKEYS_COMMANDS_DIFFER : reason;
}

static void check_options(const struct certified_fields *fields,
                          const struct certificate *certificate, struct input *input)
{
    static struct grant grant, line;
    struct expected expected = {.flags = 0};
    char option[AUTHKEYS_OPTION_BYTES] = "", cut[AUTHKEYS_OPTION_BYTES] = "", address[80];
    uint64_t now = 0;
    second_number(input, 8, &now);
    memset(&line, 0, sizeof(line));
    line.flags = input_u8(input) & (GRANT_PERMISSIONS | GRANT_VERIFY | GRANT_FORCED);
    input_text(input_line(input), address, sizeof(address));
    if ((line.flags & GRANT_FORCED) != 0) {
        line.command_bytes = (uint32_t)input_text(input_line(input), line.command, 4096);
    }
    const struct authkeys_query query = {.address = address, .now = (int64_t)now};
    grant = line;
    enum authkeys_reason reason = certificate_narrow(&grant, option, certificate, &query);
    FUZZ_CHECK(reason == judge(&expected, fields, &query, &line));
    size_t shown = expected.fault.left < sizeof(cut) ? expected.fault.left : sizeof(cut) - 1;
    memcpy(cut, shown > 0 ? expected.fault.at : (const uint8_t *)"", shown);
    FUZZ_CHECK(memcmp(option, cut, sizeof(cut)) == 0);
    if (reason != AUTHKEYS_GOOD) {
        return;
    }
    uint32_t flags = (line.flags & expected.flags & GRANT_PERMISSIONS) |
                     ((line.flags | expected.flags) & GRANT_VERIFY) | (line.flags & GRANT_FORCED) |
                     (expected.forced ? GRANT_FORCED : 0);
    const struct input ran = {(uint8_t *)grant.command, strlen(grant.command)};
    FUZZ_CHECK(grant.flags == (flags | GRANT_CERTIFICATE));
    FUZZ_CHECK(grant.command_bytes == ran.left);
    FUZZ_CHECK(expected.forced ? second_same(ran, expected.command) : second_is(ran, line.command));
}

/* ---- signed ones ----------------------------------------------------------------------------- */

static void check_signed(struct input input)
{
    uint8_t bytes[CERTIFIED_BYTES];
    struct fields out = FIELDS_IN(bytes);
    struct certified_fields fields;
    struct certificate certificate;
    char name[64];
    uint32_t bit = input_u32(&input);
    input_text(input_line(&input), name, sizeof(name));
    certified_fields_read(&fields, &input);
    certified_write(&out, &fields);
    uint8_t *copy = input_copy((struct input){bytes, out.used});
    if (check_read(&certificate, fields.sk, (struct input){copy, out.used})) {
        FUZZ_CHECK(certificate_is_signed(&certificate));
        FUZZ_CHECK(certificate.serial == fields.serial);
        FUZZ_CHECK(second_same(input_of(certificate.critical), fields.critical));
        check_principals(&certificate, name);
        check_options(&fields, &certificate, &input);
        bit %= 8 * (uint32_t)out.used;
        copy[bit / 8] ^= (uint8_t)(1U << bit % 8);
        if (check_read(&certificate, fields.sk, (struct input){copy, out.used})) {
            FUZZ_CHECK(!certificate_is_signed(&certificate));
        }
    } else {
        /* Made from fields, only these can be wrong. */
        FUZZ_CHECK(second_has_nul(fields.key_id) || !are_names(fields.principals));
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct certificate certificate;
    struct input input = {data, size};
    uint8_t kind = input_u8(&input);
    if ((kind & 1) != 0) {
        check_signed(input);
        return 0;
    }
    uint8_t *copy = input_copy(input);
    if (check_read(&certificate, (kind & 2) != 0, (struct input){copy, input.left})) {
        certificate_is_signed(&certificate);
    }
    free(copy);
    return 0;
}
