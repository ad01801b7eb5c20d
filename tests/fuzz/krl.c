/*
 * Revocation lists in OpenSSH's binary form. The whole file is read a second time in memory, each
 * section as a part of its own, and the bits of a bitmap by what a serial number would need. In
 * pieces and with interruptions the file says the same; a file that can't be read to its end never
 * says that nothing is revoked.
 *
 * Input: a byte that says what is offered; serial (8 bytes); pieces (a length and the bytes); a
 * line with the key id; then the file behind its magic number, as it is. The offered key is 32
 * times "U", the authority's 32 times "C", so that seeds can name them.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "authkeys_internal.h"
#include "memory_file.h"
#include "second.h"

#define MAGIC       "SSHKRL\n"
#define ENTRY_BYTES 16384

struct part {
    struct input here; /* what the file has of it */
    uint64_t missing;  /* how much more it should have */
};

struct opinion {
    const struct revoked_offer *offer;
    const char *section;
    bool ours;
    bool names; /* an entry is there */
};

/* REVOKED_NOT if the part has so many bytes. */
static enum revoked take(struct part *part, uint64_t count, struct input *out)
{
    *out = (struct input){NULL, 0};
    if (count > ENTRY_BYTES || count > part->here.left + part->missing) {
        return REVOKED_BROKEN;
    }
    if (count > part->here.left) {
        return REVOKED_CUT;
    }
    *out = input_take(&part->here, (size_t)count);
    return REVOKED_NOT;
}

static enum revoked take_number(struct part *part, unsigned bytes, uint64_t *number)
{
    struct input field;
    enum revoked verdict = take(part, bytes, &field);
    *number = 0;
    if (verdict == REVOKED_NOT) {
        FUZZ_CHECK(second_number(&field, bytes, number));
    }
    return verdict;
}

static enum revoked take_string(struct part *part, struct input *out)
{
    uint64_t count;
    enum revoked verdict = take_number(part, 4, &count);
    return verdict != REVOKED_NOT ? verdict : take(part, count, out);
}

