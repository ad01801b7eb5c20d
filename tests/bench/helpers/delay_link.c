/* A network with a delay, for kernels that come without sch_netem: two tun interfaces in two
 * network namespaces, and every packet that goes into one comes out of the other after a while.
 *
 *     delay_link MILLISECONDS NAME [MBIT]
 *
 * The delay is that of one way. With MBIT the link carries so many million bits a second each way,
 * the packets' headers included. More than BACKLOG_NS of it waits in the interface, and what has no
 * room there is lost, as in a router. The near interface, NAME, is in the namespace we are started
 * in; the far one, of the same name, in a namespace of our own, /proc/PID/ns/net. Both are without
 * addresses: the caller gives them some. Says "ready" when both are there, and goes when its
 * standard input ends. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PACKET_BYTES  9100  /* the interfaces' default MTU is 1500; a fast link gets 9000 */
#define QUEUE_PACKETS 32768 /* in flight: 48 MB of 1500 bytes, more than 4 Gbit/s over 100 ms */
#define BACKLOG_NS    5000000LL
#define SLACK_NS      1000UL /* of timers, instead of 50 us */

struct packet {
    long long due_ns;
    size_t length;
    unsigned char bytes[PACKET_BYTES];
};

/* What is on its way in one direction, a ring. */
struct way {
    int from, to;
    long long free_ns; /* when the last packet that was taken in has left, at the rate */
    size_t first, count;
    struct packet *packets;
};

static long long delay_ns, mbit; /* 0: no limit */

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(111);
}

static int open_tun(const char *name)
{
    struct ifreq request;
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);

    if (tun < 0) {
        fail("/dev/net/tun");
    }
    memset(&request, 0, sizeof(request));
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (ioctl(tun, TUNSETIFF, &request) != 0) {
        fail("TUNSETIFF");
    }
    return tun;
}

/* The time at which the packet has left, at the rate. The clock of the rate does not wait for us:
 * a late wake-up loses none of it. */
static long long leave_ns(struct way *way, size_t bytes)
{
    long long now = now_ns();

    if (mbit == 0) {
        return now;
    }
    if (way->free_ns < now) {
        way->free_ns = now;
    }
    way->free_ns += (long long)bytes * 8000 / mbit;
    return way->free_ns;
}

static bool has_room(const struct way *way)
{
    return way->count < QUEUE_PACKETS && way->free_ns - now_ns() < BACKLOG_NS;
}

static void take_in(struct way *way)
{
    while (has_room(way)) {
        struct packet *packet = &way->packets[(way->first + way->count) % QUEUE_PACKETS];
        ssize_t length = read(way->from, packet->bytes, PACKET_BYTES);

        if (length <= 0) {
            return;
        }
        packet->length = (size_t)length;
        packet->due_ns = leave_ns(way, packet->length) + delay_ns;
        way->count++;
    }
}

/* An interface that is down or full loses the packet, as networks do. */
static void hand_out(struct way *way)
{
    long long now = now_ns();

    while (way->count > 0 && way->packets[way->first].due_ns <= now) {
        const struct packet *packet = &way->packets[way->first];

        if (write(way->to, packet->bytes, packet->length) < 0 && errno == EBADFD) {
            fail("tun");
        }
        way->first = (way->first + 1) % QUEUE_PACKETS;
        way->count--;
    }
    if (way->count == 0) {
        way->first = 0; /* only as much of the ring as is needed takes memory */
    }
}

static void soonest(const struct way *way, long long *due_ns)
{
    if (way->count > 0 && way->packets[way->first].due_ns < *due_ns) {
        *due_ns = way->packets[way->first].due_ns;
    }
}

/* Waits for a packet, for the time at which one is due, or for the end. */
static bool wait_for_work(const struct way ways[2])
{
    struct pollfd polled[3] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = has_room(&ways[0]) ? ways[0].from : -1, .events = POLLIN},
                               {.fd = has_room(&ways[1]) ? ways[1].from : -1, .events = POLLIN}};
    long long now = now_ns(), due_ns = now + 1000000000LL, left_ns;
    struct timespec left;

    soonest(&ways[0], &due_ns);
    soonest(&ways[1], &due_ns);
    left_ns = due_ns > now ? due_ns - now : 0;
    left = (struct timespec){.tv_sec = left_ns / 1000000000LL, .tv_nsec = left_ns % 1000000000LL};
    return ppoll(polled, 3, &left, NULL) <= 0 || polled[0].revents == 0;
}

int main(int count, char **arguments)
{
    struct way ways[2] = {{0}};

    if (count != 3 && (count != 4 || atoll(arguments[3]) <= 0)) {
        fputs("usage: delay_link MILLISECONDS NAME [MBIT]\n", stderr);
        return 100;
    }
    delay_ns = atoll(arguments[1]) * 1000000LL;
    mbit = count == 4 ? atoll(arguments[3]) : 0;
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    ways[0].from = open_tun(arguments[2]);
    if (unshare(CLONE_NEWNET) != 0) {
        fail("unshare");
    }
    ways[0].to = open_tun(arguments[2]);
    ways[1] = (struct way){.from = ways[0].to, .to = ways[0].from};
    for (int i = 0; i < 2; i++) {
        ways[i].packets = calloc(QUEUE_PACKETS, sizeof(struct packet));
        if (ways[i].packets == NULL) {
            fail("calloc");
        }
    }
    puts("ready");
    fflush(stdout);
    do {
        take_in(&ways[0]);
        take_in(&ways[1]);
        hand_out(&ways[0]);
        hand_out(&ways[1]);
    } while (wait_for_work(ways));
    return 0;
}
