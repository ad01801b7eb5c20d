/*
 * A file of -R in the binary form of OpenSSH (PROTOCOL.krl), as `ssh-keygen -k` writes it: the
 * certificates of an authority, or of any, by serial numbers and key ids; keys; and SHA-256
 * fingerprints of keys. A key counts by itself, in a certificate, and as an authority.
 *
 * A list that is not understood in full revokes all keys: also one with SHA-1 fingerprints, which
 * would cost an algorithm of their own, with a signature, or with a critical extension. Serial
 * number 0 means that a certificate has none, so a list can't name it.
 *
 * byte[8]   "SSHKRL\n\0"
 * uint32    format version, 1
 * uint64    version of the list, uint64 date, uint64 flags
 * string    reserved
 * string    comment
 *
 * and then sections, each a byte with its type and a string. A section of certificates holds an
 * authority's key or an empty string, a reserved string, and sections of its own.
 */
#include "authkeys_internal.h"

#define MAGIC_BYTES 8

/* The types of sections. Those from SERIAL_LIST to CERTIFICATES_EXTENSION are allowed only in a
 * section of certificates. */
enum {
    UNKNOWN,
    CERTIFICATES,
    KEYS,
    SHA1_FINGERPRINTS,
    SIGNATURE,
    SHA256_FINGERPRINTS,
    SERIAL_LIST = 0x20,
    SERIAL_RANGE,
    SERIAL_BITMAP,
    KEY_IDS,
    CERTIFICATES_EXTENSION = 0x39,
    EXTENSION = 0xff,
};

/* Each section's type and its name in the log, up to the type 0. */
static const char names[] = "\001certificates\0"
                            "\002key\0"
                            "\003SHA-1\0"
                            "\004signature\0"
                            "\005SHA-256\0"
                            "\040serial list\0"
                            "\041serial range\0"
                            "\042serial bitmap\0"
                            "\043key id\0"
                            "\071extension\0"
                            "\377extension\0"
                            "\0unknown";

struct krl {
    struct lines *file;
    const struct revoked_offer *offer;
    const char *section;
    uint64_t left;       /* bytes of the innermost section; 0 once there is a verdict */
    struct reader entry; /* the string last read; empty on failure */
    enum revoked verdict;
    bool is_empty; /* nothing is named so far */
    bool is_ours;  /* the section of certificates is about the offer's authority */
};

