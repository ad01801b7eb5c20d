/*
 * The client's address from a launcher's variables, judged by getaddrinfo(3), and decimal numbers,
 * judged by strtoull(3).
 *
 * Rules, as the product differs by design: getaddrinfo() also takes addresses of less than four
 * numbers, octal ones and interfaces' names; an address must be one that inet_pton(3) takes.
 *
 * Input: a byte. Of variables: six lines (TCPREMOTEIP, TCPREMOTEPORT, TCPLOCALIP, TCPLOCALPORT,
 * REMOTE_ADDR, REMOTE_PORT); one that begins with "-" is not set. Of numbers: the largest (8 bytes)
 * and the digits.
 */
#include "base.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "second.h"

#define VALUE_BYTES 128

enum { IP, PORT, LOCAL_IP, LOCAL_PORT, ADDR, ADDR_PORT, VARIABLES };
static const char *const names[VARIABLES] = {"TCPREMOTEIP",  "TCPREMOTEPORT", "TCPLOCALIP",
                                             "TCPLOCALPORT", "REMOTE_ADDR",   "REMOTE_PORT"};

/* ---- addresses ------------------------------------------------------------------------------- */

/* IPv4 as four numbers of at most 255 without leading zeros. */
static bool is_ipv4(const char *text)
{
    unsigned parts[4];
    char again[VALUE_BYTES];
    if (sscanf(text, "%3u.%3u.%3u.%3u", &parts[0], &parts[1], &parts[2], &parts[3]) != 4) {
        return false;
    }
    snprintf(again, sizeof(again), "%u.%u.%u.%u", parts[0], parts[1], parts[2], parts[3]);
    return strcmp(again, text) == 0 && parts[0] < 256 && parts[1] < 256 && parts[2] < 256 &&
           parts[3] < 256;
}

static bool is_zone(const char *zone)
{
    size_t count = strlen(zone);
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)zone[i];
        if (!isascii(byte) || (!isalnum(byte) && strchr("_.-", byte) == NULL)) {
            return false;
        }
    }
    return count >= 1 && count <= 15;
}

/* What the product shows for a variable's value. False if it is no address. */
static bool expect_address(char out[static PEER_ADDRESS_BYTES], const char *value)
{
    const struct addrinfo hints = {.ai_family = AF_INET6, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    char plain[VALUE_BYTES];
    struct sockaddr_in6 address;
    const char *zone = strchr(value, '%');
    if (zone == NULL && is_ipv4(value)) {
        strcpy(out, value);
        return true;
    }
    size_t count = zone != NULL ? (size_t)(zone - value) : strlen(value);
    memcpy(plain, value, count);
    plain[count] = '\0';
    if ((zone != NULL && !is_zone(zone + 1)) || strchr(plain, ':') == NULL || count > 46 ||
        getaddrinfo(plain, NULL, &hints, &found) != 0) {
        return false;
    }
    memcpy(&address, found->ai_addr, sizeof(address));
    getnameinfo(found->ai_addr, found->ai_addrlen, out, PEER_ADDRESS_BYTES, NULL, 0,
                NI_NUMERICHOST);
    freeaddrinfo(found);
    if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
        const uint8_t *bytes = address.sin6_addr.s6_addr + 12;
        snprintf(out, PEER_ADDRESS_BYTES, "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
    } else if (zone != NULL) {
        strcat(out, zone);
    }
    return true;
}

/* A port of at most nine digits; otherwise the text stays "0". */
static void expect_port(char out[static PEER_PORT_BYTES], const char *value)
{
    size_t count = value != NULL ? strlen(value) : 0;
    strcpy(out, "0");
    if (count >= 1 && count <= 9 && strspn(value, "0123456789") == count && atol(value) <= 65535) {
        snprintf(out, PEER_PORT_BYTES, "%u", (unsigned)atol(value) & 65535U);
    }
}

static void check_variables(struct input input)
{
    char values[VARIABLES][VALUE_BYTES];
    const char *set[VARIABLES];
    struct peer peer,
        expected = {.address = "pipe", .port = "0", .local_address = "pipe", .local_port = "0"};
    for (size_t i = 0; i < VARIABLES; i++) {
        input_text(input_line(&input), values[i], VALUE_BYTES);
        set[i] = values[i][0] != '-' ? values[i] : NULL;
        unsetenv(names[i]);
        if (set[i] != NULL) {
            setenv(names[i], values[i], 1);
        }
    }
    peer_learn(&peer, -1);
    if (set[IP] != NULL && expect_address(expected.address, set[IP])) {
        expect_port(expected.port, set[PORT]);
        if (set[LOCAL_IP] != NULL && expect_address(expected.local_address, set[LOCAL_IP])) {
            expect_port(expected.local_port, set[LOCAL_PORT]);
        }
    } else if (set[ADDR] != NULL && expect_address(expected.address, set[ADDR])) {
        expect_port(expected.port, set[ADDR_PORT]);
    }
    FUZZ_CHECK(strcmp(peer.address, expected.address) == 0);
    FUZZ_CHECK(strcmp(peer.port, expected.port) == 0);
    FUZZ_CHECK(strcmp(peer.local_address, expected.local_address) == 0);
    FUZZ_CHECK(strcmp(peer.local_port, expected.local_port) == 0);
    FUZZ_CHECK(!peer.tcp && peer.has_ip == (strcmp(peer.address, "pipe") != 0));
    for (size_t i = 0; i < VARIABLES; i++) {
        unsetenv(names[i]);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void check_number(uint64_t most, struct input digits)
{
    uint64_t found = 77, expected = 77;
    unsigned small = 77;
    char text[600];
    bool whole = digits.left < sizeof(text) &&
                 input_text(digits, text, sizeof(text)) == digits.left && digits.left > 0 &&
                 strspn(text, "0123456789") == digits.left;
    if (whole) {
        errno = 0;
        expected = strtoull(text, NULL, 10);
        whole = errno == 0 && expected <= most;
    }
    if (digits.left < sizeof(text)) {
        FUZZ_CHECK(number_parse(&found, digits.at, digits.left, most) == whole);
        FUZZ_CHECK(found == (whole ? expected : 77));
    }
    size_t count = input_text(digits, text, sizeof(text));
    bool good = count >= 1 && count <= 9 && strspn(text, "0123456789") == count;
    FUZZ_CHECK(number_read(&small, text) == good);
    FUZZ_CHECK(small == (good ? (unsigned)atol(text) : 77));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint64_t most;
    if ((input_u8(&input) & 1) == 0) {
        check_variables(input);
        return 0;
    }
    second_number(&input, 8, &most);
    uint8_t *copy = input_copy(input);
    check_number(most, (struct input){copy, input.left});
    free(copy);
    return 0;
}
