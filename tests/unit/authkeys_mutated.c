/* Thousands of damaged authorized_keys, each judged twice: by the daemon's code, and by a matcher
 * that is as simple as can be, reads the whole file at once and knows no buffer, no cursor and no
 * table of the other's. */
#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>

#include "ipc.h"
#include "monitor_internal.h"
#include "scratch.h"
#include "search.h"
#include "unit.h"

#define FILES_PER_SEED 500
#define SEEDS          10
#define FILE_BYTES     (2 * LIMIT_AUTHKEYS_LINE_BYTES)

#define OTHER "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJbE8rXugEU5bUc3UdwQ91n7SEex0DVYtSltD/B5FtdR"

static uint8_t blob[HOSTKEY_BLOB_BYTES];
static char base64[80];
static char scratch[SCRATCH_BYTES];
static struct account account;

static uint32_t state;

static uint32_t next_random(uint32_t below)
{
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
}

/* ---- the simple matcher ---------------------------------------------------------------------- */

struct simple {
    bool listed;
    unsigned line;
    unsigned flags;
    char command[LIMIT_FORCED_COMMAND_BYTES];
};

static bool same_word(const char *word, const char *name)
{
    size_t i = 0;
    for (; name[i] != '\0'; i++) {
        if (tolower((unsigned char)word[i]) != tolower((unsigned char)name[i])) {
            return false;
        }
    }
    return word[i] == '\0';
}

/* One of the options of the pool below; false if it is none, or says no. */
static bool simple_option(struct simple *simple, const char *word)
{
    static const char *const idle[] = {
        "port-forwarding", "no-port-forwarding", "agent-forwarding", "no-agent-forwarding",
        "x11-forwarding",  "no-x11-forwarding",  "touch-required",   "no-verify-required"};
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        if (same_word(word, idle[i])) {
            simple->flags &= same_word(word, "touch-required") ? ~(unsigned)GRANT_UNTOUCHED : ~0U;
            simple->flags &= same_word(word, "no-verify-required") ? ~(unsigned)GRANT_VERIFY : ~0U;
            return true;
        }
    }
    static const struct {
        const char *name;
        unsigned clear, set;
    } flags[] = {{"restrict", GRANT_PTY | GRANT_USER_RC, 0},
                 {"pty", 0, GRANT_PTY},
                 {"no-pty", GRANT_PTY, 0},
                 {"user-rc", 0, GRANT_USER_RC},
                 {"no-user-rc", GRANT_USER_RC, 0},
                 {"verify-required", 0, GRANT_VERIFY},
                 {"no-touch-required", 0, GRANT_UNTOUCHED}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (same_word(word, flags[i].name)) {
            simple->flags = (simple->flags & ~flags[i].clear) | flags[i].set;
            return true;
        }
    }
    return false;
}

/* `value` has no quotes around it any more. */
static bool simple_value(struct simple *simple, const char *name, const char *value, bool *from)
{
    if (same_word(name, "command")) {
        bool first = (simple->flags & GRANT_FORCED) == 0;
        simple->flags |= GRANT_FORCED;
        size_t count = strnlen(value, sizeof(simple->command));
        if (count == sizeof(simple->command)) {
            return false;
        }
        memcpy(simple->command, value, count + 1);
        return first;
    }
    if (same_word(name, "from")) {
        bool first = !*from;
        *from = true;
        /* All that the pool has; a damaged list lets nobody in, or somebody by chance: then the
         * caller looks away. */
        return first && strcmp(value, "192.0.2.0/24,!192.0.2.9") == 0;
    }
    return false;
}

/* Cuts the options into words and values with everything copied. */
static bool simple_options(struct simple *simple, const char *text, size_t count)
{
    static char name[FILE_BYTES], value[FILE_BYTES];
    bool from = false;
    size_t at = 0;
    simple->flags = GRANT_PTY | GRANT_USER_RC;
    simple->command[0] = '\0';
    if (count > 0 && text[count - 1] == ',') {
        return false;
    }
    while (at < count) {
        size_t n = 0, v = 0;
        while (at < count && text[at] != ',' && text[at] != '=') {
            name[n++] = text[at++];
        }
        name[n] = '\0';
        if (memchr(name, '\0', n) != NULL) {
            return false;
        }
        if (at == count || text[at] == ',') {
            if (!simple_option(simple, name)) {
                return false;
            }
            at++;
            continue;
        }
        if (++at == count || text[at++] != '"') {
            return false;
        }
        for (; at < count && text[at] != '"'; at++) {
            if (text[at] == '\\' && at + 1 < count && text[at + 1] == '"') {
                at++;
            }
            value[v++] = text[at];
        }
        value[v] = '\0';
        if (at == count || memchr(value, '\0', v) != NULL || v >= LIMIT_OPTION_BYTES) {
            return false;
        }
        at++;
        if ((at < count && text[at] != ',') || !simple_value(simple, name, value, &from)) {
            return false;
        }
        at++;
    }
    return true;
}

