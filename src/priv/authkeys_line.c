/*
 * line    = [blanks] [options blanks] type blanks base64 [blanks comment]
 * options = what stands up to the first blank outside of double quotes
 *
 * A line that starts with the name of a key type has no options, whatever follows.
 */
#include "authkeys_line.h"

#include <string.h>

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

bool authkeys_line_lists(struct text *options, const char *line, size_t line_bytes,
                         const struct key_text *wanted)
{
    struct text text = text_over(line, line_bytes);
    *options = text_over(line, 0);
    text_skip_blanks(&text);
    if (text.at == text.end || *text.at == '#') {
        return false;
    }

    struct text rest = text;
    const struct text first = text_word(&rest);
    if (!text_is_key_type(&first)) {
        *options = read_options(&text);
        text_skip_blanks(&text);
    }
    const struct text type = text_word(&text);
    text_skip_blanks(&text);
    const struct text base64 = text_word(&text);
    return text_is(&type, wanted->type) && text_bytes(&base64) == wanted->base64_bytes &&
           memcmp(base64.at, wanted->base64, wanted->base64_bytes) == 0;
}
