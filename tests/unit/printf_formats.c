/*
 * The formats in the source tree, each tried with src/static/printf.c: a static build must not
 * find at run time that it can't do one. Wherever a printing function is called, all literals of
 * the format's argument, and of the macros that it names, are taken for formats.
 */
#include <check.h>
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "small_printf.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

ssize_t small_write(int fd, const void *bytes, size_t count)
{
    return write(fd, bytes, count);
}

static const struct {
    const char *name;
    int format; /* which argument; -1: not to be used, as its libc's own would be linked */
} functions[] = {
    {"snprintf", 2}, {"vsnprintf", 2}, {"dprintf", 1},   {"vdprintf", 1},   {"syslog", 1},
    {"vsyslog", 1},  {"printf", -1},   {"fprintf", -1},  {"vprintf", -1},   {"vfprintf", -1},
    {"sprintf", -1}, {"vsprintf", -1}, {"asprintf", -1}, {"vasprintf", -1}, {"perror", -1},
    {"err", -1},     {"errx", -1},     {"warn", -1},     {"warnx", -1},     {"setproctitle", -1},
};

static char tree[1 << 20]; /* all files, without comments */
static size_t tree_bytes;
static unsigned formats_seen, calls_seen;
static char wrong[4096];

static void complain(const char *what, const char *where, size_t count)
{
    size_t used = strlen(wrong);
    snprintf(wrong + used, sizeof(wrong) - used, "%s: %.*s\n", what, (int)count, where);
}

/* ---- C, as far as needed ----------------------------------------------------------------------
 */

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Behind the literal that begins here. */
static const char *skip_literal(const char *text)
{
    char quote = *text++;
    while (*text != '\0' && *text != quote) {
        text += *text == '\\' ? 2 : 1;
    }
    return text + 1;
}

/* Copies without comments; literals stay what they are. */
static void take_source(const char *text)
{
    while (*text != '\0') {
        const char *next = text + 1;
        if (*text == '"' || *text == '\'') {
            next = skip_literal(text);
        } else if (strncmp(text, "/*", 2) == 0) {
            text = strstr(text, "*/") + 2;
            continue;
        } else if (strncmp(text, "//", 2) == 0) {
            text += strcspn(text, "\n");
            continue;
        }
        ck_assert_uint_lt(tree_bytes + (size_t)(next - text), sizeof(tree));
        memcpy(tree + tree_bytes, text, (size_t)(next - text));
        tree_bytes += (size_t)(next - text);
        text = next;
    }
}

/* To the comma or parenthesis that ends the argument. */
static const char *skip_argument(const char *text)
{
    unsigned depth = 0;
    while (*text != '\0' && (depth > 0 || (*text != ',' && *text != ')'))) {
        depth += *text == '(';
        depth -= *text == ')';
        text = *text == '"' || *text == '\'' ? skip_literal(text) : text + 1;
    }
    return text;
}

/* ---- formats ----------------------------------------------------------------------------------
 */

/* One conversion, with what it asks for; what a number is too long does not matter here. */
static bool is_supported(const char *spec)
{
    char letter = spec[strlen(spec) - 1];
    unsigned stars = 0;
    for (const char *at = spec; *at != '\0'; at++) {
        stars += *at == '*';
    }
    uintmax_t value = letter == 's' ? (uintptr_t) "text" : 1;
    return (stars == 0   ? small_snprintf(NULL, 0, spec, value)
            : stars == 1 ? small_snprintf(NULL, 0, spec, 1, value)
                         : small_snprintf(NULL, 0, spec, 1, 1, value)) >= 0;
}

/* Takes a literal apart: `%`, all that is no letter or a length's, a letter. */
static void try_literal(const char *text, const char *end)
{
    while ((text = memchr(text, '%', (size_t)(end - text))) != NULL) {
        const char *last = text + 1;
        while (last < end && (!isalpha((unsigned char)*last) || strchr("hljztLqw", *last)) &&
               *last != '%') {
            last++;
        }
        char spec[32] = "%"; /* refused, as is one that the next literal ends */
        if (last < end && last - text < 30) {
            snprintf(spec, sizeof(spec), "%.*s", (int)(last + 1 - text), text);
        }
        formats_seen++;
        if (strchr(spec, 'n') != NULL || !is_supported(spec)) {
            complain("not supported", text, (size_t)(end - text));
            return;
        }
        text = last + 1;
    }
}

/* All literals; returns whether there is one. */
static bool try_literals(const char *text, const char *end)
{
    bool any = false;
    while (text < end) {
        const char *next = text + 1;
        if (*text == '"' || *text == '\'') {
            next = skip_literal(text);
            if (*text == '"') {
                try_literal(text + 1, next - 1);
                any = true;
            }
        }
        text = next;
    }
    return any;
}

/* What `#define NAME ` stands for. */
static bool try_macro(const char *name, size_t name_bytes)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "#define %.*s ", (int)name_bytes, name);
    const char *found = strstr(tree, wanted);
    if (found == NULL) {
        return false;
    }
    const char *end = found;
    do {
        end += 1 + strcspn(end + 1, "\n");
    } while (end[-1] == '\\');
    return try_literals(found, end);
}

