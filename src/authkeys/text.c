#include "text.h"

#include <string.h>

struct text text_over(const char *bytes, size_t count)
{
    return (struct text){bytes, bytes + count};
}

size_t text_bytes(const struct text *text)
{
    return (size_t)(text->end - text->at);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

void text_skip_blanks(struct text *text)
{
    while (text->at < text->end && is_blank(*text->at)) {
        text->at++;
    }
}

struct text text_word(struct text *text)
{
    struct text word = {text->at, text->at};
    while (word.end < text->end && !is_blank(*word.end)) {
        word.end++;
    }
    text->at = word.end;
    return word;
}

bool text_is(const struct text *text, const char *wanted)
{
    size_t bytes = text_bytes(text);
    return bytes == strlen(wanted) && memcmp(text->at, wanted, bytes) == 0;
}

bool text_take(struct text *text, const char *prefix)
{
    size_t bytes = strlen(prefix);
    if (text_bytes(text) < bytes || memcmp(text->at, prefix, bytes) != 0) {
        return false;
    }
    text->at += bytes;
    return true;
}

bool text_is_key_type(const struct text *word)
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
        if (text_is(word, types[i])) {
            return true;
        }
    }
    return false;
}
