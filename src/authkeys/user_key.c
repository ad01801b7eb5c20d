#include "authkeys_internal.h"

#include <sodium.h>

/* Type's name, key and three lengths; the rest may be the application. */
#define APPLICATION_MAX_BYTES (LIMIT_PLAIN_KEY_BYTES - sizeof(SSH_SK_ED25519) - 32 - 3 * 4)

void key_read_fields(struct key *key, bool sk, struct reader *reader)
{
    *key = (struct key){.sk = sk};
    const uint8_t *bytes = reader_string_of(reader, sizeof(key->public_key));
    if (bytes != NULL) {
        memcpy(key->public_key, bytes, sizeof(key->public_key));
    }
    if (sk) {
        key->application = reader_string(reader);
        if (key->application.left > APPLICATION_MAX_BYTES) {
            reader->failed = true;
        }
    }
}

bool key_read(struct key *key, struct reader blob)
{
    struct reader type = reader_string(&blob);
    bool sk = reader_is(&type, SSH_SK_ED25519);
    key_read_fields(key, sk, &blob);
    return (sk || reader_is(&type, SSH_ED25519)) && reader_end(&blob);
}

void key_write_text(struct key_text *text, const struct key *key)
{
    uint8_t blob[LIMIT_PLAIN_KEY_BYTES];
    struct writer writer;
    text->type = key->sk ? SSH_SK_ED25519 : SSH_ED25519;
    writer_init(&writer, blob, sizeof(blob));
    writer_text(&writer, text->type);
    writer_string(&writer, key->public_key, sizeof(key->public_key));
    if (key->sk) {
        writer_string(&writer, key->application.bytes, key->application.left);
    }
    sodium_bin2base64(text->base64, sizeof(text->base64), blob, writer.used,
                      sodium_base64_VARIANT_ORIGINAL);
    text->base64_bytes = strlen(text->base64);
    crypto_hash_sha256(text->fingerprint, blob, writer.used);
}

bool key_text_is_one(const struct key_text *one, const struct key_text *other,
                     const uint8_t fingerprint[static 32])
{
    return (one != NULL && memcmp(one->fingerprint, fingerprint, 32) == 0) ||
           (other != NULL && memcmp(other->fingerprint, fingerprint, 32) == 0);
}

static bool is_certificate_type(const struct reader *type)
{
    static const char mark[] = "-cert-v01@openssh.com";
    const size_t bytes = sizeof(mark) - 1;
    return type->left > bytes && memcmp(type->bytes + type->left - bytes, mark, bytes) == 0;
}

bool key_hash(uint8_t fingerprint[static 32], struct reader blob)
{
    crypto_hash_sha256(fingerprint, blob.bytes, blob.left);
    const struct reader type = reader_string(&blob);
    bool has_strings = blob.left > 0;
    while (blob.left > 0) {
        (void)reader_string(&blob);
    }
    return has_strings && reader_end(&blob) && ssh_key_type_is_known(&type) &&
           !is_certificate_type(&type);
}

void key_write_verifier(struct signature_key *verifier, const struct key *key)
{
    memset(verifier, 0, sizeof(*verifier));
    verifier->sk = key->sk ? 1 : 0;
    memcpy(verifier->public_key, key->public_key, sizeof(verifier->public_key));
    if (key->sk) {
        crypto_hash_sha256(verifier->application_hash, key->application.bytes,
                           key->application.left);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

/*
 * line    = [blanks] [options blanks] type blanks base64 [blanks comment]
 * options = everything up to the first blank outside of double quotes
 *
 * A line that starts with the name of a key type has no options, whatever follows.
 */

/* Of a key blob of 51 bytes. */
#define ED25519_BASE64_BYTES 68

/* As OpenSSH reads them: \" inside or outside of quotes is no quote. */
static struct reader read_options(struct reader *line)
{
    const uint8_t *bytes = line->bytes;
    bool quoted = false;
    size_t count = 0;
    for (; count < line->left && (quoted || !lines_is_blank(bytes[count])); count++) {
        if (bytes[count] == '\\' && count + 1 < line->left && bytes[count + 1] == '"') {
            count++;
        } else if (bytes[count] == '"') {
            quoted = !quoted;
        }
    }
    return reader_over(reader_bytes(line, count), count);
}

bool key_line_read(struct key_line *parts, struct reader line)
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

bool key_line_lists(const struct key_line *line, const struct key_text *wanted)
{
    return reader_is(&line->type, wanted->type) &&
           reader_equals(&line->base64, wanted->base64, wanted->base64_bytes);
}

enum authkeys_reason key_line_fault(const struct key_line *line)
{
    size_t bytes = line->base64.left;
    if (!ssh_key_type_is_known(&line->type)) {
        return AUTHKEYS_LINE_NO_TYPE;
    }
    bool damaged = bytes == 0 || bytes % 4 != 0 ||
                   (reader_is(&line->type, SSH_ED25519) && bytes != ED25519_BASE64_BYTES);
    return damaged ? AUTHKEYS_LINE_DAMAGED : AUTHKEYS_NOT_LISTED;
}

enum authkeys_reason key_line_read_key(struct key_text *key, const struct key_line *line)
{
    uint8_t blob[LIMIT_PLAIN_KEY_BYTES];
    size_t count = 0;
    struct key fields;
    enum authkeys_reason fault = key_line_fault(line);
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
    return key_line_lists(line, key) ? AUTHKEYS_GOOD : AUTHKEYS_LINE_DAMAGED;
}
