/*
 * snprintf(), vsnprintf(), dprintf() and vdprintf() of a static build, which replace libc's (the
 * option small_printf); the functions of libc that are linked use them, too. libc's contain the
 * formatting of floating point numbers, which nothing here prints.
 *
 * They follow C11 section 7.21.6.1 without floating point, wide characters and locales: the flags
 * `-`, `0`, `+`, space and `#`; width and precision, also as `*`; the lengths hh h l ll j z t; and
 * the conversions d i u o x X c s p %. Anything else is refused, as the size of its argument is
 * unknown: nothing more is written, and the result is -1 with EINVAL.
 * tests/unit/printf_formats.c checks the formats of the whole tree.
 */
#include <errno.h>
#include <limits.h>
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

/* UINT64_MAX in octal. */
#define DIGITS_BYTES 22

/* z and t are read like l. */
_Static_assert(sizeof(size_t) == sizeof(long) && sizeof(ptrdiff_t) == sizeof(long), "lengths");
_Static_assert(sizeof(intmax_t) == sizeof(int64_t), "the longest number");

/* The output: memory, or a buffer that is written to a descriptor when it is full. */
struct sink {
    char *bytes;
    size_t room;
    size_t used;
    size_t total; /* with what did not fit; at most INT_MAX, as printf() returns it */
    int fd;
    bool is_descriptor;
    bool failed; /* errno is set; the rest is ignored */
};

/* In the order of flag_letters. */
enum { LEFT = 1, ZERO = 2, PLUS = 4, SPACE = 8, ALTERNATE = 16 };
static const char flag_letters[] = "-0+ #";

/* A conversion: from after the `%` to its letter. */
struct spec {
    unsigned flags;
    int width;
    int precision;         /* negative: none given */
    unsigned length_bytes; /* 0: none given */
    char letter;
};

static void fail(struct sink *sink, int error)
{
    sink->failed = true;
    errno = error;
}

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

/* Adds `count` bytes; if `bytes` is NULL, as many of `filling`. */
static void put(struct sink *sink, const char *bytes, char filling, size_t count)
{
    if (sink->failed) {
        return;
    }
    if (count > (size_t)INT_MAX - sink->total) {
        fail(sink, EOVERFLOW);
        return;
    }
    sink->total += count;
    while (count > 0) {
        if (sink->used == sink->room && sink->is_descriptor) {
            flush(sink);
        }
        if (sink->used == sink->room || sink->failed) {
            return;
        }
        size_t part = sink->room - sink->used;
        part = part < count ? part : count;
        if (bytes != NULL) {
            memcpy(sink->bytes + sink->used, bytes, part);
            bytes += part;
        } else {
            memset(sink->bytes + sink->used, filling, part);
        }
        sink->used += part;
        count -= part;
    }
}

static size_t up_to(int least, size_t count)
{
    return least > 0 && (size_t)least > count ? (size_t)least - count : 0;
}

/* Adds prefix, zeros and body, with spaces up to the field's width. */
static void put_field(struct sink *sink, const struct spec *spec, const char *prefix, size_t zeros,
                      const char *body, size_t body_bytes)
{
    size_t prefix_bytes = strlen(prefix);
    size_t missing = up_to(spec->width, prefix_bytes + zeros + body_bytes);
    put(sink, NULL, ' ', spec->flags & LEFT ? 0 : missing);
    put(sink, prefix, 0, prefix_bytes);
    put(sink, NULL, '0', zeros);
    put(sink, body, 0, body_bytes);
    put(sink, NULL, ' ', spec->flags & LEFT ? missing : 0);
}

static void put_number(struct sink *sink, const struct spec *spec, const char *prefix,
                       uint64_t value, unsigned base)
{
    const char *letters = spec->letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char digits[DIGITS_BYTES];
    char *first = digits + DIGITS_BYTES;
    while (value != 0) {
        *--first = letters[value % base];
        value /= base;
    }
    size_t count = (size_t)(digits + DIGITS_BYTES - first);
    /* A 0 of precision 0 has no digits. With `#` an octal number always begins with 0. */
    size_t zeros = up_to(spec->precision < 0 ? 1 : spec->precision, count);
    if (base == 8 && (spec->flags & ALTERNATE) && zeros == 0) {
        zeros = 1;
    }
    if ((spec->flags & (ZERO | LEFT)) == ZERO && spec->precision < 0) {
        zeros += up_to(spec->width, strlen(prefix) + zeros + count);
    }
    put_field(sink, spec, prefix, zeros, first, count);
}

/* The next argument. Only as many low bytes are valid as its length says: see narrow(). */
static uint64_t next_number(const struct spec *spec, va_list *arguments)
{
    if (spec->length_bytes > sizeof(int)) {
        return va_arg(*arguments, uint64_t);
    }
    return va_arg(*arguments, unsigned);
}

/* The bits above a number of this length. */
static unsigned narrow(const struct spec *spec)
{
    return 64 - 8 * (spec->length_bytes == 0 ? (unsigned)sizeof(int) : spec->length_bytes);
}

