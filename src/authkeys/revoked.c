#include "revoked.h"

#include <sodium.h>
#include <string.h>

#include "text.h"

/* A fingerprint without padding. */
#define FINGERPRINT_TEXT_BYTES 43

struct list_search {
    const struct revoked_offer *offer;
    bool is_our_authority; /* of the ca: line last read */
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

/* Reads a plain key. Refuses a certificate: its key, serial or id revokes it. */
static bool decode_key(uint8_t fingerprint[static 32], struct reader *text)
{
    uint8_t blob[LIMIT_AUTHKEYS_LINE_BYTES];
    size_t count = 0;
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

static enum revoked on_key(struct list_search *search, const uint8_t fingerprint[static 32])
{
    return revoked_is_offered(search->offer, fingerprint) ? REVOKED : REVOKED_NOT;
}

static enum revoked on_ca(struct list_search *search, struct reader *text)
{
    uint8_t fingerprint[32];
    reader_span(text, READER_BLANKS);
    if (reader_is(text, "*")) {
        search->is_our_authority = true;
        return REVOKED_NOT;
    }
    if (!(reader_take(text, "SHA256:") ? read_fingerprint(fingerprint, text)
                                       : decode_key(fingerprint, text))) {
        return REVOKED_BROKEN;
    }
    search->is_our_authority = key_text_is_one(search->offer->authority, NULL, fingerprint);
    return REVOKED_NOT;
}

static bool read_number(uint64_t *number, struct reader *text)
{
    const struct reader digits = reader_span(text, "0123456789");
    return number_parse(number, digits.bytes, digits.left, UINT64_MAX);
}

static enum revoked on_serial(struct list_search *search, struct reader *text)
{
    uint64_t first, last;
    const struct certificate *certificate = search->offer->certificate;
    reader_span(text, READER_BLANKS);
    if (!read_number(&first, text)) {
        return REVOKED_BROKEN;
    }
    last = first;
    if (reader_take(text, "-") && !read_number(&last, text)) {
        return REVOKED_BROKEN;
    }
    skip_comment(text);
    if (text->left != 0 || last < first) {
        return REVOKED_BROKEN;
    }
    return certificate != NULL && search->is_our_authority && certificate->serial >= first &&
                   certificate->serial <= last
               ? REVOKED
               : REVOKED_NOT;
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

static enum revoked on_id(struct list_search *search, struct reader *text)
{
    const struct certificate *certificate = search->offer->certificate;
    reader_span(text, READER_BLANKS);
    while (text->left > 0 && lines_is_blank(text->bytes[text->left - 1])) {
        text->left--;
    }
    /* A comment after an id would be part of it, and another id would be revoked. */
    if (text->left == 0 || has_comment(text)) {
        return REVOKED_BROKEN;
    }
    return certificate != NULL && search->is_our_authority &&
                   reader_equals(&certificate->key_id, text->bytes, text->left)
               ? REVOKED
               : REVOKED_NOT;
}

static enum revoked on_line(struct list_search *search, struct reader text)
{
    uint8_t fingerprint[32];
    if (memchr(text.bytes, '\r', text.left) != NULL) {
        return REVOKED_RETURN;
    }
    skip_comment(&text);
    if (text.left == 0) {
        return REVOKED_EMPTY;
    }
    if (reader_take(&text, "serial:")) {
        return on_serial(search, &text);
    }
    if (reader_take(&text, "id:")) {
        return on_id(search, &text);
    }
    if (reader_take(&text, "ca:")) {
        return on_ca(search, &text);
    }
    bool read = reader_take(&text, "SHA256:") ? read_fingerprint(fingerprint, &text)
                                              : decode_key(fingerprint, &text);
    return read ? on_key(search, fingerprint) : REVOKED_BROKEN;
}

enum revoked revoked_look(int fd, const struct revoked_offer *offer, uint32_t *line,
                          const char **section)
{
    struct lines lines;
    struct list_search search = {.offer = offer, .is_our_authority = true};
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
