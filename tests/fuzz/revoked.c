/*
 * Files of revoked keys: the whole file is read a second time in memory. Base64 is right if it is
 * what encoding its decoded bytes gives. In pieces and with interruptions the file says the same; a
 * file that can't be read to its end never says that nothing is revoked.
 *
 * Input: a byte that says what is offered; serial (8 bytes); pieces (a length and the bytes); a
 * line with the key id; then the file. 0xfe in it stands for the offered key.
 */
#include "authkeys_internal.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certified.h"
#include "memory_file.h"

#define FILE_BYTES 65536

struct opinion {
    const struct revoked_offer *offer;
    bool ours; /* the serials and ids are of our authority */
};

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static void skip_blanks(struct input *text)
{
    while (text->left > 0 && is_blank(*text->at)) {
        input_take(text, 1);
    }
}

static bool begins(struct input *text, const char *start)
{
    size_t count = strlen(start);
    bool found = text->left >= count && memcmp(text->at, start, count) == 0;
    input_take(text, found ? count : 0);
    return found;
}

/* Nothing but a comment follows. */
static bool ends(struct input text)
{
    skip_blanks(&text);
    return text.left == 0 || *text.at == '#';
}

static bool is_plain_type(struct input type)
{
    bool certificate;
    return second_type(type, &certificate) != SECOND_NO_TYPE && !certificate;
}

/* A fingerprint or a whole key. False if it is neither. */
static bool read_key(uint8_t fingerprint[static 32], struct input text)
{
    static uint8_t blob[16384 + 4];
    if (begins(&text, "SHA256:")) {
        uint8_t padded[44] = {0};
        struct input word = {text.at, 0};
        while (word.left < text.left && !is_blank(text.at[word.left])) {
            word.left++;
        }
        input_take(&text, word.left);
        if (word.left != 43) {
            return false;
        }
        memcpy(padded, word.at, 43);
        padded[43] = '=';
        bool good = second_base64(blob, (struct input){padded, 44}) == 32;
        memcpy(fingerprint, blob, 32);
        return good && ends(text);
    }
    struct input word = {text.at, 0}, name;
    while (word.left < text.left && !is_blank(text.at[word.left])) {
        word.left++;
    }
    const struct input type = input_take(&text, word.left), base64 = second_word(&text);
    size_t count = second_base64(blob, base64);
    if (!is_plain_type(type) || count == SIZE_MAX) {
        return false;
    }
    struct input rest = {blob, count};
    size_t strings = 0;
    crypto_hash_sha256(fingerprint, blob, count);
    bool named = second_string(&rest, &name) && second_same(name, type);
    for (; named && rest.left > 0; strings++) {
        named = second_string(&rest, &name);
    }
    return named && strings > 0;
}

static bool is_of(const struct key_text *key, const uint8_t fingerprint[static 32])
{
    return key != NULL && memcmp(key->fingerprint, fingerprint, 32) == 0;
}

/* Digits of a number of 64 bits. */
static bool read_digits(uint64_t *number, struct input *text)
{
    unsigned __int128 value = 0;
    size_t count = 0;
    for (; text->left > 0 && *text->at >= '0' && *text->at <= '9'; count++) {
        value = value > UINT64_MAX ? value : value * 10 + (unsigned)(*text->at - '0');
        input_take(text, 1);
    }
    *number = (uint64_t)value;
    return count > 0 && value <= UINT64_MAX;
}

static enum revoked read_serial(const struct opinion *opinion, struct input text)
{
    uint64_t first, last;
    skip_blanks(&text);
    bool good = read_digits(&first, &text);
    last = first;
    if (good && begins(&text, "-")) {
        good = read_digits(&last, &text);
    }
    if (!good || !ends(text) || first > last) {
        return REVOKED_BROKEN;
    }
    const struct certificate *certificate = opinion->offer->certificate;
    bool hit = certificate != NULL && opinion->ours && first <= certificate->serial &&
               certificate->serial <= last;
    return hit ? REVOKED : REVOKED_NOT;
}

static enum revoked read_id(const struct opinion *opinion, struct input text)
{
    skip_blanks(&text);
    while (text.left > 0 && is_blank(text.at[text.left - 1])) {
        text.left--;
    }
    if (text.left == 0 || memmem(text.at, text.left, " #", 2) != NULL) {
        return REVOKED_BROKEN;
    }
    const struct certificate *certificate = opinion->offer->certificate;
    const struct input id = {certificate != NULL ? certificate->key_id.bytes : NULL,
                             certificate != NULL ? certificate->key_id.left : 0};
    return certificate != NULL && opinion->ours && second_same(text, id) ? REVOKED : REVOKED_NOT;
}

