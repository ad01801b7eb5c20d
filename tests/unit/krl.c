/*
 * Revocation lists in OpenSSH's binary form, made by hand. A list is written as words:
 *
 *     H            the header up to the comment
 *     01( ... )    a section of this type, in hexadecimal; "( ... )" alone is a string
 *     U C O        a string: the user's key, the authority's, somebody else's
 *     u c o        a string: their SHA-256 fingerprints
 *     q17          a uint64
 *     'text        a string; - is an empty one
 *     x0aff        these bytes
 */
#include "authkeys_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ssh_client.h"
#include "unit.h"

#define FILE_BYTES 65536

static struct key_text user, authority;
static struct certificate certificate = {.serial = 17};
static const char *section;

static size_t write_key(uint8_t out[static 64], char letter)
{
    uint8_t public_key[32];
    struct fields fields = {out, 0, 64, false};
    memset(public_key, toupper(letter), sizeof(public_key));
    fields_key(&fields, public_key);
    return fields.used;
}

static void begin(void)
{
    struct key key = {.sk = false};
    memset(key.public_key, 'U', sizeof(key.public_key));
    key_write_text(&user, &key);
    memset(key.public_key, 'C', sizeof(key.public_key));
    key_write_text(&authority, &key);
    certificate.serial = 17;
    certificate.key_id = reader_over("laptop", 6);
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(100);

/* ---- a list of words ------------------------------------------------------------------------- */

static void put_header(struct fields *fields)
{
    fields_put(fields, "ru", "SSHKRL\n", (size_t)8, 1);
    fields_number(fields, 8, 7);
    fields_number(fields, 8, 1700000000);
    fields_number(fields, 8, 0);
    fields_put(fields, "ss", "", "a comment");
}

static void put_hex(struct fields *fields, const char *digits, size_t count)
{
    uint8_t bytes[64];
    size_t decoded;
    ck_assert_int_eq(sodium_hex2bin(bytes, sizeof(bytes), digits, count, NULL, &decoded, NULL), 0);
    fields_bytes(fields, bytes, decoded);
}

static void put_key(struct fields *fields, char letter)
{
    uint8_t blob[64], hash[32];
    size_t count = write_key(blob, letter);
    crypto_hash_sha256(hash, blob, count);
    if (isupper((unsigned char)letter)) {
        fields_string(fields, blob, count);
    } else {
        fields_string(fields, hash, sizeof(hash));
    }
}

static size_t assemble(uint8_t out[static FILE_BYTES], const char *words)
{
    struct fields fields = {out, 0, FILE_BYTES, false};
    size_t marks[4], depth = 0;
    for (size_t bytes; words += strspn(words, " "), (bytes = strcspn(words, " ")) > 0;
         words += bytes) {
        if (*words == ')') {
            fields_end(&fields, marks[--depth]);
        } else if (words[bytes - 1] == '(') {
            put_hex(&fields, words, bytes - 1);
            marks[depth++] = fields_begin(&fields);
        } else if (*words == 'H') {
            put_header(&fields);
        } else if (*words == 'q') {
            fields_number(&fields, 8, strtoull(words + 1, NULL, 10));
        } else if (*words == 'x') {
            put_hex(&fields, words + 1, bytes - 1);
        } else if (*words == '\'' || *words == '-') {
            fields_string(&fields, words + 1, bytes - 1);
        } else {
            put_key(&fields, *words);
        }
    }
    ck_assert(!fields.full && depth == 0);
    return fields.used;
}

/* ---- what is judged by it -------------------------------------------------------------------- */

static enum revoked look(const uint8_t *bytes, size_t count, bool certified)
{
    const struct revoked_offer offer = {.key = &user,
                                        .authority = certified ? &authority : NULL,
                                        .certificate = certified ? &certificate : NULL};
    uint32_t line;
    int fd = memfd_create("krl", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    enum revoked verdict = revoked_look(fd, &offer, &line, &section);
    close(fd);
    return verdict;
}

static enum revoked look_at(const char *words, bool certified)
{
    static uint8_t bytes[FILE_BYTES];
    return look(bytes, assemble(bytes, words), certified);
}

static const struct {
    const char *words;
    enum revoked certificate, plain;
    const char *section;
} rows[] = {
    {"H", REVOKED_EMPTY, REVOKED_EMPTY, "header"},
    /* Serial numbers and key ids, of the authority or of any. */
    {"H 01( C - 20( q17 ) )", REVOKED, REVOKED_NOT, "serial list"},
    {"H 01( - - 20( q1 q2 q17 ) )", REVOKED, REVOKED_NOT, "serial list"},
    {"H 01( O - 20( q17 ) 21( q1 q99 ) 22( q17 x0000000101 ) 23( 'laptop ) )", REVOKED_NOT,
     REVOKED_NOT, "header"},
    {"H 01( O - 20( q17 ) ) 01( C - 20( q17 ) )", REVOKED, REVOKED_NOT, "serial list"},
    {"H 01( C - 20( q16 q18 q170 ) )", REVOKED_NOT, REVOKED_NOT, "header"},
    {"H 01( C - 21( q17 q17 ) )", REVOKED, REVOKED_NOT, "serial range"},
    {"H 01( C - 21( q1 q18446744073709551615 ) )", REVOKED, REVOKED_NOT, "serial range"},
    {"H 01( C - 21( q1 q16 ) 21( q18 q20 ) )", REVOKED_NOT, REVOKED_NOT, "header"},
    {"H 01( C - 21( q1 q16 ) 21( q17 q20 ) )", REVOKED, REVOKED_NOT, "serial range"},
    {"H 01( C - 22( q16 x0000000102 ) )", REVOKED, REVOKED_NOT, "serial bitmap"},
    {"H 01( C - 22( q16 x000000017d ) )", REVOKED_NOT, REVOKED_NOT, "header"},
    {"H 01( C - 22( q0 x00000003020000 ) )", REVOKED, REVOKED_NOT, "serial bitmap"},
    {"H 01( C - 22( q1 x00000003010000 ) )", REVOKED, REVOKED_NOT, "serial bitmap"},
    {"H 01( C - 22( q18 x00000003ffffff ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial bitmap"},
    {"H 01( C - 22( q18 x000000047fffffff ) 22( q9 x0000000200ff ) )", REVOKED_NOT, REVOKED_NOT,
     "header"},
    {"H 01( C - 22( q10 x0000000200ff ) )", REVOKED, REVOKED_NOT, "serial bitmap"},
    {"H 01( C - 22( q5 - ) )", REVOKED_EMPTY, REVOKED_EMPTY, "header"},
    {"H 01( C - 22( q18446744073709551600 x000000027fff ) )", REVOKED_NOT, REVOKED_NOT, "header"},
    {"H 01( C - 22( q18446744073709551600 x000000020100 ) )", REVOKED_NOT, REVOKED_NOT, "header"},
    {"H 01( C - 22( q18446744073709551600 x00000003010000 ) )", REVOKED_BROKEN, REVOKED_BROKEN,
     "serial bitmap"},
    {"H 01( C - 22( q18446744073709551600 x00000003020000 ) )", REVOKED_BROKEN, REVOKED_BROKEN,
     "serial bitmap"},
    {"H 01( C - 23( 'desk 'laptop ) )", REVOKED, REVOKED_NOT, "key id"},
    {"H 01( - 'reserved 23( 'laptop ) )", REVOKED, REVOKED_NOT, "key id"},
    {"H 01( C - 23( 'lap 'laptops - ) )", REVOKED_NOT, REVOKED_NOT, "header"},
    {"H 01( C - )", REVOKED_EMPTY, REVOKED_EMPTY, "header"},
    {"H 01( C - 39( 'x x00 - ) ) 01( - - )", REVOKED_EMPTY, REVOKED_EMPTY, "header"},
    {"H 01( C - ) 01( O - 20( q17 ) )", REVOKED_NOT, REVOKED_NOT, "header"},
    /* Keys, by themselves, in a certificate and as authorities. */
    {"H 02( U )", REVOKED, REVOKED, "key"},
    {"H 02( O C )", REVOKED, REVOKED_NOT, "key"},
    {"H 02( O ( 'ssh-rsa 'e 'n ) ) 02( O )", REVOKED_NOT, REVOKED_NOT, "header"},
    {"H 02( O ( 'ssh-mldsa44-ed25519 'key ) ) 02( U )", REVOKED, REVOKED, "key"},
    {"H 05( o u )", REVOKED, REVOKED, "SHA-256"},
    {"H 05( c )", REVOKED, REVOKED_NOT, "SHA-256"},
    {"H 05( o ) 02( O )", REVOKED_NOT, REVOKED_NOT, "header"},
    /* Extensions. */
    {"H ff( 'of@tomorrow x00 'data )", REVOKED_EMPTY, REVOKED_EMPTY, "header"},
    {"H ff( 'of@tomorrow x00 'data ) 02( U )", REVOKED, REVOKED, "key"},
    {"H ff( 'of@tomorrow x01 'data )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "extension"},
    {"H 01( C - 39( 'of@tomorrow x00 - ) 20( q17 ) )", REVOKED, REVOKED_NOT, "serial list"},
    {"H 01( O - 39( 'of@tomorrow x02 - ) )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "extension"},
    /* What is not supported. */
    {"H 03( ( x0000000000000000000000000000000000000000 ) )", REVOKED_UNSUPPORTED,
     REVOKED_UNSUPPORTED, "SHA-1"},
    {"H 03( )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "SHA-1"},
    {"H 02( O ) 04( C ) 'signature", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "signature"},
    {"H 00( )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "unknown"},
    {"H 06( )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "unknown"},
    {"H 20( q17 )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "unknown"},
    {"H 39( 'x x00 - )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "unknown"},
    {"H 01( O - 02( U ) )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "unknown"},
    {"H 01( O - 01( C - 20( q17 ) ) )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "unknown"},
    {"H 01( O - ff( 'x x00 - ) )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "unknown"},
    {"H 01( O - 24( ) )", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED, "unknown"},
    {"x5353484b524c0a00 x00000000 q0 q0 q0 - -", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED,
     "header"},
    {"x5353484b524c0a00 x00000002 q0 q0 q0 - -", REVOKED_UNSUPPORTED, REVOKED_UNSUPPORTED,
     "header"},
    /* What is damaged. */
    {"H 01( C - 20( q0 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial list"},
    {"H 01( C - 20( ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial list"},
    {"H 01( C - 20( q1 x00 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial list"},
    {"H 01( C - 21( q0 q5 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial range"},
    {"H 01( C - 21( q9 q8 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial range"},
    {"H 01( C - 21( q8 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial range"},
    {"H 01( C - 21( q8 q9 q10 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial range"},
    {"H 01( C - 21( q8 q9 q10 q11 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial range"},
    {"H 01( C - 22( q8 x0000000180 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial bitmap"},
    {"H 01( C - 22( q0 x0000000101 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial bitmap"},
    {"H 01( C - 22( q8 x0000000201 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial bitmap"},
    {"H 01( C - 22( q8 x000000010101 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "serial bitmap"},
    {"H 01( C - 23( ) )", REVOKED_BROKEN, REVOKED_BROKEN, "key id"},
    {"H 01( C - 23( x000000026100 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "key id"},
    {"H 01( C - 23( x0000000261 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "key id"},
    {"H 01( C - 23( 'a ) x00 )", REVOKED_BROKEN, REVOKED_BROKEN, "certificates"},
    {"H 01( C - x2000000009 q17 )", REVOKED_BROKEN, REVOKED_BROKEN, "certificates"},
    {"H 01( C )", REVOKED_BROKEN, REVOKED_BROKEN, "certificates"},
    {"H 01( )", REVOKED_BROKEN, REVOKED_BROKEN, "certificates"},
    {"H 01( 'ca - )", REVOKED_BROKEN, REVOKED_BROKEN, "certificates"},
    {"H 02( )", REVOKED_BROKEN, REVOKED_BROKEN, "key"},
    {"H 02( - )", REVOKED_BROKEN, REVOKED_BROKEN, "key"},
    {"H 02( ( 'ssh-ed25519 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "key"},
    {"H 02( ( 'ssh-ed25519 x00000002aa ) )", REVOKED_BROKEN, REVOKED_BROKEN, "key"},
    {"H 02( ( 'ssh-ed25510 'k ) )", REVOKED_BROKEN, REVOKED_BROKEN, "key"},
    {"H 02( ( 'ssh-ed25519-cert-v01@openssh.com 'k ) )", REVOKED_BROKEN, REVOKED_BROKEN, "key"},
    {"H 02( O x00 )", REVOKED_BROKEN, REVOKED_BROKEN, "key"},
    {"H 05( ( x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20 ) )",
     REVOKED_BROKEN, REVOKED_BROKEN, "SHA-256"},
    {"H 05( ( x00 ) )", REVOKED_BROKEN, REVOKED_BROKEN, "SHA-256"},
    {"H 05( )", REVOKED_BROKEN, REVOKED_BROKEN, "SHA-256"},
    {"H ff( 'x )", REVOKED_BROKEN, REVOKED_BROKEN, "extension"},
    {"H ff( 'x x00 - x00 )", REVOKED_BROKEN, REVOKED_BROKEN, "extension"},
    {"H 02( O ) x02", REVOKED_CUT, REVOKED_CUT, "header"},
    {"H 02( O ) x0200000010 'k", REVOKED_BROKEN, REVOKED_BROKEN, "key"},
    {"H x0500000024", REVOKED_CUT, REVOKED_CUT, "SHA-256"},
};

TEST_EACH(sections, COUNT_OF(rows))
{
    for (int certified = 0; certified < 2; certified++) {
        enum revoked wanted = certified ? rows[_i].certificate : rows[_i].plain;
        enum revoked verdict = look_at(rows[_i].words, certified);
        ck_assert_msg(verdict == wanted, "%s: %d", rows[_i].words, (int)verdict);
        bool none = verdict == REVOKED_NOT || verdict == REVOKED_EMPTY;
        ck_assert_msg(none || strcmp(section, rows[_i].section) == 0, "%s: %s", rows[_i].words,
                      section);
    }
}

/* Whatever stands first counts: what comes after it is not read. */
TEST(first_verdict_counts)
{
    ck_assert_int_eq(look_at("H 02( U ) 03( )", true), REVOKED);
    ck_assert_int_eq(look_at("H 03( ) 02( U )", true), REVOKED_UNSUPPORTED);
    ck_assert_int_eq(look_at("H 01( C - 20( q17 q0 ) )", true), REVOKED);
    ck_assert_int_eq(look_at("H 01( C - 20( q0 q17 ) )", true), REVOKED_BROKEN);
}

/* A certificate with serial number 0 has none, and no list can name it. */
TEST(no_serial_number)
{
    certificate.serial = 0;
    ck_assert_int_eq(look_at("H 01( C - 21( q1 q18446744073709551615 ) )", true), REVOKED_NOT);
    ck_assert_int_eq(look_at("H 01( C - 22( q0 x000000017e ) )", true), REVOKED_NOT);
    ck_assert_int_eq(look_at("H 01( C - 23( 'laptop ) )", true), REVOKED);
}

/* A file can be seen to be cut off everywhere but between two sections. */
TEST(every_truncation)
{
    static uint8_t bytes[FILE_BYTES];
    static const char *const parts[] = {
        "H", "H 01( C - 20( q1 ) 21( q2 q5 ) 22( q5 x00000002017f ) 23( 'desk ) 39( 'x x00 - ) )",
        "H 02( O ( 'ssh-rsa 'e 'n ) )", "H 05( o )", "H ff( 'of@tomorrow x00 'data )"};
    size_t header = assemble(bytes, "H"), ends[5], total = 0;
    for (size_t i = 0; i < 5; i++) {
        static uint8_t part[FILE_BYTES];
        size_t count = assemble(part, parts[i]), from = i == 0 ? 0 : header;
        memcpy(bytes + total, part + from, count - from);
        total += count - from;
        ends[i] = total;
    }
    size_t next = 0;
    for (size_t count = 1; count <= total; count++) {
        for (int certified = 0; certified < 2; certified++) {
            enum revoked verdict = look(bytes, count, certified);
            ck_assert_msg(verdict == (count == header       ? REVOKED_EMPTY
                                      : count == ends[next] ? REVOKED_NOT
                                      : count < 8           ? REVOKED_BROKEN
                                                            : REVOKED_CUT),
                          "%zu: %d", count, (int)verdict);
        }
        next += count == ends[next] ? 1 : 0;
    }
    ck_assert_uint_eq(next, 5);
}

/* Any changed byte of the header, and of the lengths and types of sections, is seen. */
TEST(every_length)
{
    static uint8_t bytes[FILE_BYTES];
    size_t total = assemble(bytes, "H 01( C - 20( q1 ) 23( 'desk ) ) 05( o )");
    size_t header = assemble(bytes + total, "H");
    const size_t at[] = {header,          header + 1 + 4,          header + 5 + 55,
                         header + 5 + 59, header + 5 + 59 + 1 + 3, total - 36,
                         total - 37 - 4};
    ck_assert_int_eq(look(bytes, total, true), REVOKED_NOT);
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        bytes[at[i]] ^= 0x10;
        enum revoked verdict = look(bytes, total, true);
        ck_assert_msg(verdict != REVOKED_NOT && verdict != REVOKED_EMPTY, "%zu", i);
        bytes[at[i]] ^= 0x10;
    }
}

/* Longer than the buffer: each entry counts, wherever the buffer ends. */
TEST(long_lists)
{
    static uint8_t bytes[FILE_BYTES];
    struct fields fields = FIELDS_IN(bytes);
    put_header(&fields);
    fields_number(&fields, 1, 1);
    size_t outer = fields_begin(&fields);
    fields_put(&fields, "ssb", "", "", 0x20);
    size_t inner = fields_begin(&fields);
    for (uint64_t serial = 1; serial <= 6000; serial++) {
        fields_number(&fields, 8, serial * 1000);
    }
    fields_end(&fields, inner);
    fields_end(&fields, outer);
    ck_assert(!fields.full);
    for (uint64_t serial = 1; serial <= 6000; serial += unit_is_slow() ? 97 : 7) {
        certificate.serial = serial * 1000;
        ck_assert_int_eq(look(bytes, fields.used, true), REVOKED);
        certificate.serial++;
        ck_assert_int_eq(look(bytes, fields.used, true), REVOKED_NOT);
    }
}

/* Each bit of a bitmap stands for its own serial number. */
TEST(every_bit)
{
    static uint8_t bytes[FILE_BYTES];
    for (unsigned bit = 0; bit < 40; bit++) {
        char words[200];
        snprintf(words, sizeof(words), "H 01( C - 22( q100 x00000006%012llx ) )", 1ULL << bit);
        size_t count = assemble(bytes, words);
        for (unsigned serial = 90; serial < 150; serial++) {
            certificate.serial = serial;
            ck_assert_int_eq(look(bytes, count, true), serial == 100 + bit ? REVOKED : REVOKED_NOT);
        }
    }
}

/* An entry of 16384 bytes is read, a longer one is refused. */
TEST(longest_entry)
{
    static uint8_t bytes[FILE_BYTES], id[LIMIT_AUTHKEYS_LINE_BYTES + 1];
    memset(id, 'x', sizeof(id));
    for (int i = 0; i < 4; i++) {
        struct fields fields = FIELDS_IN(bytes);
        bool too_long = i % 2 == 1, bitmap = i > 1;
        put_header(&fields);
        fields_number(&fields, 1, 1);
        size_t outer = fields_begin(&fields);
        fields_put(&fields, "ssb", "", "", bitmap ? 0x22 : 0x23);
        size_t inner = fields_begin(&fields);
        if (bitmap) {
            fields_number(&fields, 8, 18);
        }
        fields_string(&fields, id, sizeof(id) - (too_long ? 0 : 1));
        fields_end(&fields, inner);
        fields_end(&fields, outer);
        ck_assert(!fields.full);
        ck_assert_int_eq(look(bytes, fields.used, true), too_long ? REVOKED_BROKEN : REVOKED_NOT);
        /* Its last bit, behind a 0. */
        certificate.serial = 18 + (uint64_t)(sizeof(id) - 1) * 8 - 2;
        ck_assert_int_eq(look(bytes, fields.used, true), too_long ? REVOKED_BROKEN
                                                         : bitmap ? REVOKED
                                                                  : REVOKED_NOT);
        certificate.serial = 17;
    }
}

TEST(unreadable)
{
    const struct revoked_offer offer = {.key = &user};
    uint32_t line;
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(revoked_look(fd, &offer, &line, &section), REVOKED_UNREADABLE);
    ck_assert_int_eq(errno, EISDIR);
    close(fd);
}

/* The list is whole up to where the read fails: that is not its end. */
TEST(unreadable_between_sections)
{
    const struct revoked_offer offer = {.key = &user};
    static const uint8_t header[44] = "SSHKRL\n\0\0\0\0\1";
    uint32_t line;
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    ck_assert_int_eq(write(ends[1], header, sizeof(header)), sizeof(header));
    ck_assert_int_eq(revoked_look(ends[0], &offer, &line, &section), REVOKED_UNREADABLE);
    close(ends[0]);
    close(ends[1]);
}
