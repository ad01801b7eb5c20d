#include "authkeys_internal.h"

#include <sodium.h>

/* A fingerprint without padding. */
#define FINGERPRINT_TEXT_BYTES 43

struct list_search {
    const struct revoked_offer *offer;
    bool is_ours; /* the serials and ids below the ca: line last read are about the certificate */
};

static void skip_comment(struct reader *text)
{
    reader_span(text, READER_BLANKS);
    if (reader_peek(text) == '#') {
        text->left = 0;
    }
}

/* Reads what follows "SHA256:". */
static bool read_fingerprint(uint8_t fingerprint[static 32], struct reader *text)
{
    size_t count = 0;
    const struct reader base64 = reader_until(text, READER_BLANKS);
    skip_comment(text);
    return base64.left == FINGERPRINT_TEXT_BYTES && text->left == 0 &&
           base64_decode(fingerprint, 32, &count, (const char *)base64.bytes, base64.left, NULL,
                         sodium_base64_VARIANT_ORIGINAL_NO_PADDING) &&
           count == 32;
}

/* Reads a plain key, or its fingerprint. Refuses a certificate: its key, serial or id revokes it.
 */
static bool read_fingerprint_or_key(uint8_t fingerprint[static 32], struct reader *text)
{
    uint8_t blob[LIMIT_AUTHKEYS_LINE_BYTES];
    size_t count = 0;
    if (reader_take(text, "SHA256:")) {
        return read_fingerprint(fingerprint, text);
    }
    const struct reader type = reader_until(text, READER_BLANKS);
    reader_span(text, READER_BLANKS);
    const struct reader base64 = reader_until(text, READER_BLANKS);
    if (!base64_decode(blob, sizeof(blob), &count, (const char *)base64.bytes, base64.left, NULL,
                       sodium_base64_VARIANT_ORIGINAL)) {
        return false;
    }
    struct reader rest = reader_over(blob, count);
    const struct reader name = reader_string(&rest);
    return reader_equals(&name, type.bytes, type.left) &&
           key_hash(fingerprint, reader_over(blob, count));
}

static enum revoked on_key(const struct list_search *search, struct reader *text)
{
    uint8_t fingerprint[32];
    if (!read_fingerprint_or_key(fingerprint, text)) {
        return REVOKED_BROKEN;
    }
    return revoked_is_offered(search->offer, fingerprint) ? REVOKED : REVOKED_NOT;
}

static enum revoked on_ca(struct list_search *search, struct reader *text)
{
    uint8_t fingerprint[32];
    if (reader_is(text, "*")) {
        search->is_ours = search->offer->certificate != NULL;
        return REVOKED_NOT;
    }
    if (!read_fingerprint_or_key(fingerprint, text)) {
        return REVOKED_BROKEN;
    }
    search->is_ours = search->offer->certificate != NULL &&
                      key_text_is_one(search->offer->authority, NULL, fingerprint);
    return REVOKED_NOT;
}

static bool read_serial(uint64_t *number, struct reader *text)
{
    const struct reader digits = reader_span(text, "0123456789");
    return number_parse(number, digits.bytes, digits.left, UINT64_MAX);
}

static enum revoked on_serial(const struct list_search *search, struct reader *text)
{
    uint64_t first, last;
    if (!read_serial(&first, text)) {
        return REVOKED_BROKEN;
    }
    last = first;
    if (reader_take(text, "-") && !read_serial(&last, text)) {
        return REVOKED_BROKEN;
    }
    skip_comment(text);
    if (text->left != 0 || last < first) {
        return REVOKED_BROKEN;
    }
    const struct certificate *certificate = search->offer->certificate;
    bool within = search->is_ours && certificate->serial >= first && certificate->serial <= last;
    return within ? REVOKED : REVOKED_NOT;
}

static bool has_comment(const struct reader *text)
{
    for (size_t i = 1; i < text->left; i++) {
        if (text->bytes[i - 1] == ' ' && text->bytes[i] == '#') {
            return true;
        }
    }
    return false;
}

static enum revoked on_id(const struct list_search *search, struct reader *text)
{
    while (text->left > 0 && lines_is_blank(text->bytes[text->left - 1])) {
        text->left--;
    }
    /* A comment after an id would be part of it, and another id would be revoked. */
    if (text->left == 0 || has_comment(text)) {
        return REVOKED_BROKEN;
    }
    bool same = search->is_ours &&
                reader_equals(&search->offer->certificate->key_id, text->bytes, text->left);
    return same ? REVOKED : REVOKED_NOT;
}

/* Consumes the name of a line and the blanks that follow it. */
static bool take_name(struct reader *text, const char *name)
{
    bool taken = reader_take(text, name);
    reader_span(text, taken ? READER_BLANKS : "");
    return taken;
}

static enum revoked on_line(struct list_search *search, struct reader text)
{
    if (memchr(text.bytes, '\r', text.left) != NULL) {
        return REVOKED_RETURN;
    }
    skip_comment(&text);
    if (text.left == 0) {
        return REVOKED_EMPTY;
    }
    return take_name(&text, "serial:") ? on_serial(search, &text)
           : take_name(&text, "id:")   ? on_id(search, &text)
           : take_name(&text, "ca:")   ? on_ca(search, &text)
                                       : on_key(search, &text);
}

enum revoked revoked_look(int fd, const struct revoked_offer *offer, uint32_t *line,
                          const char **section)
{
    struct lines lines;
    struct list_search search = {.offer = offer, .is_ours = offer->certificate != NULL};
    struct reader text;
    enum revoked none = REVOKED_EMPTY;
    int got;
    *line = 0;
    *section = "";
    lines_init(&lines, fd);
    if (krl_begins(&lines)) {
        return krl_look(&lines, offer, section);
    }
    while ((got = lines_next(&lines, &text)) == 1) {
        enum revoked verdict = lines.too_long ? REVOKED_BROKEN : on_line(&search, text);
        if (verdict == REVOKED_NOT) {
            none = REVOKED_NOT;
        } else if (verdict != REVOKED_EMPTY) {
            *line = lines.number;
            return verdict;
        }
    }
    return got < 0 ? REVOKED_UNREADABLE : none;
}
