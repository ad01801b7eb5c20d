/*
 * src/authkeys/krl.c: any bytes as a revocation list. What is read is valid when it is used: each
 * piece of the file is freed when the next one is asked for. The first verdict stays, and a list
 * that can't be read to its end never says that nothing is revoked.
 *
 * Step 0: fields. Step 1: whole lists. Step 2: a section within another, or within none; sections
 * stand only where they may, so they nest twice at most. Steps 3 to 11: the data of each type.
 * Keys, fingerprints, and serial numbers in lists and ranges, revoke what they name and nothing
 * else. Each round takes bytes off its section, so that all loops end; they are proved by one round
 * from any state.
 *
 * Bounds: bitmaps of up to BITMAP_BYTES, without what each bit means: CBMC has no answer for that
 * within a minute.
 */
#include "authkeys_internal.h"

#include <stdlib.h>

#include "proofs.h"

#define BITMAP_BYTES 2

/* Sections hold data, and that of certificates holds sections: each is proved with what is proved
 * of the other. The macros tell the definition, where `struct` comes first, from the calls. */
struct krl;
static bool data_as_proved(struct krl *krl, unsigned type);
static void section_as_proved(struct krl *krl, bool of_certificates);
/* clang-format off */
#define read_entries(krl, type) DATA_##krl, type)
#define DATA_struct          data_itself(struct
#define DATA_krl             data_as_proved(krl
#define read_section(krl, of_certificates) SECTION_##of_certificates)
#define SECTION_bool         section_itself(struct krl *krl, bool
#define SECTION_true         section_as_proved(krl, true
#define SECTION_false        section_as_proved(&krl, false
/* clang-format on */
/* A serial number after the last one wraps, and then it does not count. */
#pragma CPROVER check push
#pragma CPROVER check disable "unsigned-overflow"
#include "krl.c"
#pragma CPROVER check pop

#include "libc.h"

enum { FIELDS, LIST, SECTION, DATA }; /* the steps; from DATA on one for each of these types: */
static const uint8_t types[] = {CERTIFICATES, KEYS,        SHA256_FINGERPRINTS,
                                KEY_IDS,      SERIAL_LIST, SERIAL_RANGE,
                                EXTENSION,    UNKNOWN,     SERIAL_BITMAP};
#define TYPE (STEP < DATA ? UNKNOWN : types[STEP - DATA])

static struct lines file;
static uint8_t *piece;
static uint64_t taken;           /* bytes of the file, ... */
static unsigned pieces;          /* ... and in how many pieces */
static bool missing, ended_well; /* a piece was not there; at a place where the list may end */
static uint64_t numbers[2];      /* the first pieces of 8 bytes */
static unsigned number_count;
static struct key_text key, authority;
static struct certificate certificate;
static struct revoked_offer offer;
static bool hashed, named; /* what the models below have answered */

/* ---- what krl.c calls ------------------------------------------------------------------------ */

static void note_number(size_t count)
{
    if (count == 8 && number_count < 2) {
        for (unsigned i = 0; i < 8; i++) {
            numbers[number_count] = numbers[number_count] << 8 | piece[i];
        }
        number_count++;
    }
}

const uint8_t *lines_bytes(struct lines *lines, size_t count)
{
    PROVE(lines == &file && count <= sizeof(lines->bytes), "a piece that the buffer has room for");
    free(piece);
    piece = NULL;
    if (count == 0) { /* also at the end */
        static const uint8_t nothing[1];
        return nothing;
    }
    PROVE(!missing, "nothing is read after the end");
    if (nondet_bool()) {
        missing = true;
        file.ended = nondet_bool();
        ended_well = count == 1 && file.ended;
        return NULL;
    }
    ASSUME(TYPE != SERIAL_BITMAP || pieces < 2 || count <= BITMAP_BYTES);
    piece = malloc(count);
    pieces++;
    taken += count;
    file.start = count;
    note_number(count);
    return piece;
}

bool key_hash(uint8_t fingerprint[static 32], struct reader blob)
{
    PROVE(blob.left == 0 || __CPROVER_r_ok(blob.bytes, blob.left), "the key is there");
    PROVE(__CPROVER_w_ok(fingerprint, 32), "the fingerprint has room");
    hashed = nondet_bool();
    return hashed;
}

bool key_text_is_one(const struct key_text *one, const struct key_text *other,
                     const uint8_t fingerprint[static 32])
{
    PROVE(__CPROVER_r_ok(fingerprint, 32), "the fingerprint is there");
    named = (one != NULL || other != NULL) && nondet_bool();
    return named;
}

static void note_key(void *noted, const uint8_t fingerprint[static 32])
{
    PROVE(noted == &key && __CPROVER_r_ok(fingerprint, 32), "the fingerprint is there");
}

/* ---- what is proved of each ------------------------------------------------------------------ */

static void begin(struct krl *krl)
{
    bool certified = nondet_bool();
    size_t id_bytes = nondet_u8();
    offer = (struct revoked_offer){.key = &key,
                                   .authority = certified ? &authority : NULL,
                                   .certificate = certified ? &certificate : NULL,
                                   .note = nondet_bool() ? note_key : NULL,
                                   .noted = &key};
    certificate.serial = nondet_size();
    certificate.key_id = reader_over(malloc(id_bytes), id_bytes);
    *krl = (struct krl){.file = &file,
                        .offer = &offer,
                        .section = names,
                        .left = nondet_size(),
                        .is_empty = nondet_bool(),
                        .is_ours = certified && nondet_bool()};
}

