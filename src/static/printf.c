/*
 * snprintf(), vsnprintf(), dprintf() and vdprintf() of a static build, which replace libc's (the
 * option small_printf); the functions of libc that are linked use them, too. libc's contain the
 * formatting of floating point numbers, which nothing here prints.
 *
 * They know the conversions that the tree and those functions use, a part of C11 section 7.21.6.1:
 * d u o x X c s and %; a zero and a width of one digit before a number; a precision, also as `*`,
 * of s; and the lengths j and z of all numbers but d. Anything else is refused, as the size of its
 * argument is unknown: nothing more is written, and the result is -1 with EINVAL.
 * tests/unit/printf_formats.c checks the formats of the whole tree.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Hidden: a shared libc and its plugins keep their own, as they may print floating point numbers.
 */
#define OWN __attribute__((visibility("hidden")))
OWN int snprintf(char *out, size_t out_bytes, const char *text, ...);
OWN int vsnprintf(char *out, size_t out_bytes, const char *text, va_list arguments);
OWN int dprintf(int fd, const char *text, ...);
OWN int vdprintf(int fd, const char *text, va_list arguments);

#define CHUNK_BYTES 1024

/* UINT64_MAX in octal; a sign and ten digits are less. */
#define DIGITS_BYTES 22

/* A precision has at most four digits: none follows a number of this size. */
#define PRECISION_FULL 1000

/* The output: memory, or a buffer that is written to a descriptor when it is full. */
struct sink {
    char *bytes;
    size_t room;
    size_t used;
    size_t total; /* with what did not fit */
    int fd;
    bool is_descriptor;
    bool failed; /* errno is set; the rest is ignored */
};

/* A conversion: from after the `%` to its letter. */
struct spec {
    int width;      /* 0: none given */
    int precision;  /* negative: none given */
    bool has_point; /* with a precision of `*` that may be negative */
    char length;    /* j, z, or NUL */
    char letter;
};

static void flush(struct sink *sink)
{
    size_t written = 0;
    while (written < sink->used) {
        ssize_t count = write(sink->fd, sink->bytes + written, sink->used - written);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            sink->failed = true;
            return;
        }
        written += (size_t)count;
    }
    sink->used = 0;
}

static void put(struct sink *sink, const char *bytes, size_t count)
{
    sink->total += count;
    while (count > 0 && !sink->failed) {
        if (sink->used == sink->room && sink->is_descriptor) {
            flush(sink);
        }
        if (sink->used == sink->room || sink->failed) {
            return;
        }
        size_t part = sink->room - sink->used;
        part = part < count ? part : count;
        memcpy(sink->bytes + sink->used, bytes, part);
        bytes += part;
        sink->used += part;
        count -= part;
    }
}

static void put_number(struct sink *sink, const struct spec *spec, bool negative, uint64_t value,
                       unsigned base)
{
    const char *letters = spec->letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char digits[DIGITS_BYTES];
    char *const end = digits + DIGITS_BYTES;
    char *first = end;
    do {
        *--first = letters[value % base];
        value /= base;
    } while (value != 0);
    while (end - first + negative < spec->width) {
        *--first = '0';
    }
    if (negative) {
        *--first = '-';
    }
    put(sink, first, (size_t)(end - first));
}

static uint64_t next_unsigned(const struct spec *spec, va_list *arguments)
{
    switch (spec->length) {
    case 'j':
        return va_arg(*arguments, uintmax_t);
    case 'z':
        return va_arg(*arguments, size_t);
    default:
        return va_arg(*arguments, unsigned);
    }
}

static void put_signed(struct sink *sink, const struct spec *spec, int value)
{
    unsigned size = (unsigned)value;
    put_number(sink, spec, value < 0, value < 0 ? 0 - size : size, 10);
}

static void put_text(struct sink *sink, const struct spec *spec, const char *text)
{
    text = text != NULL ? text : "(null)";
    put(sink, text, spec->precision < 0 ? strlen(text) : strnlen(text, (size_t)spec->precision));
}