/* The first verdict stays. */
static void settle(struct krl *krl, enum revoked verdict)
{
    if (krl->verdict == REVOKED_NOT) {
        krl->verdict = verdict;
    }
    krl->left = 0;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* The bytes are valid until the next call. On failure NULL. */
static const uint8_t *take_bytes(struct krl *krl, uint32_t count)
{
    if (count > krl->left || count > sizeof(krl->file->bytes)) {
        settle(krl, REVOKED_BROKEN);
        return NULL;
    }
    const uint8_t *bytes = lines_bytes(krl->file, count);
    krl->left -= count;
    if (bytes == NULL) {
        settle(krl, krl->file->ended ? REVOKED_CUT : REVOKED_UNREADABLE);
    }
    return bytes;
}

/* Zero on failure. */
static uint64_t take_number(struct krl *krl, unsigned count)
{
    uint64_t number = 0;
    const uint8_t *bytes = take_bytes(krl, count);
    for (unsigned i = 0; bytes != NULL && i < count; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

/* Into `entry`. */
static void take_string(struct krl *krl)
{
    uint32_t count = (uint32_t)take_number(krl, 4);
    const uint8_t *bytes = take_bytes(krl, count);
    krl->entry = bytes != NULL ? reader_over(bytes, count) : reader_over("", 0);
}

/* ---- what is revoked ------------------------------------------------------------------------- */

/* Of an entry: whether it is well-formed, and whether it names the offer. */
static void judge(struct krl *krl, bool valid, bool named)
{
    krl->is_empty = false;
    if (!valid) {
        settle(krl, REVOKED_BROKEN);
    } else if (named) {
        settle(krl, REVOKED);
    }
}

static void judge_serials(struct krl *krl, uint64_t first, uint64_t last)
{
    const struct certificate *certificate = krl->offer->certificate;
    judge(krl, first != 0 && last >= first,
          krl->is_ours && certificate->serial >= first && certificate->serial <= last);
}

/* Bit N of an mpint, which is its Nth bit from the end, is for the serial number first + N. */
static void read_serial_bitmap(struct krl *krl)
{
    uint64_t first = take_number(krl, 8);
    take_string(krl);
    if (reader_peek(&krl->entry) > 0x7f) { /* negative */
        settle(krl, REVOKED_BROKEN);
    }
    for (size_t n = 0; n < krl->entry.left * 8; n++) {
        if ((krl->entry.bytes[krl->entry.left - 1 - n / 8] >> n % 8 & 1) != 0) {
            uint64_t serial = first + n;
            judge_serials(krl, serial, serial < first ? 0 : serial);
        }
    }
}

/* ---- sections -------------------------------------------------------------------------------- */

static void read_section(struct krl *krl, bool of_certificates);

static void read_certificates(struct krl *krl)
{
    uint8_t fingerprint[32];
    take_string(krl);
    krl->is_ours = krl->offer->certificate != NULL;
    if (krl->entry.left > 0) {
        if (!key_hash(fingerprint, krl->entry)) {
            settle(krl, REVOKED_BROKEN);
        }
        krl->is_ours = key_text_is_one(krl->offer->authority, NULL, fingerprint);
    }
    take_string(krl);
    while (krl->left > 0) {
        read_section(krl, true);
    }
}

/* An extension that is not critical may be skipped. */
static void read_extension(struct krl *krl)
{
    take_string(krl);
    if (take_number(krl, 1) != 0) {
        settle(krl, REVOKED_UNSUPPORTED);
    }
    take_string(krl);
}

/* Reads one entry or all. True if another one may follow. */
static bool read_entries(struct krl *krl, unsigned type)
{
    const struct revoked_offer *offer = krl->offer;
    uint8_t fingerprint[32];
    uint64_t serial;
    bool valid;
    switch (type) {
    case CERTIFICATES:
        read_certificates(krl);
        return false;
    case KEYS:
        take_string(krl);
        valid = key_hash(fingerprint, krl->entry);
        judge(krl, valid, revoked_is_offered(offer, fingerprint));
        return true;
    case SHA256_FINGERPRINTS:
        take_string(krl);
        valid = krl->entry.left == sizeof(fingerprint);
        judge(krl, valid, valid && revoked_is_offered(offer, krl->entry.bytes));
        return true;
    case KEY_IDS:
        take_string(krl);
        judge(krl, !reader_has_nul(&krl->entry),
              krl->is_ours &&
                  reader_equals(&offer->certificate->key_id, krl->entry.bytes, krl->entry.left));
        return true;
    case SERIAL_LIST:
        serial = take_number(krl, 8);
        judge_serials(krl, serial, serial);
        return true;
    case SERIAL_RANGE:
        serial = take_number(krl, 8);
        judge_serials(krl, serial, take_number(krl, 8));
        return false;
    case SERIAL_BITMAP:
        read_serial_bitmap(krl);
        return false;
    case CERTIFICATES_EXTENSION:
    case EXTENSION:
        read_extension(krl);
        return false;
    default:
        settle(krl, REVOKED_UNSUPPORTED);
        return false;
    }
}

static const char *find_section(unsigned type, bool of_certificates)
{
    const char *name = names;
    bool allowed = of_certificates == (type >= SERIAL_LIST && type <= CERTIFICATES_EXTENSION);
    while (*name != UNKNOWN && ((uint8_t)*name != type || !allowed)) {
        name += strlen(name) + 1;
    }
    return name;
}

static void read_section(struct krl *krl, bool of_certificates)
{
    const char *outer = krl->section;
    const char *section = find_section((unsigned)take_number(krl, 1), of_certificates);
    uint64_t count = take_number(krl, 4);
    uint64_t rest = krl->left - count;
    if (count > krl->left) {
        settle(krl, REVOKED_BROKEN);
    }
    if (krl->verdict != REVOKED_NOT) {
        return;
    }
    krl->left = count;
    krl->section = section + 1;
    while (read_entries(krl, (uint8_t)*section) && krl->left > 0) {
    }
    if (krl->left > 0) {
        settle(krl, REVOKED_BROKEN);
    }
    if (krl->verdict == REVOKED_NOT) {
        krl->left = rest;
        krl->section = outer;
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

bool krl_begins(struct lines *file)
{
    const uint8_t *magic = lines_bytes(file, MAGIC_BYTES);
    if (magic != NULL && memcmp(magic, "SSHKRL\n", MAGIC_BYTES) == 0) {
        return true;
    }
    file->start = 0;
    return false;
}

/* False at the end of the file. */
static bool has_more(struct krl *krl)
{
    bool more = lines_bytes(krl->file, 1) != NULL;
    krl->file->start -= more ? 1 : 0;
    if (!more && !krl->file->ended) {
        settle(krl, REVOKED_UNREADABLE);
    }
    return more;
}

enum revoked krl_look(struct lines *file, const struct revoked_offer *offer, const char **section)
{
    struct krl krl = {
        .file = file, .offer = offer, .section = "header", .left = UINT64_MAX, .is_empty = true};
    if (take_number(&krl, 4) != 1) {
        settle(&krl, REVOKED_UNSUPPORTED);
    }
    take_bytes(&krl, 3 * 8);
    take_string(&krl);
    take_string(&krl);
    while (krl.verdict == REVOKED_NOT && has_more(&krl)) {
        krl.left = UINT64_MAX;
        read_section(&krl, false);
    }
    *section = krl.section;
    return krl.verdict == REVOKED_NOT && krl.is_empty ? REVOKED_EMPTY : krl.verdict;
}