static void put_signed(struct sink *sink, const struct spec *spec, va_list *arguments)
{
    uint64_t raw = next_number(spec, arguments) << narrow(spec);
    int64_t value = (int64_t)raw >> narrow(spec);
    const char *sign = spec->flags & PLUS ? "+" : spec->flags & SPACE ? " " : "";
    put_number(sink, spec, value < 0 ? "-" : sign,
               value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
}

static void put_unsigned(struct sink *sink, const struct spec *spec, va_list *arguments,
                         unsigned base)
{
    uint64_t value = next_number(spec, arguments) << narrow(spec) >> narrow(spec);
    const char *prefix = base != 16 || value == 0 || !(spec->flags & ALTERNATE) ? ""
                         : spec->letter == 'X'                                  ? "0X"
                                                                                : "0x";
    put_number(sink, spec, prefix, value, base);
}

static void put_string(struct sink *sink, const struct spec *spec, const char *text)
{
    text = text != NULL ? text : "(null)";
    size_t bytes = spec->precision < 0 ? strlen(text) : strnlen(text, (size_t)spec->precision);
    put_field(sink, spec, "", 0, text, bytes);
}

static void put_character(struct sink *sink, const struct spec *spec, char character)
{
    put_field(sink, spec, "", 0, &character, 1);
}

static bool convert_number(struct sink *sink, const struct spec *spec, va_list *arguments)
{
    switch (spec->letter) {
    case 'd':
    case 'i':
        put_signed(sink, spec, arguments);
        return true;
    case 'u':
        put_unsigned(sink, spec, arguments, 10);
        return true;
    case 'o':
        put_unsigned(sink, spec, arguments, 8);
        return true;
    case 'x':
    case 'X':
        put_unsigned(sink, spec, arguments, 16);
        return true;
    default:
        return false;
    }
}

/* The conversions that take no length. */
static bool convert_other(struct sink *sink, const struct spec *spec, va_list *arguments)
{
    switch (spec->length_bytes == 0 ? spec->letter : '\0') {
    case 'c':
        put_character(sink, spec, (char)va_arg(*arguments, int));
        return true;
    case 's':
        put_string(sink, spec, va_arg(*arguments, const char *));
        return true;
    case 'p':
        put_number(sink, spec, "0x", (uintptr_t)va_arg(*arguments, void *), 16);
        return true;
    default:
        return false;
    }
}

/* The readers return the text that follows, or NULL if a number is too large for an int. */
static const char *read_number(int *number, const char *text, va_list *arguments)
{
    if (*text == '*') {
        *number = va_arg(*arguments, int);
        return text + 1;
    }
    for (*number = 0; *text >= '0' && *text <= '9'; text++) {
        if ((unsigned)*number > (unsigned)(INT_MAX - (*text - '0')) / 10) {
            return NULL;
        }
        *number = *number * 10 + (*text - '0');
    }
    return text;
}

static const char *read_width(struct spec *spec, const char *text, va_list *arguments)
{
    text = read_number(&spec->width, text, arguments);
    if (spec->width == INT_MIN) {
        return NULL;
    }
    if (spec->width < 0) {
        spec->flags |= LEFT;
        spec->width = -spec->width;
    }
    return text;
}

static const char *read_length(struct spec *spec, const char *text)
{
    switch (*text) {
    case 'h':
        spec->length_bytes = text[1] == 'h' ? sizeof(char) : sizeof(short);
        return text + (text[1] == 'h' ? 2 : 1);
    case 'l':
        spec->length_bytes = text[1] == 'l' ? sizeof(long long) : sizeof(long);
        return text + (text[1] == 'l' ? 2 : 1);
    case 'z':
    case 't':
        spec->length_bytes = sizeof(long);
        return text + 1;
    case 'j':
        spec->length_bytes = sizeof(intmax_t);
        return text + 1;
    default:
        return text;
    }
}

static const char *read_spec(struct spec *spec, const char *text, va_list *arguments)
{
    *spec = (struct spec){.precision = -1};
    const char *flag;
    while (*text != '\0' && (flag = strchr(flag_letters, *text)) != NULL) {
        spec->flags |= 1U << (flag - flag_letters);
        text++;
    }
    text = read_width(spec, text, arguments);
    if (text != NULL && *text == '.') {
        text = read_number(&spec->precision, text + 1, arguments);
    }
    if (text == NULL) {
        return NULL;
    }
    text = read_length(spec, text);
    spec->letter = *text;
    return text + 1;
}

/* Returns the text after the conversion, or NULL if it failed. */
static const char *convert(struct sink *sink, const char *text, va_list *arguments)
{
    struct spec spec;
    text = read_spec(&spec, text, arguments);
    if (text == NULL) {
        fail(sink, EOVERFLOW);
        return NULL;
    }
    if (!convert_number(sink, &spec, arguments) && !convert_other(sink, &spec, arguments)) {
        fail(sink, EINVAL);
        return NULL;
    }
    return text;
}

static int format(struct sink *sink, const char *text, va_list arguments)
{
    va_list rest; /* a copy, as a pointer to a va_list parameter may have another type */
    va_copy(rest, arguments);
    while (text != NULL && *text != '\0' && !sink->failed) {
        size_t plain = strcspn(text, "%");
        put(sink, text, 0, plain);
        text += plain;
        if (text[0] == '%' && text[1] == '%') {
            put(sink, text, 0, 1);
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
