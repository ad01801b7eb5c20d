#include "monitor_internal.h"

#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Offsets in the kernel's struct tcp_info (linux/tcp.h); C libraries have shorter ones. */
#define BYTES_ACKED    120 /* Linux 4.1 */
#define BYTES_RECEIVED 128 /* Linux 4.1 */
#define BYTES_SENT     200 /* Linux 4.19 */
#define BYTES_RETRANS  208 /* Linux 4.19 */
#define INFO_BYTES     216

static uint64_t count_at(const uint8_t info[static INFO_BYTES], size_t offset)
{
    uint64_t count;
    memcpy(&count, info + offset, sizeof(count));
    return count;
}

bool tcp_bytes(uint64_t *received, uint64_t *sent, int fd)
{
    uint8_t info[INFO_BYTES] = {0};
    socklen_t bytes = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &bytes) != 0 ||
        bytes < BYTES_RECEIVED + sizeof(uint64_t)) {
        return false;
    }
    *received = count_at(info, BYTES_RECEIVED);
    *sent = bytes == sizeof(info) ? count_at(info, BYTES_SENT) - count_at(info, BYTES_RETRANS)
                                  : count_at(info, BYTES_ACKED);
    return true;
}

bool tcp_waits(int fd)
{
    int bytes = 0;
    return ioctl(fd, TIOCOUTQ, &bytes) == 0 && bytes > 0;
}