static void put_character(struct sink *sink, char character)
{
    put(sink, &character, 1);
}

/* 0 if the letter is not that of an unsigned number. */
static unsigned base_of(char letter)
{
    return letter == 'u' ? 10 : letter == 'o' ? 8 : letter == 'x' || letter == 'X' ? 16 : 0;
}

static bool put_argument(struct sink *sink, const struct spec *spec, va_list *arguments)
{
    unsigned base = base_of(spec->letter);
    bool is_whole = !spec->has_point;
    bool is_bare = spec->width == 0 && spec->length == '\0';
    if (base > 0 && is_whole) {
        put_number(sink, spec, false, next_unsigned(spec, arguments), base);
    } else if (spec->letter == 'd' && is_whole && spec->length == '\0') {
        put_signed(sink, spec, va_arg(*arguments, int));
    } else if (spec->letter == 's' && is_bare) {
        put_text(sink, spec, va_arg(*arguments, const char *));
    } else if (spec->letter == 'c' && is_bare && is_whole) {
        put_character(sink, (char)va_arg(*arguments, int));
    } else {
        return false;
    }
    return true;
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

/* Returns the text that follows. In a number that is too large a digit follows. */
static const char *read_precision(struct spec *spec, const char *text, va_list *arguments)
{
    spec->has_point = true;
    if (*text == '*') {
        spec->precision = va_arg(*arguments, int);
        return text + 1;
    }
    for (spec->precision = 0; is_digit(*text) && spec->precision < PRECISION_FULL; text++) {
        spec->precision = spec->precision * 10 + (*text - '0');
    }
    return text;
}

/* Returns the text after the conversion, or NULL if it failed. */
static const char *convert(struct sink *sink, const char *text, va_list *arguments)
{
    struct spec spec = {.precision = -1};
    if (text[0] == '0' && is_digit(text[1])) {
        spec.width = text[1] - '0';
        text += 2;
    }
    if (*text == '.') {
        text = read_precision(&spec, text + 1, arguments);
    }
    if (*text == 'j' || *text == 'z') {
        spec.length = *text++;
    }
    spec.letter = *text;
    if (!put_argument(sink, &spec, arguments)) {
        sink->failed = true;
        errno = EINVAL;
        return NULL;
    }
    return text + 1;
}

static int format(struct sink *sink, const char *text, va_list arguments)
{
    va_list rest; /* a copy, as a pointer to a va_list parameter may have another type */
    va_copy(rest, arguments);
    while (text != NULL && *text != '\0' && !sink->failed) {
        size_t plain = strcspn(text, "%");
        put(sink, text, plain);
        text += plain;
        if (text[0] == '%' && text[1] == '%') {
            put(sink, text, 1);
            text += 2;
        } else if (text[0] == '%') {
            text = convert(sink, text + 1, &rest);
        }
    }
    va_end(rest);
    if (sink->is_descriptor && !sink->failed) {
        flush(sink);
    }
    return sink->failed ? -1 : (int)sink->total;
}

int vsnprintf(char *out, size_t out_bytes, const char *text, va_list arguments)
{
    struct sink sink = {.bytes = out, .room = out_bytes > 0 ? out_bytes - 1 : 0};
    int total = format(&sink, text, arguments);
    if (out_bytes > 0) {
        out[sink.used] = '\0';
    }
    return total;
}

int snprintf(char *out, size_t out_bytes, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    int total = vsnprintf(out, out_bytes, text, arguments);
    va_end(arguments);
    return total;
}

int vdprintf(int fd, const char *text, va_list arguments)
{
    char chunk[CHUNK_BYTES];
    struct sink sink = {.bytes = chunk, .room = sizeof(chunk), .fd = fd, .is_descriptor = true};
    return format(&sink, text, arguments);
}

int dprintf(int fd, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    int total = vdprintf(fd, text, arguments);
    va_end(arguments);
    return total;
}
