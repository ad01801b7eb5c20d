/*
 * src/static/printf.c beside libc's, on formats that are made from the input. Combinations that
 * C11 section 7.21.6.1 leaves undefined are not made: `#` with d i u c s, `0` with c s p, a
 * precision with c p. Widths and precisions end at 5000, as libc writes all of them.
 *
 * Input: opcodes. Each makes one conversion with text around it; a second opcode byte says into how
 * many bytes it is written. The pieces of the descriptor's output are of sizes that the input says.
 */
#include "small_printf.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define FORMAT_BYTES 256
#define MOST_BYTES   16384

/* ---- the descriptor -------------------------------------------------------------------------- */

static char written[2 * MOST_BYTES];
static size_t written_bytes;
static uint8_t piece; /* of a write: 0 is an interruption once, 255 an error */

ssize_t small_write(int fd, const void *bytes, size_t count)
{
    FUZZ_CHECK(fd == 7 && count > 0);
    if (piece == 0 || piece == 255) {
        errno = piece == 0 ? EINTR : EIO;
        piece = piece == 0 ? 3 : piece;
        return -1;
    }
    count = count < 8U * piece ? count : 8U * piece;
    FUZZ_CHECK(count <= sizeof(written) - written_bytes);
    memcpy(written + written_bytes, bytes, count);
    written_bytes += count;
    return (ssize_t)count;
}

/* ---- the comparison -------------------------------------------------------------------------- */

struct result {
    int count;
    size_t room;
    char text[MOST_BYTES];
};

static struct result ours, libcs;
static int described;

