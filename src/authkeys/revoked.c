#include "revoked.h"

#include <sodium.h>
#include <string.h>

#include "lines.h"
#include "text.h"

/* A fingerprint without padding. */
#define FINGERPRINT_TEXT_BYTES 43

struct search {
    const struct revoked_offer *offer;
    bool is_our_authority; /* of the ca: line last read */
};

static void skip_comment(struct text *text)
{
    text_skip_blanks(text);
    if (text->at < text->end && *text->at == '#') {
        text->at = text->end;
    }
}

/* The word behind SHA256: must be the fingerprint of some key. */
static bool read_fingerprint(uint8_t fingerprint[static 32], struct text *text)
{
    size_t count = 0;
    const struct text word = text_word(text);
    skip_comment(text);
    return text_bytes(&word) == FINGERPRINT_TEXT_BYTES && text_bytes(text) == 0 &&
           sodium_base642bin(fingerprint, 32, word.at, FINGERPRINT_TEXT_BYTES, NULL, &count, NULL,
                             sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0 &&
           count == 32;
}

static bool is_certificate_type(const struct text *type)
{
    static const char mark[] = "-cert-v01@openssh.com";
    const size_t bytes = sizeof(mark) - 1;
    return text_bytes(type) > bytes && memcmp(type->end - bytes, mark, bytes) == 0;
}

/* The whole blob is strings, the first of which is the type: one that was cut off would be another
 * key's, and revoke nothing. */
static bool is_whole(struct reader blob, const struct text *type)
{
    size_t strings = 0;
    const struct reader name = reader_string(&blob);
    bool named = !name.failed && name.left == text_bytes(type) &&
                 memcmp(name.bytes, type->at, name.left) == 0;
    while (named && !blob.failed && blob.left > 0) {
        (void)reader_string(&blob);
        strings++;
    }
    return named && !blob.failed && strings > 0;
}

/* A plain key by its fingerprint. A certificate is none: it is revoked by its key, serial or id,
 * and its own fingerprint would never be met again. */
static bool read_key(uint8_t fingerprint[static 32], struct text *text)
{
    uint8_t blob[LIMIT_AUTHKEYS_LINE_BYTES];
    size_t count = 0;
    const struct text type = text_word(text);
    text_skip_blanks(text);
    const struct text base64 = text_word(text);
    if (!text_is_key_type(&type) || is_certificate_type(&type) ||
        sodium_base642bin(blob, sizeof(blob), base64.at, text_bytes(&base64), NULL, &count, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0) {
        return false;
    }
    crypto_hash_sha256(fingerprint, blob, count);
    return is_whole(reader_over(blob, count), &type);
}

static bool is_key(const struct key_text *key, const uint8_t fingerprint[static 32])
{
    return key != NULL && memcmp(key->fingerprint, fingerprint, 32) == 0;
}

static enum revoked on_key(struct search *search, const uint8_t fingerprint[static 32])
{
    return is_key(search->offer->key, fingerprint) || is_key(search->offer->authority, fingerprint)
               ? REVOKED
               : REVOKED_NOT;
}

static enum revoked on_authority(struct search *search, struct text *text)
{
    uint8_t fingerprint[32];
    text_skip_blanks(text);
    if (text_is(text, "*")) {
        search->is_our_authority = true;
        return REVOKED_NOT;
    }
    if (!(text_take(text, "SHA256:") ? read_fingerprint(fingerprint, text)
                                     : read_key(fingerprint, text))) {
        return REVOKED_BROKEN;
    }
    search->is_our_authority = is_key(search->offer->authority, fingerprint);
    return REVOKED_NOT;
}

static bool read_number(uint64_t *number, struct text *text)
{
    const char *start = text->at;
    *number = 0;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
        uint64_t digit = (uint64_t)(*text->at - '0');
        if (*number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *number = *number * 10 + digit;
        text->at++;
    }
    return text->at > start;
}

static enum revoked on_serial(struct search *search, struct text *text)
{
    uint64_t first, last;
    const struct certificate *certificate = search->offer->certificate;
    text_skip_blanks(text);
    if (!read_number(&first, text)) {
        return REVOKED_BROKEN;
    }
    last = first;
    if (text_take(text, "-") && !read_number(&last, text)) {
        return REVOKED_BROKEN;
    }
    skip_comment(text);
    if (text_bytes(text) != 0 || last < first) {
        return REVOKED_BROKEN;
    }
    return certificate != NULL && search->is_our_authority && certificate->serial >= first &&
                   certificate->serial <= last
               ? REVOKED
               : REVOKED_NOT;
}

static bool has_comment(const struct text *text)
{
    const char *at = text->at;
    while (at < text->end && !(at[0] == '#' && at > text->at && at[-1] == ' ')) {
        at++;
    }
    return at < text->end;
}

static enum revoked on_id(struct search *search, struct text *text)
{
    const struct certificate *certificate = search->offer->certificate;
    text_skip_blanks(text);
    while (text_bytes(text) > 0 && (text->end[-1] == ' ' || text->end[-1] == '\t')) {
        text->end--;
    }
    /* Behind an id a comment would be part of it, and the id revoked would be another. */
    if (text_bytes(text) == 0 || has_comment(text)) {
        return REVOKED_BROKEN;
    }
    return certificate != NULL && search->is_our_authority &&
                   certificate->key_id.left == text_bytes(text) &&
                   memcmp(certificate->key_id.bytes, text->at, text_bytes(text)) == 0
               ? REVOKED
               : REVOKED_NOT;
}

static enum revoked on_line(struct search *search, struct text text)
{
    uint8_t fingerprint[32];
    skip_comment(&text);
    if (text_bytes(&text) == 0) {
        return REVOKED_NOT;
    }
    if (text_take(&text, "serial:")) {
        return on_serial(search, &text);
    }
    if (text_take(&text, "id:")) {
        return on_id(search, &text);
    }
    if (text_take(&text, "ca:")) {
        return on_authority(search, &text);
    }
    bool read = text_take(&text, "SHA256:") ? read_fingerprint(fingerprint, &text)
                                            : read_key(fingerprint, &text);
    return read ? on_key(search, fingerprint) : REVOKED_BROKEN;
}

enum revoked revoked_look(int fd, const struct revoked_offer *offer, uint32_t *line)
{
    struct lines lines;
    struct search search = {.offer = offer, .is_our_authority = true};
    const char *bytes;
    size_t count;
    int got;
    *line = 0;
    lines_init(&lines, fd);
    while ((got = lines_next(&lines, &bytes, &count)) == 1) {
        enum revoked verdict =
            lines.skipped ? REVOKED_BROKEN : on_line(&search, text_over(bytes, count));
        if (verdict != REVOKED_NOT) {
            *line = lines.number;
            return verdict;
        }
    }
    if (got < 0) {
        return REVOKED_UNREADABLE;
    }
    return lines.skipped ? REVOKED_BROKEN : REVOKED_NOT;
}
