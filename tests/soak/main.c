/*
 * wren-soak COUNT WORKERS SEED soak OPTION...: makes so many connections and says what came of
 * them, in JSON. The options are those of wren-lean.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "life.h"
#include "measure.h"
#include "offer.h"

#define KINDS 32
#define WORDS 20
#define HELD  400

const struct kind kinds[] = {
    {"command", 150, 1, true, guest_command},
    {"download", 60, 1, true, guest_download},
    {"upload", 50, 1, true, guest_upload},
    {"rekey", 30, 1, true, guest_rekey},
    {"terminal", 60, 1, true, guest_terminal},
    {"sessions", 30, 1, true, guest_sessions},
    {"sftp", 60, 1, true, guest_sftp},
    {"quiet", 10, 1, true, guest_quiet},
    {"vanishing", 230, 1, false, vanish},
    {"wrong key", 80, 1, false, stranger_wrong_key},
    {"wrong user", 40, 1, false, stranger_wrong_user},
    {"garbage", 50, 1, false, stranger_garbage},
    {"late garbage", 40, 1, false, stranger_late_garbage},
    {"bad packet", 20, 1, false, stranger_bad_packet},
    {"port scan", 77, 1, false, stranger_scan},
    {"drip", 10, 1, false, stranger_drip},
    {"silent crowd", 3, CROWD, false, stranger_crowd},
};
const size_t kind_count = sizeof(kinds) / sizeof(kinds[0]);

/* What the workers share. */
struct tally {
    unsigned left, words;
    unsigned counts[KINDS][OUTCOMES];
    char said[WORDS][256];
};
static struct tally *tally;

/* ---- what all kinds share -------------------------------------------------------------------- */

static uint64_t random_state;

void chance_seed(uint64_t seed)
{
    random_state = seed * 0x9e3779b97f4a7c15U + 1;
}

uint32_t chance(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32) % below;
}

static struct held {
    int fd;
    uint64_t until_ns;
} held[HELD];
static size_t held_count;

static void drop_held(uint64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < held_count; i++) {
        if (held[i].until_ns <= now_ns) {
            close(held[i].fd);
        } else {
            held[kept++] = held[i];
        }
    }
    held_count = kept;
}

static void await_held(size_t room)
{
    while (HELD - held_count < room) {
        usleep(10000);
        drop_held(measure_now_ns());
    }
}

void hold_link(int fd, unsigned milliseconds)
{
    await_held(1);
    held[held_count++] = (struct held){fd, measure_now_ns() + milliseconds * 1000000ULL};
    soak_fd = -1;
}

static struct client *current;

struct client *meet(const struct options *options)
{
    current = client_begin(options);
    return current;
}

/* Also what the client has not closed itself. */
void forget(void)
{
    free(current);
    current = NULL;
}

void part(struct client *client)
{
    client_end(client);
    leave(LEAVE_IN_ORDER);
    forget();
}

/* ---- a worker -------------------------------------------------------------------------------- */

static const struct kind *choose_kind(void)
{
    uint32_t number = chance(1000);
    const struct kind *kind = kinds;
    while (kind < kinds + kind_count - 1 && number >= kind->weight) {
        number -= kind->weight;
        kind++;
    }
    return kind;
}

/* Strangers who try keys come to their end through fail(), and so may all who are no guests. */
static enum outcome judge(const struct kind *kind, const struct client *client, bool returned)
{
    bool tries_keys = kind->live == stranger_wrong_key || kind->live == stranger_wrong_user;
    if (tries_keys) {
        bool is_refusal = strstr(soak_said, "refuse") != NULL;
        return returned || (client != NULL && client->login.done) ? OUTCOME_WRONG
               : is_refusal                                       ? OUTCOME_DONE
                                                                  : OUTCOME_EVICTED;
    }
    return returned ? OUTCOME_DONE : kind->is_guest ? OUTCOME_WRONG : OUTCOME_EVICTED;
}

static void count(const struct kind *kind, enum outcome outcome)
{
    __atomic_add_fetch(&tally->counts[kind - kinds][outcome], kind->connections, __ATOMIC_RELAXED);
    if (outcome == OUTCOME_WRONG) {
        unsigned word = __atomic_fetch_add(&tally->words, 1, __ATOMIC_RELAXED);
        if (word < WORDS) {
            snprintf(tally->said[word], sizeof(tally->said[word]), "%s from %s: %s", kind->name,
                     soak_source, soak_said);
        }
    }
}

static void live_once(const struct options *options)
{
    struct options own = *options;
    const struct kind *volatile kind = choose_kind();
    soak_said[0] = '\0';
    offer_named(&own.offer, chance(2) == 0 ? "curve" : "sntrup");
    own.polite = chance(4) == 0;
    come_from(kind->is_guest || kind->live == vanish);
    await_held(kind->connections);
    if (setjmp(soak_failed) == 0) {
        kind->live(&own);
        count(kind, judge(kind, current, true));
    } else {
        count(kind, judge(kind, current, false));
    }
    if (soak_fd >= 0) {
        close(soak_fd);
        soak_fd = -1;
    }
    forget();
}

/* Takes connections off the count until there is none left. */
static void work(const struct options *options)
{
    while (__atomic_load_n(&tally->left, __ATOMIC_RELAXED) > 0) {
        unsigned before = tally->left;
        if (before == 0 || !__atomic_compare_exchange_n(&tally->left, &before, before - 1, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            continue;
        }
        live_once(options);
        drop_held(measure_now_ns());
    }
    while (held_count > 0) {
        await_held(HELD);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void report(void)
{
    unsigned guests = 0;
    printf("{\"counts\": {");
    for (size_t i = 0; i < kind_count; i++) {
        const unsigned *counts = tally->counts[i];
        guests += kinds[i].is_guest ? counts[OUTCOME_DONE] + counts[OUTCOME_WRONG] : 0;
        printf("%s\"%s\": [%u, %u, %u]", i > 0 ? ", " : "", kinds[i].name, counts[OUTCOME_DONE],
               counts[OUTCOME_EVICTED], counts[OUTCOME_WRONG]);
    }
    printf("}, \"guests\": %u, \"said\": [", guests);
    for (unsigned i = 0; i < tally->words && i < WORDS; i++) {
        for (char *byte = tally->said[i]; *byte != '\0'; byte++) {
            if (*byte < ' ' || *byte > '~' || *byte == '"' || *byte == '\\') {
                *byte = '?';
            }
        }
        printf("%s\"%s\"", i > 0 ? ", " : "", tally->said[i]);
    }
    printf("]}\n");
}

static void mode_soak(const struct options *options)
{
    (void)options;
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {{"soak", mode_soak}, {NULL, NULL}};
    struct options options;
    if (setjmp(soak_failed) != 0 || argc < 5 || sodium_init() < 0) {
        fprintf(stderr, "wren-soak: COUNT WORKERS SEED soak OPTION... %s\n", soak_said);
        return 100;
    }
    options_parse(&options, argc - 3, argv + 3, modes);
    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED) {
        return 111;
    }
    tally->left = (unsigned)strtoul(argv[1], NULL, 10);
    unsigned workers = (unsigned)strtoul(argv[2], NULL, 10);
    for (unsigned i = 0; i < workers; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            return 111;
        }
        if (pid == 0) {
            chance_seed(strtoull(argv[3], NULL, 10) * workers + i + 1);
            work(&options);
            _exit(0);
        }
    }
    int bad = 0;
    int status;
    while (wait(&status) > 0) {
        bad |= status;
    }
    report();
    return bad == 0 ? 0 : 111;
}
