/*
 * src/static/printf.c beside libc's, on formats of its conversions that are made from the input.
 *
 * Input: opcodes. Each makes one conversion with text around it; a second opcode byte says into how
 * many bytes it is written. The pieces of the descriptor's output are of sizes that the input says.
 */
#include "small_printf.h"

#include <errno.h>
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
    char length; /* j, z, or NUL */
    bool has_star;
    int star;
    uint64_t value;
    char string[64];
};

static const char letters[] = "duoxXcs";

/* A zero and a width in front of a number. */
static void put_width(struct conversion *made, struct input *input)
{
    const char width[] = {'0', (char)('1' + input_u8(input) % 9), '\0'};
    strcat(made->text, width);
}

/* In digits, as a star, or a point alone. */
static void put_precision(struct conversion *made, struct input *input)
{
    uint8_t form = input_u8(input), byte = input_u8(input);
    int value = byte < 200 ? byte % 40 : (int)input_below_or_equal(input, 5000);
    strcat(made->text, ".");
    if ((form & 3) == 0) {
        made->has_star = true;
        made->star = (form & 4) != 0 ? -value : value;
        strcat(made->text, "*");
    } else if ((form & 3) != 1) {
        size_t used = strlen(made->text);
        snprintf(made->text + used, sizeof(made->text) - used, "%d", value);
    }
}

static void make(struct conversion *made, struct input *input)
{
    uint8_t flags = input_u8(input), parts = input_u8(input);
    memset(made, 0, sizeof(*made));
    made->letter = letters[input_u8(input) % (sizeof(letters) - 1)];
    bool is_number = strchr("duoxX", made->letter) != NULL;
    uint8_t length = input_u8(input);
    made->length = is_number && made->letter != 'd' ? "\0jz"[length % 3] : '\0';
    input_text(input_take(input, parts >> 4), made->text, 16);
    for (char *at = made->text; *at != '\0'; at++) {
        *at = (char)(*at == '%' ? '.' : *at);
    }
    strcat(made->text, (parts & 8) != 0 ? "%%%" : "%");
    if ((parts & 1) != 0 && is_number) {
        put_width(made, input);
    }
    if ((parts & 2) != 0 && made->letter == 's') {
        put_precision(made, input);
    }
    const char end[] = {made->length != '\0' ? made->length : made->letter,
                        made->length != '\0' ? made->letter : '\0', '\0'};
    strcat(made->text, end);
    strcat(made->text, (parts & 4) != 0 ? "!" : "");
    made->value = (uint64_t)input_u32(input) << 32;
    made->value = (flags & 64) != 0 ? made->value | input_u32(input) : input_u8(input);
    made->value = (flags & 128) != 0 ? 0 - made->value : made->value;
    input_text(input_take(input, is_number ? 0 : input_u8(input) % 64), made->string,
               sizeof(made->string));
}

/* ---- arguments of the right type ------------------------------------------------------------- */

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"

static void write_conversion(const struct conversion *made)
{
    if (made->letter == 'c') {
        write_both(made->text, (int)(uint8_t)made->value);
    } else if (made->letter != 's') {
        switch (made->length) {
        case 'j':
            write_both(made->text, (uintmax_t)made->value);
            break;
        case 'z':
            write_both(made->text, (size_t)made->value);
            break;
        default:
            write_both(made->text, (int)made->value);
        }
    } else if (made->has_star) {
        write_both(made->text, made->star, made->string);
    } else {
        write_both(made->text, made->string);
    }
}

/* Several arguments of different types in one call. */
static void write_several(const struct conversion *made)
{
    static const char *const formats[] = {
        "%d%s%c%zu%02x|%.*s%%%u%jo",
        "%08d %s%c%zX %04o[%.*s]%d%jx",
        "%u,%.3s,%c,%zu,%X,%.*s,%05d,%ju",
    };
    write_both(formats[made->value % 3], (int)made->value, made->string, (int)(made->value & 127),
               (size_t)made->value, (unsigned)(made->value >> 8), made->star % 50, made->string,
               (int)(made->value >> 3), (uintmax_t)made->value);
}

/* What it lacks is refused: nothing more is written. */
static void write_unknown(const struct conversion *made)
{
    static const char unknown[] = "fgeaGnSCkw$ipltqh-+# *5";
    char format[] = "ab%_cd", text[16];
    format[3] = unknown[made->value % (sizeof(unknown) - 1)];
    memset(text, 'x', sizeof(text));
    errno = 0;
    FUZZ_CHECK(small_snprintf(text, sizeof(text), format, 1) == -1 && errno == EINVAL);
    FUZZ_CHECK(strcmp(text, "ab") == 0);
    FUZZ_CHECK(small_snprintf(text, sizeof(text), "%.99999999999s", "") == -1 && errno == EINVAL);
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
