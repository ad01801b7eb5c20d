/*
 * The flags of a command line, as getopt(3) reads them for POSIX: letters behind a '-', several in
 * one argument or not, a value behind its letter or in the next argument, "--" at their end. libc's
 * would bring its messages, and stdio to print them, into a static program.
 */
#ifndef WREN_FLAGS_H
#define WREN_FLAGS_H

struct flags {
    const char *known;  /* the letters that there are, each that takes a value with a ':' behind */
    char **rest;        /* arguments not read yet, NULL behind the last; in the end the operands */
    const char *within; /* letters not read yet of the argument before them, or NULL */
    int letter;         /* the last one, also if it is unknown */
    const char *value;  /* of a letter that takes one */
};

/* What flags_next() returns in the place of a letter. */
#define FLAGS_END      (-1)
#define FLAGS_UNKNOWN  '?'
#define FLAGS_NO_VALUE ':'

/* The next flag's letter. Set `known` and `rest` before the first call and the others to zero, and
 * do not call again once there was no letter. */
int flags_next(struct flags *flags);

#endif
