/* The parts of files of keys: lines, options and the texts in their quotes. */
#include "mutate.h"

#include <string.h>

/* FIRST is the place before a line that has no options. */
enum { LINE, FIRST, OPTION, VALUE };

#define FOR_OPTIONS(text) MUTATE_WORD(OPTION, text), MUTATE_WORD(FIRST, text)

const struct mutate_word mutate_words[] = {
    FOR_OPTIONS("cert-authority"),
    FOR_OPTIONS("restrict"),
    FOR_OPTIONS("pty"),
    FOR_OPTIONS("no-pty"),
    FOR_OPTIONS("no-user-rc"),
    FOR_OPTIONS("no-touch-required"),
    FOR_OPTIONS("verify-required"),
    FOR_OPTIONS("from=\"192.0.2.0/24\""),
    FOR_OPTIONS("from=\"!192.0.2.7,*\""),
    FOR_OPTIONS("expiry-time=\"20991231\""),
    FOR_OPTIONS("expiry-time=\"20200101Z\""),
    FOR_OPTIONS("principals=\"alice,bob\""),
    FOR_OPTIONS("principals=\"carol\""),
    FOR_OPTIONS("command=\"internal-sftp\""),
    FOR_OPTIONS("command=\"echo \\\"a\\\"\""),
    FOR_OPTIONS("environment=\"A=b\""),
    FOR_OPTIONS("permitopen=\"host:22\""),
    FOR_OPTIONS("permitlisten=\"8080\""),
    FOR_OPTIONS("tunnel=\"0\""),
    FOR_OPTIONS("agent-forwarding"),
    FOR_OPTIONS("nonsense"),
    MUTATE_WORD(LINE, "\xfe\n"),
    MUTATE_WORD(LINE, "# none\n"),
    MUTATE_WORD(LINE, "\r\n"),
    MUTATE_WORD(LINE, "cert-authority \xfe\n"),
    MUTATE_WORD(LINE, "ssh-rsa AAAA\n"),
    MUTATE_WORD(LINE, "restrict,from=\"192.0.2.7\" \xfe\n"),
    MUTATE_WORD(VALUE, "192.0.2.7,"),
    MUTATE_WORD(VALUE, "alice,"),
    MUTATE_WORD(VALUE, "A="),
    MUTATE_WORD(VALUE, "\\\""),
};
const size_t mutate_word_count = sizeof(mutate_words) / sizeof(mutate_words[0]);

uint8_t mutate_separator(int kind)
{
    return kind == OPTION ? ',' : kind == FIRST ? ' ' : kind == LINE ? '\n' : 0;
}

/* An option with the comma after it. Returns where it ends. */
static size_t find_option(struct mutate_parts *parts, int line, struct input input, size_t at,
                          size_t end)
{
    size_t stop = at, open = 0, close = 0;
    bool quoted = false;
    for (; stop < end; stop++) {
        uint8_t byte = input.at[stop];
        if (byte == '"' && (!quoted || input.at[stop - 1] != '\\')) {
            quoted = !quoted;
            open = quoted ? stop + 1 : open;
            close = quoted ? close : stop;
        }
        if (!quoted && (byte == ',' || byte == ' ' || byte == '\t')) {
            break;
        }
    }
    stop += stop < end && input.at[stop] == ',' ? 1 : 0;
    int option = mutate_add(parts, OPTION, line, at, stop);
    if (open > 0 && close > open) {
        mutate_add(parts, VALUE, option, open, close);
    }
    return stop;
}

static bool begins(struct input input, size_t at, size_t end, const char *text)
{
    return end - at >= strlen(text) && memcmp(input.at + at, text, strlen(text)) == 0;
}

static void find_line(struct mutate_parts *parts, int parent, struct input input, size_t at,
                      size_t end)
{
    int line = mutate_add(parts, LINE, parent, at, end);
    if (line < 0 || input.at[at] == 0xfe || begins(input, at, end, "ssh-") ||
        begins(input, at, end, "sk-")) {
        mutate_add(parts, FIRST, line, at, at);
        return;
    }
    while (at < end && input.at[at] > ' ') {
        at = find_option(parts, line, input, at, end);
    }
}

/* Lines between two places of the input. `parent` as in struct mutate_part. */
static void lines_find(struct mutate_parts *parts, int parent, struct input input, size_t at,
                       size_t end)
{
    while (at < end) {
        const uint8_t *newline = memchr(input.at + at, '\n', end - at);
        size_t stop = newline != NULL ? (size_t)(newline - input.at) + 1 : end;
        find_line(parts, parent, input, at, stop);
        at = stop;
    }
}

enum { HEADER = 100, FILE_OF_KEYS, FIELD };

/* The fields of a certificate (support/certified.c), or the number of a key. Returns where the
 * files begin, or SIZE_MAX. */
static size_t find_offer(struct mutate_parts *parts, struct input input, size_t at, bool certified)
{
    if (!certified) {
        return at + 1;
    }
    at += 1 + 1 + 3 * 8;
    for (int i = 0; i < 6 && at < input.left; i++) {
        at = mutate_add_counted(parts, FIELD, -1, input, at, 2, input.left);
    }
    return at;
}

void mutate_find(struct mutate_parts *parts, struct input input)
{
    struct input rest = input;
    bool certified = (input_u8(&rest) & 2) != 0;
    input_take(&rest, input_u8(&rest));
    size_t at = input.left - rest.left;
    mutate_add(parts, HEADER, -1, 0, at);
    at = find_offer(parts, input, at, certified);
    for (int i = 0; i < 2 && at < input.left; i++) {
        int file = parts->count;
        size_t content = at + 2;
        at = mutate_add_counted(parts, FILE_OF_KEYS, -1, input, at, 2, input.left);
        if (at != SIZE_MAX) {
            lines_find(parts, file, input, content, at);
        }
    }
    if (at < input.left) {
        lines_find(parts, -1, input, at, input.left);
    }
}