__attribute__((format(printf, 1, 2))) static void write_both(const char *format, ...)
{
    va_list arguments;
    memset(ours.text, 'x', libcs.room + 1);
    memset(libcs.text, 'x', libcs.room + 1);
    va_start(arguments, format);
    libcs.count = vsnprintf(libcs.text, libcs.room, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    ours.count = small_vsnprintf(ours.text, libcs.room, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    written_bytes = 0;
    described = small_vdprintf(7, format, arguments);
    va_end(arguments);
}

static void compare(void)
{
    static char all[MOST_BYTES];
    FUZZ_CHECK(ours.count == libcs.count);
    FUZZ_CHECK(memcmp(ours.text, libcs.text, libcs.room + 1) == 0);
    if (piece == 255) {
        FUZZ_CHECK(described == (libcs.count > 0 ? -1 : 0));
        return;
    }
    FUZZ_CHECK(described == libcs.count && written_bytes == (size_t)libcs.count);
    memcpy(all, libcs.text, libcs.room > 0 ? libcs.room - 1 : 0);
    size_t known = libcs.room == 0                  ? 0
                   : libcs.room - 1 < written_bytes ? libcs.room - 1
                                                    : written_bytes;
    FUZZ_CHECK(memcmp(all, written, known) == 0);
}

/* ---- formats --------------------------------------------------------------------------------- */

struct conversion {
    char text[FORMAT_BYTES];
    char letter;
    unsigned length; /* of hh h - l ll j z t */
    unsigned stars;
    int star[2];
    uint64_t value;
    char string[64];
};

static const char letters[] = "diuoxXcsp";
static const char *const lengths[] = {"hh", "h", "", "l", "ll", "j", "z", "t"};

static int number(struct input *input)
{
    uint8_t byte = input_u8(input);
    return byte < 200 ? byte % 40 : (int)input_below_or_equal(input, 5000);
}

/* A width or a precision, in digits or as a star. */
static void put_number(struct conversion *made, struct input *input, bool may_be_negative)
{
    size_t used = strlen(made->text);
    uint8_t form = input_u8(input);
    int value = number(input);
    if ((form & 3) == 0) {
        made->star[made->stars++] = may_be_negative && (form & 4) != 0 ? -value : value;
        strcat(made->text, "*");
    } else if ((form & 3) != 1) {
        snprintf(made->text + used, sizeof(made->text) - used, "%d", value);
    }
}

static void make(struct conversion *made, struct input *input)
{
    uint8_t flags = input_u8(input), parts = input_u8(input);
    memset(made, 0, sizeof(*made));
    made->letter = letters[input_u8(input) % (sizeof(letters) - 1)];
    made->length = input_u8(input) % 8;
    bool is_number = strchr("diuoxX", made->letter) != NULL;
    input_text(input_take(input, parts >> 4), made->text, 16);
    for (char *at = made->text; *at != '\0'; at++) {
        *at = (char)(*at == '%' ? '.' : *at);
    }
    strcat(made->text, (parts & 8) != 0 ? "%%%" : "%");
    strcat(made->text, (flags & 1) != 0 ? "-" : "");
    strcat(made->text, (flags & 2) != 0 && is_number ? "0" : "");
    strcat(made->text, (flags & 4) != 0 && strchr("di", made->letter) != NULL ? "+" : "");
    strcat(made->text, (flags & 8) != 0 && strchr("di", made->letter) != NULL ? " " : "");
    strcat(made->text, (flags & 16) != 0 && strchr("oxX", made->letter) != NULL ? "#" : "");
    strcat(made->text, (flags & 32) != 0 && (flags & 1) != 0 ? "-" : "");
    /* A zero in front of a width would be a flag: digits never begin with one, but the number 0. */
    if ((parts & 1) != 0) {
        size_t used = strlen(made->text);
        put_number(made, input, true);
        made->text[used] = (char)(made->text[used] == '0' ? '1' : made->text[used]);
    }
    if ((parts & 2) != 0 && made->letter != 'c' && made->letter != 'p') {
        strcat(made->text, ".");
        put_number(made, input, true);
    }
    strcat(made->text, is_number ? lengths[made->length] : "");
    const char end[] = {made->letter, (parts & 4) != 0 ? '!' : '\0', '\0'};
    strcat(made->text, end);
    made->value = (uint64_t)input_u32(input) << 32;
    made->value = (flags & 64) != 0 ? made->value | input_u32(input) : input_u8(input);
    made->value = (flags & 128) != 0 ? 0 - made->value : made->value;
    input_text(input_take(input, is_number ? 0 : input_u8(input) % 64), made->string,
               sizeof(made->string));
}

/* ---- arguments of the right type ------------------------------------------------------------- */

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"

#define WRITE(made, argument)                                                                      \
    ((made)->stars == 0   ? write_both((made)->text, argument)                                     \
     : (made)->stars == 1 ? write_both((made)->text, (made)->star[0], argument)                    \
                          : write_both((made)->text, (made)->star[0], (made)->star[1], argument))

static void write_conversion(const struct conversion *made)
{
    switch (made->letter) {
    case 'c':
        WRITE(made, (int)(uint8_t)made->value);
        return;
    case 's':
        WRITE(made, made->string);
        return;
    case 'p':
        WRITE(made, (void *)(uintptr_t)(made->value | 1)); /* glibc has a word for NULL */
        return;
    default:
        break;
    }
    switch (made->length) {
    case 3:
        WRITE(made, (long)made->value);
        break;
    case 4:
        WRITE(made, (long long)made->value);
        break;
    case 5:
        WRITE(made, (intmax_t)made->value);
        break;
    case 6:
        WRITE(made, (size_t)made->value);
        break;
    case 7:
        WRITE(made, (ptrdiff_t)made->value);
        break;
    default:
        WRITE(made, (int)made->value);
    }
}

/* Several arguments of different types in one call. */
static void write_several(const struct conversion *made)
{
    static const char *const formats[] = {
        "%d%s%c%lu%-5hhx|%*d%%%.*s%#llo",
        "%08d %s%c%ld %+hhi:%-*i[%5.*s]%jx",
        "%u,%.3s,%3c,%zu,%hx,%*u,%.*s,%lld",
    };
    write_both(formats[made->length % 3], (int)made->value, made->string, (int)(made->value & 127),
               (unsigned long)made->value, (int)(made->value >> 8), made->star[0] % 50,
               (int)(made->value >> 3), made->star[1] % 50, made->string, (long long)made->value);
}

/* What it lacks is refused: nothing more is written. */
static void write_unknown(const struct conversion *made)
{
    static const char unknown[] = "fgeaGnSCkw$";
    char format[] = "ab%_cd", text[16];
    format[3] = unknown[made->length];
    memset(text, 'x', sizeof(text));
    errno = 0;
    FUZZ_CHECK(small_snprintf(text, sizeof(text), format, 1) == -1 && errno == EINVAL);
    FUZZ_CHECK(strcmp(text, "ab") == 0);
    FUZZ_CHECK(small_snprintf(text, sizeof(text), "%99999999999d", 1) == -1 && errno == EOVERFLOW);
    FUZZ_CHECK(small_snprintf(text, sizeof(text), "%*s%2s", INT_MAX, "", "") == -1 &&
               errno == EOVERFLOW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct conversion made;
    for (int rounds = 0; rounds < 40 && input.left > 0; rounds++) {
        uint8_t opcode = input_u8(&input);
        libcs.room = (opcode & 3) == 0 ? input_u8(&input) : MOST_BYTES - 1;
        piece = input_u8(&input);
        make(&made, &input);
        if ((opcode >> 2 & 15) == 0) {
            write_unknown(&made);
        } else if ((opcode >> 2 & 7) == 1) {
            write_several(&made);
            compare();
        } else {
            write_conversion(&made);
            compare();
        }
    }
    return 0;
}