static bool blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static size_t word_end(const char *line, size_t count, size_t at)
{
    while (at < count && !blank(line[at])) {
        at++;
    }
    return at;
}

static size_t word_start(const char *line, size_t count, size_t at)
{
    while (at < count && blank(line[at])) {
        at++;
    }
    return at;
}

static bool is_our_key(const char *line, size_t count, size_t at)
{
    size_t end = word_end(line, count, at);
    if (end - at != 11 || memcmp(line + at, "ssh-ed25519", 11) != 0) {
        return false;
    }
    at = word_start(line, count, end);
    end = word_end(line, count, at);
    return end - at == strlen(base64) && memcmp(line + at, base64, end - at) == 0;
}

static bool simple_line(struct simple *simple, const char *line, size_t count)
{
    bool quoted = false;
    size_t at = word_start(line, count, 0);
    if (at == count || line[at] == '#') {
        return false;
    }
    size_t first = word_end(line, count, at);
    bool is_type = (first - at == 11 && memcmp(line + at, "ssh-ed25519", 11) == 0) ||
                   (first - at == 7 && memcmp(line + at, "ssh-rsa", 7) == 0);
    if (is_type) {
        return is_our_key(line, count, at) && simple_options(simple, "", 0);
    }
    size_t end = at;
    for (; end < count && (quoted || !blank(line[end])); end++) {
        if (line[end] == '\\' && end + 1 < count && line[end + 1] == '"') {
            end++;
        } else if (line[end] == '"') {
            quoted = !quoted;
        }
    }
    return is_our_key(line, count, word_start(line, count, end)) &&
           simple_options(simple, line + at, end - at);
}

