/*
 * Lists of addresses in `from=` and of certificates, judged by a second opinion: patterns by
 * fnmatch(3), which has no other special letters once they are escaped, networks by a comparison
 * of whole integers.
 *
 * Input: a line with the client's address, then the list.
 */
#include "authkeys_internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define ADDRESS_BYTES 80
#define LIST_BYTES    2000
#define ENTRY_BYTES   300

/* fnmatch() with what it would read as a set or an escape made literal. */
static bool second_pattern(const char *pattern, const char *text)
{
    char escaped[2 * ENTRY_BYTES + 1];
    size_t used = 0;
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at == '[' || *at == ']' || *at == '\\') {
            escaped[used++] = '\\';
        }
        escaped[used++] = *at;
    }
    escaped[used] = '\0';
    return fnmatch(escaped, text, FNM_CASEFOLD) == 0;
}

static bool is_ascii(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((*text & 0x80) != 0) {
            return false;
        }
    }
    return true;
}

/* Lists of one pattern with a wildcard: their verdict is that of the pattern alone. */
static void check_pattern(const char *list, const char *address)
{
    struct in6_addr any;
    char plain[ADDRESS_BYTES];
    strcpy(plain, address);
    plain[strcspn(plain, "%")] = '\0'; /* the zone */
    bool known = inet_pton(AF_INET, plain, &any) == 1 || inet_pton(AF_INET6, plain, &any) == 1;
    if (strpbrk(list, ",/!") != NULL || strpbrk(list, "*?") == NULL ||
        strlen(list) >= ENTRY_BYTES || !is_ascii(list)) {
        return;
    }
    enum authkeys_reason expected =
        known && second_pattern(list, address) ? AUTHKEYS_GOOD : AUTHKEYS_ELSEWHERE;
    FUZZ_CHECK(match_from(reader_over(list, strlen(list)), address) == expected);
}

/* A whole IPv4 network. */
static void check_network(const char *list, const char *address)
{
    char text[ENTRY_BYTES];
    struct in_addr network, client;
    const char *slash = strchr(list, '/');
    if (slash == NULL || strlen(list) >= sizeof(text) ||
        inet_pton(AF_INET, address, &client) != 1) {
        return;
    }
    memcpy(text, list, (size_t)(slash - list));
    text[slash - list] = '\0';
    if (inet_pton(AF_INET, text, &network) != 1 || !isdigit((unsigned char)slash[1])) {
        return;
    }
    char *end;
    unsigned long prefix = strtoul(slash + 1, &end, 10);
    bool plain = *end == '\0' && (slash[1] != '0' || slash[2] == '\0');
    if (!plain || prefix > 32) {
        return;
    }
    uint64_t host_bits = UINT64_C(0xffffffff) >> prefix;
    enum authkeys_reason expected = AUTHKEYS_BROKEN_OPTION;
    if ((ntohl(network.s_addr) & host_bits) == 0) {
        bool same = (ntohl(client.s_addr) & ~host_bits) == ntohl(network.s_addr);
        expected = same ? AUTHKEYS_GOOD : AUTHKEYS_ELSEWHERE;
    }
    FUZZ_CHECK(match_networks(reader_over(list, strlen(list)), address) == expected);
    FUZZ_CHECK(match_from(reader_over(list, strlen(list)), address) == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    char address[ADDRESS_BYTES], list[LIST_BYTES];
    input_text(input_line(&input), address, sizeof(address));
    struct reader whole = reader_over(input.at, input.left);
    if (memchr(data, 0, size) == NULL) {
        const struct reader name = reader_over(address, strlen(address));
        match_from(whole, NULL);
        match_from(whole, address);
        match_networks(whole, address);
        match_name(whole, &name);
    }
    input_text(input, list, sizeof(list));
    check_pattern(list, address);
    check_network(list, address);
    return 0;
}
