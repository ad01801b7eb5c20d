/*
 * line    = [blanks] [options blanks] type blanks base64 [blanks comment]
 * options = what stands up to the first blank outside of double quotes
 *
 * A line that starts with the name of a key type has no options, whatever follows.
 */
#include "authkeys_line.h"

#include <string.h>

#include "authkeys_options.h"

/* As OpenSSH reads them: \" inside or outside of quotes is no quote. */
static struct text read_options(struct text *text)
{
    struct text options = {text->at, text->at};
    bool quoted = false;
    while (text->at < text->end && (quoted || (*text->at != ' ' && *text->at != '\t'))) {
        if (*text->at == '\\' && text->at + 1 < text->end && text->at[1] == '"') {
            text->at++;
        } else if (*text->at == '"') {
            quoted = !quoted;
        }
        text->at++;
    }
    options.end = text->at;
    return options;
}

/* The parts of a line; false for an empty one and a comment. */
struct parts {
    struct text options;
    struct text type;
    struct text base64;
};

static bool split(struct parts *parts, const char *line, size_t line_bytes)
{
    struct text text = text_over(line, line_bytes);
    parts->options = text_over(line, 0);
    text_skip_blanks(&text);
    if (text.at == text.end || *text.at == '#') {
        return false;
    }

    struct text rest = text;
    const struct text first = text_word(&rest);
    if (!text_is_key_type(&first)) {
        parts->options = read_options(&text);
        text_skip_blanks(&text);
    }
    parts->type = text_word(&text);
    text_skip_blanks(&text);
    parts->base64 = text_word(&text);
    return true;
}

bool authkeys_line_lists(struct text *options, const char *line, size_t line_bytes,
                         const struct key_text *wanted)
{
    struct parts parts;
    if (!split(&parts, line, line_bytes)) {
        return false;
    }
    *options = parts.options;
    return text_is(&parts.type, wanted->type) &&
           text_bytes(&parts.base64) == wanted->base64_bytes &&
           memcmp(parts.base64.at, wanted->base64, wanted->base64_bytes) == 0;
}

bool authkeys_line_has_authority(const char *line, size_t line_bytes)
{
    struct parts parts;
    return split(&parts, line, line_bytes) && authkeys_options_name_authority(parts.options);
}
