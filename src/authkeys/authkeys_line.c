/*
 * line    = [blanks] [options blanks] type blanks base64 [blanks comment]
 * options = what stands up to the first blank outside of double quotes
 *
 * A line that starts with the name of a key type has no options, whatever follows.
 */
#include "authkeys_line.h"

#include "authkeys_options.h"
#include "ssh_key_types.h"

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

/* As OpenSSH reads them: \" inside or outside of quotes is no quote. */
static struct reader read_options(struct reader *line)
{
    const uint8_t *bytes = line->bytes;
    bool quoted = false;
    size_t count = 0;
    for (; count < line->left && (quoted || !is_blank(bytes[count])); count++) {
        if (bytes[count] == '\\' && count + 1 < line->left && bytes[count + 1] == '"') {
            count++;
        } else if (bytes[count] == '"') {
            quoted = !quoted;
        }
    }
    return reader_over(reader_bytes(line, count), count);
}

struct parts {
    struct reader options;
    struct reader type;
    struct reader base64;
};

/* False for an empty line and a comment. */
static bool split(struct parts *parts, struct reader line)
{
    parts->options = (struct reader){.failed = false};
    reader_span(&line, READER_BLANKS);
    if (line.left == 0 || reader_peek(&line) == '#') {
        return false;
    }

    struct reader rest = line;
    const struct reader first = reader_until(&rest, READER_BLANKS);
    if (!ssh_key_type_is_known(&first)) {
        parts->options = read_options(&line);
        reader_span(&line, READER_BLANKS);
    }
    parts->type = reader_until(&line, READER_BLANKS);
    reader_span(&line, READER_BLANKS);
    parts->base64 = reader_until(&line, READER_BLANKS);
    return true;
}

bool authkeys_line_lists(struct reader *options, struct reader line, const struct key_text *wanted)
{
    struct parts parts;
    if (!split(&parts, line)) {
        return false;
    }
    *options = parts.options;
    return reader_is(&parts.type, wanted->type) &&
           reader_equals(&parts.base64, wanted->base64, wanted->base64_bytes);
}

bool authkeys_line_has_authority(struct reader line)
{
    struct parts parts;
    return split(&parts, line) && authkeys_options_name_authority(parts.options);
}