/* Names in capitals are macros; what else stands there must be a condition beside literals. */
static void try_format(const char *text, const char *end)
{
    bool any = try_literals(text, end);
    for (const char *at = text; at < end;) {
        size_t bytes = 0;
        bool capitals = isupper((unsigned char)*at);
        while (is_word(at[bytes])) {
            capitals = capitals && !islower((unsigned char)at[bytes]);
            bytes++;
        }
        if (capitals && strncmp(at, "NULL", 4) != 0) {
            any = try_macro(at, bytes) || any;
        }
        at = *at == '"' || *at == '\'' ? skip_literal(at) : at + (bytes > 0 ? bytes : 1);
    }
    if (!any) {
        complain("no literal in the format", text, (size_t)(end - text));
    }
}

static void try_call(const char *name, size_t name_bytes)
{
    const char *arguments = name + name_bytes + strspn(name + name_bytes, " \n");
    for (unsigned i = 0; i < COUNT(functions); i++) {
        if (*arguments != '(' || strlen(functions[i].name) != name_bytes ||
            strncmp(name, functions[i].name, name_bytes) != 0) {
            continue;
        }
        calls_seen++;
        const char *end = arguments;
        if (functions[i].format < 0) {
            complain("libc's own", name, name_bytes + 40);
            return;
        }
        for (int j = 0; j <= functions[i].format; j++) {
            arguments = end + 1;
            end = skip_argument(arguments);
        }
        try_format(arguments, end);
    }
}

static void try_tree(void)
{
    const char *text = tree;
    while (*text != '\0') {
        size_t bytes = 0;
        while (is_word(text[bytes])) {
            bytes++;
        }
        if (bytes > 0) {
            try_call(text, bytes);
        }
        text = *text == '"' || *text == '\'' ? skip_literal(text) : text + (bytes > 0 ? bytes : 1);
    }
}

/* ---- files ------------------------------------------------------------------------------------
 */

static void take_file(const char *path)
{
    static char text[1 << 17];
    FILE *file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    size_t bytes = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    ck_assert_uint_lt(bytes, sizeof(text) - 1);
    text[bytes] = '\0';
    take_source(text);
}

/* `folder` and those below, but for the one that defines the functions. */
static unsigned take_folder(const char *folder)
{
    unsigned files = 0;
    DIR *entries = opendir(folder);
    ck_assert_msg(entries != NULL, "%s can't be read", folder);
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL) {
        char path[1024];
        const char *name = entry->d_name;
        const char *ending = strrchr(name, '.');
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        if (entry->d_type == DT_DIR && name[0] != '.' && strcmp(name, "static") != 0) {
            files += take_folder(path);
        } else if (ending != NULL && (strcmp(ending, ".c") == 0 || strcmp(ending, ".h") == 0)) {
            take_file(path);
            files++;
        }
    }
    closedir(entries);
    return files;
}

START_TEST(all_are_supported)
{
    ck_assert_uint_gt(take_folder(SOURCE_ROOT "/src") + take_folder(SOURCE_ROOT "/crypto"), 50);
    try_tree();
    ck_assert_msg(wrong[0] == '\0', "%s", wrong);
    ck_assert_uint_gt(calls_seen, 30);
    ck_assert_uint_gt(formats_seen, 50);
}
END_TEST

/* ---- does it see one? -------------------------------------------------------------------------
 */

static const struct {
    const char *source;
    const char *complaint; /* how it begins; NULL: none */
} sources[] = {
    {"snprintf(a, b, \"%s %d%%\", c, d);", NULL},
    {"snprintf(a, f(b, \")\"), \"%-*s %.*s %08llx %ju\" , c);", NULL},
    {"snprintf(a, b, \"%d\", \"%f\");", NULL},
    {"/* snprintf(a, b, \"%f\") */ my_snprintf(a, b, \"%f\"); \"snprintf(a, b, c)\";", NULL},
    {"snprintf(a, b, x ? \"one\" : \"%s\", c);", NULL},
    {"snprintf(a, b, x ? \"one\" : \"%f\", c);", "not supported"},
    {"snprintf(a, b,\n \"%s\"\n \"%g\", c);", "not supported"},
    {"dprintf(2, \"a %d%5.1f\", c, 1.0);", "not supported"},
    {"syslog(c(1, 2), \"%m\");", "not supported"},
    {"snprintf(a, b, \"%\" PRIu64, c);", "not supported"},
    {"snprintf(a, b, \"%ls\", c);", "not supported"},
    {"snprintf(a, b, \"100%\");", "not supported"},
    {"snprintf(a, b, \"%n\", &c);", "not supported"},
    {"#define SHAPE \"%s\"\nsnprintf(a, b, \"%d\" SHAPE, c);", NULL},
    {"#define SHAPE \\\n \"%f\"\nsnprintf(a, b, SHAPE, c);", "not supported"},
    {"snprintf(a, b, format, c);", "no literal"},
    {"snprintf(a, b, FORMAT, c);", "no literal"},
    {"fprintf(stderr, \"x\");", "libc's own"},
    {"perror (\"x\");                                       ", "libc's own"},
};

START_TEST(sees_what_is_wrong)
{
    take_source(sources[_i].source);
    try_tree();
    if (sources[_i].complaint == NULL) {
        ck_assert_str_eq(wrong, "");
    } else {
        ck_assert_msg(strncmp(wrong, sources[_i].complaint, strlen(sources[_i].complaint)) == 0,
                      "said <%s>", wrong);
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("printf_formats");
    TCase *formats = tcase_create("formats");
    tcase_add_test(formats, all_are_supported);
    tcase_add_loop_test(formats, sees_what_is_wrong, 0, COUNT(sources));
    suite_add_tcase(suite, formats);
    return suite;
}
