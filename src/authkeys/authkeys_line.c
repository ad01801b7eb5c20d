/*
 * line    = [blanks] [options blanks] type blanks base64 [blanks comment]
 * options = what stands up to the first blank outside of double quotes
 *
 * A line that starts with the name of a key type has no options, whatever follows.
 */
#include "authkeys_line.h"

#include <sodium.h>

#include "ssh_key_types.h"
#include "text.h"

/* Of a key blob of 51 bytes. */
#define ED25519_BASE64_BYTES 68

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

bool authkeys_line_read(struct authkeys_line *parts, struct reader line)
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

bool authkeys_line_lists(const struct authkeys_line *line, const struct key_text *wanted)
{
    return reader_is(&line->type, wanted->type) &&
           reader_equals(&line->base64, wanted->base64, wanted->base64_bytes);
}

enum authkeys_reason authkeys_line_fault(const struct authkeys_line *line)
{
    size_t bytes = line->base64.left;
    if (!ssh_key_type_is_known(&line->type)) {
        return AUTHKEYS_LINE_NO_TYPE;
    }
    bool damaged = bytes == 0 || bytes % 4 != 0 ||
                   (reader_is(&line->type, SSH_ED25519) && bytes != ED25519_BASE64_BYTES);
    return damaged ? AUTHKEYS_LINE_DAMAGED : AUTHKEYS_NOT_LISTED;
}

enum authkeys_reason authkeys_line_key(struct key_text *key, const struct authkeys_line *line)
{
    uint8_t blob[LIMIT_PLAIN_KEY_BYTES];
    size_t count = 0;
    struct key fields;
    enum authkeys_reason fault = authkeys_line_fault(line);
    if (fault != AUTHKEYS_NOT_LISTED) {
        return fault;
    }
    if (!reader_is(&line->type, SSH_ED25519) && !reader_is(&line->type, SSH_SK_ED25519)) {
        return AUTHKEYS_LINE_OTHER_TYPE;
    }
    if (!base64_decode(blob, sizeof(blob), &count, (const char *)line->base64.bytes,
                       line->base64.left, NULL, sodium_base64_VARIANT_ORIGINAL) ||
        !key_read(&fields, reader_over(blob, count))) {
        return AUTHKEYS_LINE_DAMAGED;
    }
    key_write_text(key, &fields);
    return authkeys_line_lists(line, key) ? AUTHKEYS_LISTED : AUTHKEYS_LINE_DAMAGED;
}
