/*
 * The flags of a command line, by a table, as POSIX's getopt(3) reads them: letters after a '-',
 * one or several in an argument, a value after its letter or in the next argument, "--" at the end.
 * "--help" and "--version" count as -h and -V, which all our programs have. The C library's
 * getopt() would add its messages and stdio to a static program.
 */
#ifndef WREN_FLAGS_H
#define WREN_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flag_kind {
    FLAG_SET,    /* has no value; sets a byte, such as a bool, to `least` */
    FLAG_TEXT,   /* sets a const char * to its value, of `least` to `most` bytes */
    FLAG_NUMBER, /* sets an unsigned to its value, from `least` to `most` */
    FLAG_OWN,    /* has no value; flags_next() returns its letter */
    FLAG_OWN_VALUE,
    FLAG_OWN_VALUES, /* the same, and may be given several times */
};

/* A row. A table ends with a row of zeros, and lacks -h and -V. It has at most 64 rows. */
struct flag {
    char letter;
    uint8_t kind; /* enum flag_kind */
    int8_t least;
    uint16_t offset; /* of the field in flags->into */
    uint32_t most;
};

/* A program writes its table as FLAGS(ROW), one row for each flag: letter, kind, field, least,
 * most, and its part of the help. FLAG_ROW() makes a struct flag of a row, for fields of
 * FLAGS_INTO, and FLAG_HELP() the help. FLAG_OWN rows name any field. For the other kinds a field
 * of another size does not compile. */
#define FLAG_FITS(kind, bytes)                                                                     \
    ((kind) == FLAG_SET      ? (bytes) == 1                                                        \
     : (kind) == FLAG_TEXT   ? (bytes) == sizeof(const char *)                                     \
     : (kind) == FLAG_NUMBER ? (bytes) == sizeof(unsigned)                                         \
                             : true)
#define FLAG_ROW(letter, kind, field, least, most, ...)                                            \
    {letter, kind, least,                                                                          \
     offsetof(FLAGS_INTO, field) - 1 +                                                             \
         sizeof(char[FLAG_FITS(kind, sizeof(((FLAGS_INTO *)NULL)->field)) ? 1 : -1]),              \
     most},
#define FLAG_HELP(letter, kind, field, least, most, help, ...) help

struct flags {
    const char *name;         /* of the program */
    const char *help;         /* the page of -h; up to its first empty line, the usage */
    const struct flag *known; /* the table */
    void *into;               /* the struct whose fields the rows name */
    int *status;              /* what flags_refuse() sets to the exit code */
    char **rest;              /* the arguments that follow, and NULL; at the end the operands */
    const char *within;       /* the letters left in the present argument, or NULL */
    uint64_t given;           /* a bit for each row whose flag must not come again */
    int letter;               /* the last letter read, known or not */
    const struct flag *row;   /* of that letter, or NULL */
    const char *value;        /* of a letter that takes a value */
};

/* What flags_next() returns, other than a letter. A flag with a value can't be given twice: a
 * second value would silently replace the first, which may be the stricter one. */
#define FLAGS_TWICE    (-6)
#define FLAGS_PAGE     (-5) /* -h or -V: the program prints flags->value and exits */
#define FLAGS_UNKNOWN  (-4)
#define FLAGS_NO_VALUE (-3)
#define FLAGS_WRONG    (-2) /* the value is no number, or out of the row's range */
#define FLAGS_END      (-1)

/* The flags of argv, which ends with NULL. The members are as in struct flags. */
struct flags flags_begin(const char *name, const char *help, const struct flag *known, void *into,
                         char **argv, int *status);

/* Reads flags, and sets their fields, up to a flag of the program's own: returns its letter. Do not
 * call again after any FLAGS_*. */
int flags_next(struct flags *flags);

/* Prints on stderr what is wrong with the command line, ": " and the argument unless that is NULL,
 * and the usage. Sets *status to EXIT_USAGE, and returns -1. */
int flags_refuse(const struct flags *flags, const char *what, const char *argument);

/* The same for what flags_next() returned: reports an unknown flag, a missing value, a flag given
 * twice, or a wrong value, by its letter. */
int flags_refuse_letter(const struct flags *flags, int returned);

#endif