static bool is_valid(const struct krl *krl)
{
    return krl->file == &file && krl->offer == &offer && krl->section != NULL &&
           (unsigned)krl->verdict < REVOKED_EMPTY &&
           (krl->verdict == REVOKED_NOT ? !missing : krl->left == 0) &&
           (!krl->is_ours || offer.certificate != NULL);
}

static unsigned rounds;
static uint64_t round_left, section_left; /* at the start of the round; of the section */
static bool nested;

/* Stands for any round of a loop, and then shows what it has left for the next: it ends with a
 * verdict, or takes bytes from `least` on. */
static void make_round(struct krl *krl, uint64_t least)
{
    PROVE(is_valid(krl) && krl->verdict == REVOKED_NOT, "a round begins without a verdict");
    PROVE(rounds == 0 || STEP == LIST || krl->left < round_left, "the last round took bytes");
    ASSUME(++rounds < 2);
    round_left = nondet_size();
    ASSUME(round_left <= krl->left);
    krl->left = nondet_size();
    krl->verdict = (enum revoked)nondet_unsigned();
    krl->is_empty = nondet_bool();
    krl->is_ours = nondet_bool();
    krl->entry = reader_over("", 0);
    if (krl->verdict != REVOKED_NOT) {
        missing = nondet_bool();
        krl->section = names + 1;
    } else {
        ASSUME(round_left >= least && krl->left <= round_left - least);
    }
    ASSUME(is_valid(krl));
}

static bool data_as_proved(struct krl *krl, unsigned type)
{
    bool inner = type >= SERIAL_LIST && type <= CERTIFICATES_EXTENSION;
    PROVE(type == UNKNOWN || inner == nested, "sections stand only where they may");
    section_left = rounds == 0 ? krl->left : section_left;
    make_round(krl, 1);
    return nondet_bool();
}

static void section_as_proved(struct krl *krl, bool of_certificates)
{
    PROVE(of_certificates == (STEP != LIST), "only certificates have sections");
    PROVE(of_certificates || (krl->left == UINT64_MAX && file.start == 0),
          "a section of the list begins with the byte that was looked at");
    make_round(krl, 5);
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void prove_fields(struct krl *krl)
{
    uint64_t left = krl->left;
    bool settled = nondet_bool();
    if (settled) {
        settle(krl, REVOKED_BROKEN);
    }
    if (nondet_bool()) {
        take_number(krl, 8);
    } else {
        take_string(krl);
        PROVE(krl->entry.left == 0 || __CPROVER_r_ok(krl->entry.bytes, krl->entry.left),
              "the string is there");
        PROVE(krl->verdict == REVOKED_NOT || krl->entry.left == 0, "or it is empty");
    }
    PROVE(krl->verdict != REVOKED_NOT || left - krl->left == taken, "what is taken is counted");
    PROVE(!settled || (krl->verdict == REVOKED_BROKEN && taken == 0), "the first verdict stays");
}

static void prove_list(void)
{
    const char *section = NULL;
    enum revoked verdict = krl_look(&file, &offer, &section);
    PROVE(section != NULL, "a section is named");
    PROVE((verdict != REVOKED_NOT && verdict != REVOKED_EMPTY) || ended_well,
          "only a list that was read to its end says that nothing is revoked");
}

static void prove_section(struct krl *krl)
{
    uint64_t left = krl->left;
    nested = nondet_bool();
    section_itself(krl, nested);
    PROVE(krl->verdict != REVOKED_NOT || (rounds > 0 && left - krl->left == section_left + 5),
          "the whole section is taken off, and nothing else");
    PROVE(krl->verdict != REVOKED_NOT || krl->section == names, "then the outer one goes on");
}

/* Nothing else revokes, and what says so does if it is `valid`. */
static void prove_verdict(const struct krl *krl, bool revokes, bool valid)
{
    PROVE(krl->verdict != REVOKED || revokes, "only what is named is revoked");
    PROVE(krl->verdict != REVOKED_NOT || (valid && !revokes), "what is named is revoked");
}

static bool on_serials(const struct krl *krl, uint64_t first, uint64_t last)
{
    return krl->is_ours && certificate.serial >= first && certificate.serial <= last;
}

static void prove_data(struct krl *krl)
{
    uint64_t left = krl->left, last;
    if (TYPE == EXTENSION && nondet_bool()) {
        data_itself(krl, CERTIFICATES_EXTENSION);
    } else {
        data_itself(krl, TYPE);
    }
    PROVE(krl->verdict != REVOKED_NOT || krl->left < left, "data takes bytes");
    PROVE(krl->verdict != REVOKED || !missing || TYPE == CERTIFICATES, "what is cut names nothing");
    switch (TYPE) {
    case KEYS:
        prove_verdict(krl, hashed && named, hashed);
        break;
    case SHA256_FINGERPRINTS:
        prove_verdict(krl, krl->entry.left == 32 && named, krl->entry.left == 32);
        break;
    case SERIAL_LIST:
    case SERIAL_RANGE:
        last = numbers[TYPE == SERIAL_RANGE];
        prove_verdict(krl, on_serials(krl, numbers[0], last),
                      numbers[0] != 0 && last >= numbers[0]);
        break;
    case SERIAL_BITMAP:
        PROVE(krl->verdict != REVOKED || krl->is_ours, "only its own authority's");
        break;
    default:
        break;
    }
}

int main(void)
{
    struct krl krl;
    begin(&krl);
    switch (STEP) {
    case FIELDS:
        prove_fields(&krl);
        break;
    case LIST:
        prove_list();
        return 0;
    case SECTION:
        prove_section(&krl);
        break;
    default:
        prove_data(&krl);
        break;
    }
    PROVE(is_valid(&krl), "a list that is cut has a verdict, and after one nothing is left");
    return 0;
}
