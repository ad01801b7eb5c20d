/*
 * Host certificate files, read a second time: base64 by encoding it again, the fields by plain
 * reading.
 *
 * Input: a byte. The text of the file; or the certificate's bytes, which the target encodes, with a
 * comment after a newline of the next byte's choice.
 */
#include "hostkey_internal.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "second.h"

#define TEXT_BYTES 8192

static const char head[] = "ssh-ed25519-cert-v01@openssh.com ";

static bool is_good(struct input blob, const uint8_t public_key[static 32])
{
    struct input type, nonce, key, id, principals, critical, extensions, reserved, authority,
        signature;
    uint64_t serial, kind, after, before;
    return second_string(&blob, &type) && second_string(&blob, &nonce) &&
           second_string(&blob, &key) && second_number(&blob, 8, &serial) &&
           second_number(&blob, 4, &kind) && second_string(&blob, &id) &&
           second_string(&blob, &principals) && second_number(&blob, 8, &after) &&
           second_number(&blob, 8, &before) && second_string(&blob, &critical) &&
           second_string(&blob, &extensions) && second_string(&blob, &reserved) &&
           second_string(&blob, &authority) && second_string(&blob, &signature) && blob.left == 0 &&
           second_is(type, "ssh-ed25519-cert-v01@openssh.com") &&
           second_same(key, (struct input){public_key, 32}) && kind == 2 && critical.left == 0 &&
           authority.left > 0 && signature.left > 0;
}

static void check(struct input text)
{
    static uint8_t certificate[LIMIT_HOST_CERTIFICATE_BYTES], decoded[TEXT_BYTES];
    uint8_t public_key[32];
    size_t bytes = 12345;
    memset(public_key, 'k', sizeof(public_key));
    const char *reason =
        host_certificate_parse(certificate, &bytes, (const char *)text.at, text.left, public_key);
    size_t count = SIZE_MAX;
    if (text.left >= strlen(head) && memcmp(text.at, head, strlen(head)) == 0) {
        struct input rest = text, base64;
        input_take(&rest, strlen(head));
        base64 = (struct input){rest.at, 0};
        while (base64.left < rest.left && memchr(" \t\r\n", base64.at[base64.left], 5) == NULL) {
            base64.left++;
        }
        count = second_base64(decoded, base64);
    }
    bool good = count <= LIMIT_HOST_CERTIFICATE_BYTES &&
                is_good((struct input){decoded, count}, public_key);
    FUZZ_CHECK((reason == NULL) == good);
    FUZZ_CHECK(bytes == (good ? count : 0));
    FUZZ_CHECK(!good || memcmp(certificate, decoded, count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[TEXT_BYTES];
    struct input input = {data, size};
    uint8_t kind = input_u8(&input);
    if (kind == 'i') {
        uint8_t blank = input_u8(&input);
        input.left = input.left < 3000 ? input.left : 3000;
        strcpy(text, head);
        sodium_bin2base64(text + strlen(head), sizeof(text) - strlen(head), input.at, input.left,
                          sodium_base64_VARIANT_ORIGINAL);
        const char after[] = {(char)blank, 'c', '\0'};
        strcat(text, after);
        input = (struct input){(uint8_t *)text, strlen(text)};
    }
    input.left =
        input.left < HOST_CERTIFICATE_FILE_BYTES ? input.left : HOST_CERTIFICATE_FILE_BYTES;
    uint8_t *copy = input_copy(input);
    check((struct input){copy, input.left});
    free(copy);
    return 0;
}