static enum revoked read_line(struct opinion *opinion, struct input text)
{
    uint8_t fingerprint[32];
    for (size_t i = 0; i < text.left; i++) {
        if (text.at[i] == '\r') {
            return REVOKED_RETURN;
        }
    }
    if (ends(text)) {
        return REVOKED_NOT;
    }
    skip_blanks(&text);
    if (begins(&text, "serial:")) {
        return read_serial(opinion, text);
    }
    if (begins(&text, "id:")) {
        return read_id(opinion, text);
    }
    bool authority = begins(&text, "ca:");
    if (authority) {
        skip_blanks(&text);
        if (second_is(text, "*")) {
            opinion->ours = true;
            return REVOKED_NOT;
        }
    }
    if (!read_key(fingerprint, text)) {
        return REVOKED_BROKEN;
    }
    if (authority) {
        opinion->ours = is_of(opinion->offer->authority, fingerprint);
        return REVOKED_NOT;
    }
    bool hit =
        is_of(opinion->offer->key, fingerprint) || is_of(opinion->offer->authority, fingerprint);
    return hit ? REVOKED : REVOKED_NOT;
}

static enum revoked form_opinion(struct input file, const struct revoked_offer *offer,
                                 uint32_t *number)
{
    struct opinion opinion = {offer, true};
    enum revoked none = REVOKED_EMPTY;
    struct input text;
    bool too_long;
    for (*number = 1; second_line(&file, &text, &too_long); ++*number) {
        if (*number == 1) {
            second_mark(&text);
        }
        enum revoked found = too_long ? REVOKED_BROKEN : read_line(&opinion, text);
        if (found != REVOKED_NOT) {
            return found;
        }
        none = ends(text) ? none : REVOKED_NOT;
    }
    *number = 0;
    return none;
}

static void check(struct input file, const struct revoked_offer *offer, struct input pieces,
                  size_t offset)
{
    uint32_t line, expected_line;
    const char *section;
    enum revoked expected = form_opinion(file, offer, &expected_line);
    int fd = memory_file_open(0, file, (struct input){NULL, 0});
    FUZZ_CHECK(revoked_look(fd, offer, &line, &section) == expected);
    FUZZ_CHECK(line == expected_line);
    fd = memory_file_open(0, file, pieces);
    FUZZ_CHECK(revoked_look(fd, offer, &line, &section) == expected);
    FUZZ_CHECK(line == expected_line);
    fd = memory_file_open(0, file, pieces);
    memory_file_break(fd, offset);
    errno = 0;
    enum revoked cut = revoked_look(fd, offer, &line, &section);
    FUZZ_CHECK(cut == REVOKED_UNREADABLE
                   ? errno == EIO
                   : cut == expected && cut != REVOKED_NOT && cut != REVOKED_EMPTY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t text[FILE_BYTES];
    struct input input = {data, size};
    struct key keys[2] = {{.sk = false}, {.application = reader_over("ssh:", 4)}};
    struct key_text texts[2];
    struct certificate certificate = {.serial = 0};
    char line[2 * LIMIT_PLAIN_KEY_BYTES];
    uint8_t kind = input_u8(&input);
    second_number(&input, 8, &certificate.serial);
    const struct input pieces = input_take(&input, input_u8(&input));
    const struct input id = input_line(&input);
    certificate.key_id = reader_over(id.at, id.left);
    for (uint8_t i = 0; i < 2; i++) {
        memcpy(keys[i].public_key, certified_key(i)->public_key, 32);
        keys[i].sk = i == 1 && (kind & 2) != 0;
        key_write_text(&texts[i], &keys[i]);
    }
    const struct key_text *shown = &texts[kind >> 2 & 1];
    snprintf(line, sizeof(line), "%s %s", shown->type, shown->base64);
    if ((kind & 8) != 0) {
        sodium_bin2base64(line, sizeof(line), shown->fingerprint, 32,
                          sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    }
    bool certified = (kind & 1) != 0;
    const struct revoked_offer offer = {.key = &texts[0],
                                        .authority = certified ? &texts[1] : NULL,
                                        .certificate = certified ? &certificate : NULL};
    size_t count = second_expand(text, sizeof(text), input, line);
    if (count >= 8 && memcmp(text, "SSHKRL\n", 8) == 0) {
        return 0; /* krl.c judges these */
    }
    uint8_t *copy = input_copy((struct input){text, count});
    check((struct input){copy, count}, &offer, pieces, size * 2654435761U % (count + 1));
    free(copy);
    return 0;
}
