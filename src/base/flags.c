#include "base.h"

#include <stdio.h>

/* What apply_flag() returns when flags_next() goes on. */
#define TAKEN 0

struct flags flags_begin(const char *name, const char *help, const struct flag *known, void *into,
                         char **argv, int *status)
{
    return (struct flags){name, help, known, into, status, argv + 1, NULL, 0, 0, NULL, NULL};
}

int flags_refuse(const struct flags *flags, const char *what, const char *argument)
{
    const char *end = flags->help;
    while (end[0] != '\n' || (end[1] != '\n' && end[1] != '\0')) {
        end++;
    }
    dprintf(STDERR_FILENO, "%s: %s%s%s\n%.*s\n", flags->name, what, argument != NULL ? ": " : "",
            argument != NULL ? argument : "", (int)(end - flags->help), flags->help);
    *flags->status = EXIT_USAGE;
    return -1;
}

int flags_refuse_letter(const struct flags *flags, int returned)
{
    const char text[] = {'-', (char)flags->letter, '\0'};
    char range[80];
    if (returned == FLAGS_UNKNOWN && flags->letter == '-') {
        const char *argument = flags->rest[-1];
        /* Without a value, which a client of wrensshd-sftp must not see. */
        snprintf(range, sizeof(range), "flags are single letters: %.*s",
                 (int)strcspn(argument, "="), argument);
        return flags_refuse(flags, range, NULL);
    }
    if (returned == FLAGS_WRONG && flags->row->kind == FLAG_NUMBER) {
        snprintf(range, sizeof(range), "%s takes a whole number from %d to %u", text,
                 flags->row->least, flags->row->most);
        return flags_refuse(flags, range, flags->value);
    }
    const char *what = returned == FLAGS_NO_VALUE  ? "this flag needs an argument"
                       : returned == FLAGS_UNKNOWN ? "unknown flag"
                       : returned == FLAGS_TWICE   ? "this flag can be given only once"
                                                   : "empty argument";
    return flags_refuse(flags, what, text);
}

int flags_refuse_second(const struct flags *flags, const char *operand)
{
    return flags_refuse(flags,
                        operand[0] == '-' ? "flags come before the key directory"
                                          : "more than one key directory given",
                        operand);
}

/* Sets flags->letter. Returns false at the end of the flags. */
static bool read_letter(struct flags *flags)
{
    if (flags->within == NULL || *flags->within == '\0') {
        const char *argument = *flags->rest;
        if (argument == NULL || argument[0] != '-' || argument[1] == '\0') {
            return false;
        }
        flags->rest++;
        if (strcmp(argument, "--") == 0) {
            return false;
        }
        flags->within = strcmp(argument, "--help") == 0      ? "h"
                        : strcmp(argument, "--version") == 0 ? "V"
                                                             : argument + 1;
    }
    flags->letter = (unsigned char)*flags->within++;
    return true;
}

/* Sets flags->value. Returns false if the command line ends before it. */
static bool take_value(struct flags *flags)
{
    flags->value = flags->within;
    flags->within = NULL;
    if (*flags->value == '\0') {
        flags->value = *flags->rest;
        flags->rest += flags->value != NULL;
    }
    return flags->value != NULL;
}

/* Sets the field of a row. Returns TAKEN or FLAGS_WRONG, or the letter of the program's own. */
static int set_field(const struct flags *flags, const struct flag *row)
{
    char *field = (char *)flags->into + row->offset;
    unsigned number = 0;
    switch (row->kind) {
    case FLAG_SET:
        *field = (char)row->least;
        return TAKEN;
    case FLAG_TEXT:
        memcpy(field, &flags->value, sizeof(flags->value));
        number = (unsigned)strlen(flags->value);
        break;
    case FLAG_NUMBER:
        if (!number_read(&number, flags->value)) {
            return FLAGS_WRONG;
        }
        memcpy(field, &number, sizeof(number));
        break;
    default:
        return flags->letter;
    }
    return number >= (unsigned)row->least && number <= row->most ? TAKEN : FLAGS_WRONG;
}

static int apply_flag(struct flags *flags)
{
    const struct flag *row = flags->known;
    if (flags->letter == 'h' || flags->letter == 'V') {
        flags->value = flags->letter == 'h' ? flags->help : "wrensshd " WREN_VERSION "\n";
        return FLAGS_PAGE;
    }
    while (row->letter != flags->letter) {
        if (row->letter == '\0') {
            return FLAGS_UNKNOWN;
        }
        row++;
    }
    flags->row = row;
    if (row->kind == FLAG_SET || row->kind == FLAG_OWN) {
        return set_field(flags, row);
    }
    uint64_t bit = row->kind == FLAG_OWN_VALUES ? 0 : (uint64_t)1 << INDEX_IN(flags->known, row);
    if ((flags->given & bit) != 0) {
        return FLAGS_TWICE;
    }
    flags->given |= bit;
    return take_value(flags) ? set_field(flags, row) : FLAGS_NO_VALUE;
}

int flags_next(struct flags *flags)
{
    int taken = TAKEN;
    while (taken == TAKEN) {
        taken = read_letter(flags) ? apply_flag(flags) : FLAGS_END;
    }
    return taken;
}