static void simple_file(struct simple *simple, const char *text, size_t count)
{
    unsigned number = 0;
    memset(simple, 0, sizeof(*simple));
    for (size_t at = 0; at < count && !simple->listed;) {
        const char *newline = memchr(text + at, '\n', count - at);
        size_t end = newline != NULL ? (size_t)(newline - text) : count;
        size_t bytes = end - at;
        number++;
        if (bytes < LIMIT_AUTHKEYS_LINE_BYTES) {
            bytes -= bytes > 0 && text[end - 1] == '\r' ? 1 : 0;
            simple->listed = simple_line(simple, text + at, bytes);
            simple->line = number;
        }
        at = end + 1;
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *const pieces[] = {
    "restrict",
    "pty",
    "no-pty",
    "user-rc",
    "no-user-rc",
    "RESTRICT",
    "no-touch-required",
    "verify-required",
    "no-X11-forwarding",
    "command=\"echo \\\"hi\\\" there\"",
    "command=\"\"",
    "from=\"192.0.2.0/24,!192.0.2.9\"",
    "nonsense",
    ",",
    ",",
    ",",
    " ",
    "\t",
    "\n",
    "\r\n",
    "#",
    "\"",
    "\\",
    "\\\"",
    "=",
    "ssh-rsa AAAA",
    OTHER,
    "ssh-ed25519",
    "A",
};

#define PIECES (sizeof(pieces) / sizeof(pieces[0]))

static size_t add_text(char *file, size_t used, const char *text)
{
    size_t count = strlen(text);
    if (used + count > FILE_BYTES) {
        return used;
    }
    memcpy(file + used, text, count);
    return used + count;
}

static size_t add_line(char *file, size_t used)
{
    uint32_t options = next_random(4);
    for (uint32_t i = 0; i < options; i++) {
        used = add_text(file, used, pieces[next_random(13)]);
        used = add_text(file, used, i + 1 < options ? "," : " ");
    }
    if (next_random(4) == 0) {
        return add_text(file, used, OTHER "\n");
    }
    used = add_text(file, used, "ssh-ed25519 ");
    used = add_text(file, used, base64);
    return add_text(file, used, next_random(3) == 0 ? "\r\n" : "\n");
}

static size_t mutate(char *file, size_t used)
{
    char insert[2] = {(char)next_random(256), '\0'};
    size_t at = next_random((uint32_t)used + 1);
    switch (next_random(5)) {
    case 0: /* a byte */
        file[at < used ? at : 0] = insert[0];
        return used;
    case 1: { /* a piece goes in */
        const char *piece = pieces[next_random(PIECES)];
        size_t count = strlen(piece);
        if (used + count <= FILE_BYTES) {
            memmove(file + at + count, file + at, used - at);
            memcpy(file + at, piece, count);
            used += count;
        }
        return used;
    }
    case 2: { /* some bytes go */
        size_t count = next_random(20);
        count = count < used - at ? count : used - at;
        memmove(file + at, file + at + count, used - at - count);
        return used - count;
    }
    case 3: { /* a run, at times beyond the longest line */
        size_t count =
            next_random(10) == 0 ? LIMIT_AUTHKEYS_LINE_BYTES - next_random(300) : next_random(40);
        if (used + count <= FILE_BYTES) {
            memmove(file + at + count, file + at, used - at);
            memset(file + at, "x \"#,"[next_random(5)], count);
            used += count;
        }
        return used;
    }
    default:
        return next_random(8) == 0 ? at : used;
    }
}

/* from= with a list that is damaged is beyond the simple matcher. */
static bool has_other_from(const char *file, size_t count)
{
    static const char whole[] = "from=\"192.0.2.0/24,!192.0.2.9\"";
    for (size_t i = 0; i + 5 <= count; i++) {
        if (strncasecmp(file + i, "from=", 5) == 0 &&
            (count - i < sizeof(whole) - 1 || memcmp(file + i, whole, sizeof(whole) - 1) != 0)) {
            return true;
        }
    }
    return false;
}

static unsigned listed_files, restricted_files;

static void compare(const char *file, size_t count, unsigned number)
{
    static char pattern[] = "keys";
    static struct authkeys_verdict verdict;
    static struct simple simple;
    const struct authkeys_query query = {.patterns = {pattern},
                                         .address = "192.0.2.1",
                                         .key_type = IPC_KEY_ED25519,
                                         .blob = blob,
                                         .blob_bytes = sizeof(blob)};
    scratch_write(scratch, "keys", file, count, 0600);
    search_files(&verdict, &query, &account);
    if (has_other_from(file, count)) {
        return;
    }
    simple_file(&simple, file, count);
    bool listed = verdict.reason == AUTHKEYS_LISTED;
    ck_assert_msg(listed == simple.listed, "file %u: %u, <%.*s>", number, verdict.reason,
                  (int)count, file);
    if (listed) {
        listed_files++;
        restricted_files += simple.flags != (GRANT_PTY | GRANT_USER_RC);
        ck_assert_uint_eq(verdict.line, simple.line);
        ck_assert_msg(verdict.grant.flags == simple.flags, "file %u: <%.*s>", number, (int)count,
                      file);
        ck_assert(!(simple.flags & GRANT_FORCED) ||
                  strcmp(verdict.grant.command, simple.command) == 0);
    }
}

TEST_EACH(mutated_files, SEEDS)
{
    static char file[FILE_BYTES];
    state = (uint32_t)_i * 7919 + 1;
    for (unsigned number = 0; number < FILES_PER_SEED; number++) {
        size_t used = 0;
        uint32_t lines = next_random(4) + 1;
        for (uint32_t i = 0; i < lines; i++) {
            used = add_line(file, used);
        }
        for (uint32_t i = next_random(5); i > 0; i--) {
            used = mutate(file, used);
        }
        compare(file, used, number);
    }
    /* Neither side is always right by saying no. */
    ck_assert_uint_gt(listed_files, FILES_PER_SEED / 4);
    ck_assert_uint_lt(listed_files, FILES_PER_SEED * 3 / 4);
    ck_assert_uint_gt(restricted_files, FILES_PER_SEED / 16);
}

static void begin(void)
{
    uint8_t key[32];
    ck_assert_int_ge(sodium_init(), 0);
    scratch_make(scratch);
    memset(key, 0x42, sizeof(key));
    hostkey_blob(blob, key);
    sodium_bin2base64(base64, sizeof(base64), blob, sizeof(blob), sodium_base64_VARIANT_ORIGINAL);
    memset(&account, 0, sizeof(account));
    snprintf(account.user, sizeof(account.user), "alice");
    snprintf(account.home, sizeof(account.home), "%s", scratch);
    snprintf(account.shell, sizeof(account.shell), "/bin/sh");
    account.uid = geteuid();
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(100);
