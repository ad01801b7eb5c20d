/*
 * Encoded terminal modes: of each opcode the last argument counts, so a second reading looks for
 * each mode from the end. The modes' names and numbers are those of RFC 4254 section 8 and RFC
 * 8160. The order matters only for the two sizes of characters, and for the bits in which Linux
 * keeps both speeds.
 *
 * Input: the encoded modes.
 */
#include "channel_streams.h"

#include <string.h>
#include <unistd.h>

#include "second.h"

struct mode {
    uint8_t opcode;
    uint8_t value;
    uint32_t argument;
};

static struct mode modes[16384 / 5 + 1];
static size_t count;

/* False if an argument is cut off. */
static bool split(struct input encoded)
{
    count = 0;
    while (encoded.left > 0) {
        uint64_t argument;
        uint8_t opcode = input_u8(&encoded);
        if (opcode == 0 || opcode > 159) {
            return true;
        }
        if (!second_number(&encoded, 4, &argument)) {
            return false;
        }
        modes[count++] = (struct mode){opcode, (uint8_t)argument, (uint32_t)argument};
    }
    return true;
}

static const struct mode *last(uint8_t opcode)
{
    for (size_t i = count; i > 0; i--) {
        if (modes[i - 1].opcode == opcode) {
            return &modes[i - 1];
        }
    }
    return NULL;
}

/* In the order of their opcodes; 0 where Linux has no such flag. */
static const tcflag_t input_flags[] = {IGNPAR, PARMRK, INPCK, ISTRIP, INLCR,   IGNCR, ICRNL,
                                       IUCLC,  IXON,   IXANY, IXOFF,  IMAXBEL, IUTF8};
static const tcflag_t local_flags[] = {ISIG,   ICANON, XCASE,  ECHO,    ECHOE,  ECHOK, ECHONL,
                                       NOFLSH, TOSTOP, IEXTEN, ECHOCTL, ECHOKE, PENDIN};
static const tcflag_t output_flags[] = {OPOST, OLCUC, ONLCR, OCRNL, ONOCR, ONLRET};
static const int characters[] = {-1,     VINTR,  VQUIT, VERASE, VKILL,   VEOF,     VEOL,
                                 VEOL2,  VSTART, VSTOP, VSUSP,  -1,      VREPRINT, VWERASE,
                                 VLNEXT, -1,     VSWTC, -1,     VDISCARD};

static void check_flags(tcflag_t found, tcflag_t usual, uint8_t first, const tcflag_t *flags,
                        size_t flag_count)
{
    tcflag_t expected = usual;
    for (size_t i = 0; i < flag_count; i++) {
        const struct mode *mode = last((uint8_t)(first + i));
        if (mode != NULL) {
            expected = mode->argument != 0 ? expected | flags[i] : expected & ~flags[i];
        }
    }
    FUZZ_CHECK(found == expected);
}

static void check_characters(const struct termios *found)
{
    cc_t expected[NCCS] = {
        [VINTR] = 3,     [VQUIT] = 28,   [VERASE] = 127, [VKILL] = 21, [VEOF] = 4,
        [VMIN] = 1,      [VSTART] = 17,  [VSTOP] = 19,   [VSUSP] = 26, [VREPRINT] = 18,
        [VDISCARD] = 15, [VWERASE] = 23, [VLNEXT] = 22};
    for (uint8_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
        const struct mode *mode = characters[i] >= 0 ? last(i) : NULL;
        if (mode != NULL) {
            expected[characters[i]] = mode->argument == 255 ? _POSIX_VDISABLE : mode->value;
        }
    }
    FUZZ_CHECK(memcmp(found->c_cc, expected, NCCS) == 0);
}

/* The highest of the speeds that the product knows and the client can. */
static speed_t speed_of(uint32_t baud)
{
    return baud >= 4000000   ? B4000000
           : baud >= 1000000 ? B1000000
           : baud >= 921600  ? B921600
           : baud >= 460800  ? B460800
           : baud >= 230400  ? B230400
           : baud >= 115200  ? B115200
           : baud >= 57600   ? B57600
           : baud >= 38400   ? B38400
           : baud >= 19200   ? B19200
           : baud >= 9600    ? B9600
           : baud >= 4800    ? B4800
           : baud >= 2400    ? B2400
           : baud >= 1800    ? B1800
           : baud >= 1200    ? B1200
           : baud >= 600     ? B600
           : baud >= 300     ? B300
           : baud >= 200     ? B200
           : baud >= 150     ? B150
           : baud >= 134     ? B134
           : baud >= 110     ? B110
           : baud >= 75      ? B75
           : baud >= 50      ? B50
                             : B0;
}

/* The character size, the parity and the speeds. */
static void check_control(const struct termios *found)
{
    struct termios expected = {.c_cflag = CS8 | CREAD | B38400};
    cfsetispeed(&expected, B38400);
    cfsetospeed(&expected, B38400);
    tcflag_t parity = 0, size = CS8;
    for (size_t i = 0; i < count; i++) {
        if (modes[i].opcode == 128) {
            cfsetispeed(&expected, speed_of(modes[i].argument));
        } else if (modes[i].opcode == 129) {
            cfsetospeed(&expected, speed_of(modes[i].argument));
        } else if (modes[i].opcode == 90 || modes[i].opcode == 91) {
            tcflag_t wanted = modes[i].opcode == 90 ? CS7 : CS8;
            size = modes[i].argument != 0 ? wanted : size;
        }
    }
    parity |= last(92) != NULL && last(92)->argument != 0 ? PARENB : 0;
    parity |= last(93) != NULL && last(93)->argument != 0 ? PARODD : 0;
    FUZZ_CHECK(found->c_cflag == ((expected.c_cflag & ~(tcflag_t)CSIZE) | size | parity));
    FUZZ_CHECK(cfgetispeed(found) == cfgetispeed(&expected));
    FUZZ_CHECK(cfgetospeed(found) == cfgetospeed(&expected));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size < 16384 ? size : 16384};
    struct reader encoded = reader_over(input.at, input.left);
    struct termios found;
    bool good = tty_modes_read(&encoded, &found);
    FUZZ_CHECK(good == split(input));
    if (!good) {
        return 0;
    }
    struct termios zero_speed = {.c_iflag = 0};
    cfsetispeed(&zero_speed, B0); /* glibc marks it in a bit of its own */
    tcflag_t input_found = found.c_iflag & ~zero_speed.c_iflag;
    check_flags(input_found, ICRNL | IXON, 30, input_flags, sizeof(input_flags) / sizeof(tcflag_t));
    check_flags(found.c_lflag, ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN, 50,
                local_flags, sizeof(local_flags) / sizeof(tcflag_t));
    check_flags(found.c_oflag, OPOST | ONLCR, 70, output_flags,
                sizeof(output_flags) / sizeof(tcflag_t));
    check_characters(&found);
    check_control(&found);
    return 0;
}
