/*
 * line    = [blanks] [options blanks] type blanks base64 [blanks comment]
 * options = what stands up to the first blank outside of double quotes
 *
 * A line that starts with the name of a key type has no options, whatever follows.
 */
#include "authkeys_line.h"

#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "hostkey.h"

#define BASE64_BYTES ((size_t)HOSTKEY_BLOB_BYTES / 3 * 4)

struct text {
    const char *at;
    const char *end;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static void skip_blanks(struct text *text)
{
    while (text->at < text->end && is_blank(*text->at)) {
        text->at++;
    }
}

static struct text read_word(struct text *text)
{
    struct text word = {text->at, text->at};
    while (word.end < text->end && !is_blank(*word.end)) {
        word.end++;
    }
    text->at = word.end;
    return word;
}

/* As OpenSSH reads them: \" inside or outside of quotes is no quote. */
static void skip_options(struct text *text)
{
    bool quoted = false;
    while (text->at < text->end && (quoted || !is_blank(*text->at))) {
        if (*text->at == '\\' && text->at + 1 < text->end && text->at[1] == '"') {
            text->at++;
        } else if (*text->at == '"') {
            quoted = !quoted;
        }
        text->at++;
    }
}

static bool is_text(const struct text *text, const char *wanted)
{
    size_t bytes = (size_t)(text->end - text->at);
    return bytes == strlen(wanted) && memcmp(text->at, wanted, bytes) == 0;
}

static bool is_key_type(const struct text *word)
{
    static const char *const types[] = {
        "ssh-ed25519",
        "ssh-ed25519-cert-v01@openssh.com",
        "sk-ssh-ed25519@openssh.com",
        "sk-ssh-ed25519-cert-v01@openssh.com",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp256-cert-v01@openssh.com",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp384-cert-v01@openssh.com",
        "ecdsa-sha2-nistp521",
        "ecdsa-sha2-nistp521-cert-v01@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
        "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com",
        "ssh-rsa",
        "ssh-rsa-cert-v01@openssh.com",
        "ssh-dss",
        "ssh-dss-cert-v01@openssh.com",
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (is_text(word, types[i])) {
            return true;
        }
    }
    return false;
}

/* Reads `type blanks base64`; true only for an ed25519 key. */
static bool read_key(struct text *text, uint8_t public_key[static 32])
{
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    uint8_t expected[HOSTKEY_BLOB_BYTES];
    size_t blob_bytes = 0;
    const struct text type = read_word(text);
    skip_blanks(text);
    const struct text base64 = read_word(text);

    if (!is_text(&type, "ssh-ed25519") || (size_t)(base64.end - base64.at) != BASE64_BYTES ||
        sodium_base642bin(blob, sizeof(blob), base64.at, BASE64_BYTES, NULL, &blob_bytes, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        blob_bytes != sizeof(blob)) {
        return false;
    }
    const uint8_t *key = blob + sizeof(blob) - 32;
    hostkey_blob(expected, key);
    if (memcmp(blob, expected, sizeof(blob)) != 0) {
        return false;
    }
    memcpy(public_key, key, 32);
    return true;
}

enum authkeys_line authkeys_line_read(const char *line, size_t line_bytes,
                                      uint8_t public_key[static 32])
{
    struct text text = {line, line + line_bytes};
    memset(public_key, 0, 32);
    if (text.end > text.at && text.end[-1] == '\r') {
        text.end--;
    }
    skip_blanks(&text);
    if (text.at == text.end || *text.at == '#') {
        return AUTHKEYS_LINE_OTHER;
    }

    struct text rest = text;
    const struct text first = read_word(&rest);
    if (is_key_type(&first)) {
        return read_key(&text, public_key) ? AUTHKEYS_LINE_PLAIN : AUTHKEYS_LINE_OTHER;
    }
    skip_options(&text);
    skip_blanks(&text);
    return read_key(&text, public_key) ? AUTHKEYS_LINE_OPTIONS : AUTHKEYS_LINE_OTHER;
}