static bool is_empty(const struct part *part)
{
    return part->here.left == 0 && part->missing == 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

static enum revoked on_serials(struct opinion *opinion, uint64_t first, uint64_t last)
{
    opinion->names = true;
    if (first == 0 || first > last) {
        return REVOKED_BROKEN;
    }
    bool hit = opinion->offer->certificate != NULL && opinion->ours &&
               opinion->offer->certificate->serial - first <= last - first;
    return hit ? REVOKED : REVOKED_NOT;
}

/* A key of a known type. */
static bool read_key(struct input blob, uint8_t fingerprint[static 32])
{
    struct input type, rest = blob, field;
    size_t fields = 0;
    bool certificate;
    crypto_hash_sha256(fingerprint, blob.at, blob.left);
    if (!second_string(&rest, &type)) {
        return false;
    }
    while (rest.left > 0) {
        if (!second_string(&rest, &field)) {
            return false;
        }
        fields++;
    }
    return second_type(type, &certificate) != SECOND_NO_TYPE && !certificate && fields > 0;
}

static bool is_of(const struct key_text *key, const uint8_t *fingerprint)
{
    return key != NULL && memcmp(key->fingerprint, fingerprint, 32) == 0;
}

static enum revoked on_fingerprint(const struct opinion *opinion, const uint8_t *fingerprint)
{
    return is_of(opinion->offer->key, fingerprint) || is_of(opinion->offer->authority, fingerprint)
               ? REVOKED
               : REVOKED_NOT;
}

/* What the lowest bit that decides says: a bit that stands for no number, or the wanted one. */
static enum revoked on_bitmap(struct opinion *opinion, uint64_t first, struct input mpint)
{
    for (size_t i = 0; i < mpint.left; i++) {
        opinion->names = opinion->names || mpint.at[i] != 0;
    }
    if (mpint.left > 0 && mpint.at[0] >= 0x80) {
        return REVOKED_BROKEN;
    }
    if (first == 0 && mpint.left > 0 && (mpint.at[mpint.left - 1] & 1) != 0) {
        return REVOKED_BROKEN;
    }
    if (opinion->offer->certificate != NULL && opinion->ours &&
        opinion->offer->certificate->serial >= first) {
        uint64_t bit = opinion->offer->certificate->serial - first;
        if (bit / 8 < mpint.left && (mpint.at[mpint.left - 1 - bit / 8] >> (bit & 7) & 1) != 0) {
            return REVOKED;
        }
    }
    while (mpint.left > 0 && *mpint.at == 0) {
        input_take(&mpint, 1);
    }
    for (unsigned bit = 8; mpint.left > 0 && bit-- > 0;) {
        if ((*mpint.at >> bit & 1) != 0) {
            return (mpint.left - 1) * 8 + bit > UINT64_MAX - first ? REVOKED_BROKEN : REVOKED_NOT;
        }
    }
    return REVOKED_NOT;
}

/* ---- sections -------------------------------------------------------------------------------- */

static enum revoked read_serials(struct opinion *opinion, struct part *part, uint64_t type)
{
    uint64_t first, last;
    enum revoked verdict = take_number(part, 8, &first);
    last = first;
    if (verdict == REVOKED_NOT && type == 0x21) {
        verdict = take_number(part, 8, &last);
    }
    return verdict != REVOKED_NOT ? verdict : on_serials(opinion, first, last);
}

static enum revoked read_bitmap(struct opinion *opinion, struct part *part)
{
    uint64_t first;
    struct input mpint;
    enum revoked verdict = take_number(part, 8, &first);
    if (verdict == REVOKED_NOT) {
        verdict = take_string(part, &mpint);
    }
    return verdict != REVOKED_NOT ? verdict : on_bitmap(opinion, first, mpint);
}

static enum revoked read_entry(struct opinion *opinion, struct part *part, uint64_t type)
{
    struct input entry;
    uint8_t fingerprint[32];
    enum revoked verdict = take_string(part, &entry);
    if (verdict != REVOKED_NOT) {
        return verdict;
    }
    opinion->names = true;
    if (type == 0x23) {
        const struct certificate *certificate = opinion->offer->certificate;
        if (second_has_nul(entry)) {
            return REVOKED_BROKEN;
        }
        return certificate != NULL && opinion->ours && certificate->key_id.left == entry.left &&
                       memcmp(certificate->key_id.bytes, entry.at, entry.left) == 0
                   ? REVOKED
                   : REVOKED_NOT;
    }
    if (type == 2) {
        return read_key(entry, fingerprint) ? on_fingerprint(opinion, fingerprint) : REVOKED_BROKEN;
    }
    return entry.left == 32 ? on_fingerprint(opinion, entry.at) : REVOKED_BROKEN;
}

static enum revoked read_extension(struct part *part)
{
    struct input text;
    uint64_t critical;
    enum revoked verdict = take_string(part, &text);
    if (verdict == REVOKED_NOT) {
        verdict = take_number(part, 1, &critical);
    }
    if (verdict == REVOKED_NOT && critical != 0) {
        return REVOKED_UNSUPPORTED;
    }
    return verdict == REVOKED_NOT ? take_string(part, &text) : verdict;
}

static enum revoked read_section(struct opinion *opinion, struct part *outer, bool inner);

static enum revoked read_certificates(struct opinion *opinion, struct part *part)
{
    struct input text;
    uint8_t fingerprint[32];
    enum revoked verdict = take_string(part, &text);
    opinion->ours = true;
    if (verdict == REVOKED_NOT && text.left > 0) {
        if (!read_key(text, fingerprint)) {
            return REVOKED_BROKEN;
        }
        opinion->ours = is_of(opinion->offer->authority, fingerprint);
    }
    if (verdict == REVOKED_NOT) {
        verdict = take_string(part, &text);
    }
    while (verdict == REVOKED_NOT && !is_empty(part)) {
        verdict = read_section(opinion, part, true);
    }
    return verdict;
}

static const char *name_of(uint64_t type, bool inner)
{
    static const char *const outers[] = {NULL,    "certificates", "key",
                                         "SHA-1", "signature",    "SHA-256"};
    static const char *const inners[] = {"serial list", "serial range", "serial bitmap", "key id"};
    if (type == (inner ? 0x39 : 0xff)) {
        return "extension";
    }
    if (inner) {
        return type >= 0x20 && type <= 0x23 ? inners[type - 0x20] : "unknown";
    }
    return type >= 1 && type <= 5 ? outers[type] : "unknown";
}

static enum revoked read_data(struct opinion *opinion, struct part *part, uint64_t type)
{
    enum revoked verdict;
    if (strcmp(opinion->section, "unknown") == 0 || type == 3 || type == 4) {
        return REVOKED_UNSUPPORTED;
    }
    if (type == 1) {
        return read_certificates(opinion, part);
    }
    if (type == 0x39 || type == 0xff) {
        return read_extension(part);
    }
    if (type == 0x21) {
        return read_serials(opinion, part, type);
    }
    if (type == 0x22) {
        return read_bitmap(opinion, part);
    }
    do {
        verdict =
            type == 0x20 ? read_serials(opinion, part, type) : read_entry(opinion, part, type);
    } while (verdict == REVOKED_NOT && !is_empty(part));
    return verdict;
}

static enum revoked read_section(struct opinion *opinion, struct part *outer, bool inner)
{
    uint64_t type, count;
    const char *before = opinion->section;
    enum revoked verdict = take_number(outer, 1, &type);
    if (verdict == REVOKED_NOT) {
        verdict = take_number(outer, 4, &count);
    }
    if (verdict != REVOKED_NOT) {
        return verdict;
    }
    if (count > outer->here.left + outer->missing) {
        return REVOKED_BROKEN;
    }
    size_t here = count < outer->here.left ? (size_t)count : outer->here.left;
    struct part part = {input_take(&outer->here, here), count - here};
    outer->missing -= inner ? part.missing : 0;
    opinion->section = name_of(type, inner);
    verdict = read_data(opinion, &part, type);
    if (verdict == REVOKED_NOT && !is_empty(&part)) {
        verdict = REVOKED_BROKEN;
    }
    if (verdict == REVOKED_NOT) {
        opinion->section = before;
    }
    return verdict;
}

static enum revoked form_opinion(struct opinion *opinion, struct input file)
{
    struct part whole = {file, UINT64_MAX / 2};
    struct input text;
    uint64_t version;
    opinion->section = "header";
    input_take(&whole.here, sizeof(MAGIC));
    enum revoked verdict = take_number(&whole, 4, &version);
    if (verdict == REVOKED_NOT && version != 1) {
        return REVOKED_UNSUPPORTED;
    }
    for (int i = 0; verdict == REVOKED_NOT && i < 3; i++) {
        verdict = i == 0 ? take(&whole, 24, &text) : take_string(&whole, &text);
    }
    while (verdict == REVOKED_NOT && whole.here.left > 0) {
        verdict = read_section(opinion, &whole, false);
    }
    return verdict == REVOKED_NOT && !opinion->names ? REVOKED_EMPTY : verdict;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void check(struct input file, const struct revoked_offer *offer, struct input pieces,
                  size_t offset)
{
    uint32_t line;
    const char *section;
    struct opinion opinion = {.offer = offer};
    enum revoked expected = form_opinion(&opinion, file);
    for (int i = 0; i < 2; i++) {
        int fd = memory_file_open(0, file, i == 0 ? (struct input){NULL, 0} : pieces);
        FUZZ_CHECK(revoked_look(fd, offer, &line, &section) == expected);
        FUZZ_CHECK(expected == REVOKED_NOT || expected == REVOKED_EMPTY ||
                   strcmp(section, opinion.section) == 0);
        FUZZ_CHECK(line == 0);
    }
    int fd = memory_file_open(0, file, pieces);
    memory_file_break(fd, offset);
    errno = 0;
    enum revoked broken = revoked_look(fd, offer, &line, &section);
    /* A part of the magic number is a text that is not understood. */
    bool is_text = offset < sizeof(MAGIC) && broken == REVOKED_BROKEN;
    FUZZ_CHECK(broken == REVOKED_UNREADABLE ? errno == EIO
                                            : broken != REVOKED_NOT && broken != REVOKED_EMPTY &&
                                                  (is_text || broken == expected));
}

static void write_key(struct key_text *text, char letter)
{
    struct key key = {.sk = false};
    memset(key.public_key, letter, sizeof(key.public_key));
    key_write_text(text, &key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct key_text user, authority;
    struct certificate certificate = {.serial = 0};
    bool certified = (input_u8(&input) & 1) != 0;
    second_number(&input, 8, &certificate.serial);
    const struct input pieces = input_take(&input, input_u8(&input));
    const struct input id = input_line(&input);
    certificate.key_id = reader_over(id.at, id.left);
    write_key(&user, 'U');
    write_key(&authority, 'C');
    const struct revoked_offer offer = {.key = &user,
                                        .authority = certified ? &authority : NULL,
                                        .certificate = certified ? &certificate : NULL};
    size_t count = sizeof(MAGIC) + input.left;
    uint8_t *copy = malloc(count);
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, MAGIC, sizeof(MAGIC));
    if (input.left > 0) {
        memcpy(copy + sizeof(MAGIC), input.at, input.left);
    }
    check((struct input){copy, count}, &offer, pieces, size * 2654435761U % (count + 1));
    free(copy);
    return 0;
}
