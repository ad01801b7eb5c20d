/*
 * The flags of a command line, as POSIX's getopt(3) reads them: letters after a '-', one or several
 * in an argument, a value after its letter or in the next argument, "--" at the end. "--help" and
 * "--version" count as -h and -V, which all our programs have. The C
 * library's getopt() would add its messages and stdio to a static program.
 */
#ifndef WREN_FLAGS_H
#define WREN_FLAGS_H

struct flags {
    const char *known;  /* the letters; a ':' follows each letter that takes a value */
    char **rest;        /* the arguments that follow, and NULL; at the end the operands */
    const char *within; /* the letters that follow in the present argument, or NULL */
    int letter;         /* the last letter read, known or not */
    const char *value;  /* of a letter that takes a value */
};

/* flags_next() returns one of these if there is no letter, no such letter, or no value for it. */
#define FLAGS_END      (-1)
#define FLAGS_UNKNOWN  '?'
#define FLAGS_NO_VALUE ':'

/* Returns the next flag's letter. Before the first call set `known` and `rest`, and the others to
 * zero. Do not call again after FLAGS_END, FLAGS_UNKNOWN or FLAGS_NO_VALUE. */
int flags_next(struct flags *flags);

#endif
