#include "channel_streams.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"
#include "wire_rig.h"

static uint8_t encoded[WIRE_ROOM];
static struct termios modes;

/* The modes of one opcode and value, with an end. */
static bool parses(uint8_t opcode, uint32_t value)
{
    size_t count = wire_pack(encoded, "bub", opcode, value, 0);
    struct reader reader = reader_over(encoded, count);
    return tty_modes_read(&reader, &modes);
}

static struct termios defaults(void)
{
    struct termios found;
    struct reader nothing = reader_over("", 0);
    ck_assert(tty_modes_read(&nothing, &found));
    return found;
}

/* What stty -a shows of a new terminal. */
TEST(starts_from_a_new_terminals_modes)
{
    struct termios found = defaults();
    ck_assert_uint_eq(found.c_iflag, ICRNL | IXON);
    ck_assert_uint_eq(found.c_oflag, OPOST | ONLCR);
    ck_assert_uint_eq(found.c_cflag & ~(tcflag_t)CBAUD, CS8 | CREAD);
    ck_assert_uint_eq(found.c_lflag,
                      ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN);
    ck_assert_uint_eq(cfgetispeed(&found), B38400);
    ck_assert_uint_eq(cfgetospeed(&found), B38400);
    ck_assert_uint_eq(found.c_cc[VINTR], 'C' & 31);
    ck_assert_uint_eq(found.c_cc[VEOF], 'D' & 31);
    ck_assert_uint_eq(found.c_cc[VERASE], 0177);
    ck_assert_uint_eq(found.c_cc[VMIN], 1);
}

/* The kernel's own. */
TEST(starts_from_what_the_kernel_gives)
{
    struct termios found = defaults();
    struct termios kernels = {.c_cc = {0}}; /* musl's has more characters than the kernel's */
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0) {
        return; /* a chroot without /dev/pts */
    }
    ck_assert_int_eq(tcgetattr(terminal, &kernels), 0);
    ck_assert_uint_eq(found.c_iflag, kernels.c_iflag);
    ck_assert_uint_eq(found.c_oflag, kernels.c_oflag);
    ck_assert_uint_eq(found.c_cflag, kernels.c_cflag);
    ck_assert_uint_eq(found.c_lflag, kernels.c_lflag);
    ck_assert_mem_eq(found.c_cc, kernels.c_cc, sizeof(found.c_cc));
    close(terminal);
}

/* RFC 4254 section 8 and RFC 8160 (42): every opcode that Linux has a mode for. */
static const struct {
    uint8_t opcode;
    int index;
} characters[] = {
    {1, VINTR},     {2, VQUIT},    {3, VERASE},  {4, VKILL},  {5, VEOF},
    {6, VEOL},      {7, VEOL2},    {8, VSTART},  {9, VSTOP},  {10, VSUSP},
    {12, VREPRINT}, {13, VWERASE}, {14, VLNEXT}, {16, VSWTC}, {18, VDISCARD},
};

static const struct {
    uint8_t opcode;
    char word;
    tcflag_t flag;
} flags[] = {
    {30, 'i', IGNPAR}, {31, 'i', PARMRK},  {32, 'i', INPCK},  {33, 'i', ISTRIP},  {34, 'i', INLCR},
    {35, 'i', IGNCR},  {36, 'i', ICRNL},   {37, 'i', IUCLC},  {38, 'i', IXON},    {39, 'i', IXANY},
    {40, 'i', IXOFF},  {41, 'i', IMAXBEL}, {42, 'i', IUTF8},  {50, 'l', ISIG},    {51, 'l', ICANON},
    {52, 'l', XCASE},  {53, 'l', ECHO},    {54, 'l', ECHOE},  {55, 'l', ECHOK},   {56, 'l', ECHONL},
    {57, 'l', NOFLSH}, {58, 'l', TOSTOP},  {59, 'l', IEXTEN}, {60, 'l', ECHOCTL}, {61, 'l', ECHOKE},
    {62, 'l', PENDIN}, {70, 'o', OPOST},   {71, 'o', OLCUC},  {72, 'o', ONLCR},   {73, 'o', OCRNL},
    {74, 'o', ONOCR},  {75, 'o', ONLRET},  {92, 'c', PARENB}, {93, 'c', PARODD},
};

static tcflag_t *word_of(struct termios *found, char word)
{
    return word == 'i'   ? &found->c_iflag
           : word == 'o' ? &found->c_oflag
           : word == 'c' ? &found->c_cflag
                         : &found->c_lflag;
}

TEST_EACH(characters_are_set_and_disabled, COUNT_OF(characters))
{
    struct termios expected = defaults();
    uint8_t index = (uint8_t)characters[_i].index;
    ck_assert(parses(characters[_i].opcode, 'x'));
    expected.c_cc[index] = 'x';
    ck_assert_mem_eq(&modes, &expected, sizeof(modes));
    ck_assert(parses(characters[_i].opcode, 255));
    expected.c_cc[index] = _POSIX_VDISABLE;
    ck_assert_mem_eq(&modes, &expected, sizeof(modes));
}

TEST_EACH(flags_are_set_and_cleared, COUNT_OF(flags))
{
    struct termios expected = defaults();
    tcflag_t *word = word_of(&expected, flags[_i].word);
    for (uint32_t value = 0; value < 3; value++) {
        ck_assert(parses(flags[_i].opcode, value));
        *word = value != 0 ? *word | flags[_i].flag : *word & ~flags[_i].flag;
        ck_assert_mem_eq(&modes, &expected, sizeof(modes));
    }
}

/* One off while all others are on: each clears its own bit and no other. */
TEST_EACH(each_flag_is_cleared_alone, COUNT_OF(flags))
{
    static uint8_t part[WIRE_ROOM];
    struct termios expected = defaults();
    size_t count = 0;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        *word_of(&expected, flags[i].word) |= flags[i].flag;
        size_t added = wire_pack(part, "bu", flags[i].opcode, 1);
        memcpy(encoded + count, part, added);
        count += added;
    }
    size_t last = wire_pack(part, "bub", flags[_i].opcode, 0, 0);
    memcpy(encoded + count, part, last);
    *word_of(&expected, flags[_i].word) &= ~flags[_i].flag;
    struct reader reader = reader_over(encoded, count + last);
    ck_assert(tty_modes_read(&reader, &modes));
    ck_assert_mem_eq(&modes, &expected, sizeof(modes));
}

static bool is_known(int opcode)
{
    bool found = opcode == 90 || opcode == 91 || opcode == 128 || opcode == 129;
    for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
        found = found || characters[i].opcode == opcode;
    }
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        found = found || flags[i].opcode == opcode;
    }
    return found;
}

/* Opcodes that only other systems know are skipped, with their arguments. */
TEST(unknown_opcodes_are_skipped)
{
    struct termios expected = defaults();
    expected.c_cc[VINTR] = 'y';
    for (uint8_t opcode = 1; opcode < 160; opcode++) {
        if (!is_known(opcode)) {
            size_t count = wire_pack(encoded, "bububu", opcode, 1, opcode, 0, 1, 'y');
            struct reader reader = reader_over(encoded, count);
            ck_assert(tty_modes_read(&reader, &modes));
            ck_assert_mem_eq(&modes, &expected, sizeof(modes));
        }
    }
}

TEST(undefined_opcodes_and_the_end_stop)
{
    struct termios expected = defaults();
    for (int opcode = 159; opcode < 257; opcode++) {
        size_t count = wire_pack(encoded, "bubu", opcode == 256 ? 0 : opcode, 0x01010101, 1, 'y');
        struct reader reader = reader_over(encoded, count);
        ck_assert(tty_modes_read(&reader, &modes));
        ck_assert_int_eq(modes.c_cc[VINTR] == 'y', opcode == 159);
        expected.c_cc[VINTR] = opcode == 159 ? 'y' : 3;
        ck_assert_mem_eq(&modes, &expected, sizeof(modes));
        /* Without an argument too. */
        reader = reader_over(encoded, 1);
        ck_assert_int_eq(tty_modes_read(&reader, &modes), opcode != 159);
    }
}

TEST(a_cut_off_argument_is_malformed)
{
    for (size_t count = 0; count <= 10; count++) {
        wire_pack(encoded, "bubu", 36, 0, 200 - 64, 1);
        struct reader reader = reader_over(encoded, count);
        ck_assert_int_eq(tty_modes_read(&reader, &modes), count % 5 == 0);
    }
    struct reader failed = {.failed = true};
    (void)tty_modes_read(&failed, &modes);
}

TEST(character_sizes)
{
    ck_assert(parses(90, 1));
    ck_assert_uint_eq(modes.c_cflag & CSIZE, CS7);
    ck_assert(parses(91, 1));
    ck_assert_uint_eq(modes.c_cflag & CSIZE, CS8);
    ck_assert(parses(90, 0));
    ck_assert_uint_eq(modes.c_cflag & CSIZE, CS8);
    ck_assert(parses(91, 0));
    ck_assert_uint_eq(modes.c_cflag & CSIZE, CS8);
    /* As the stock client sends them: one is on, the other off, in this order. */
    size_t count = wire_pack(encoded, "bubub", 90, 1, 91, 0, 0);
    struct reader reader = reader_over(encoded, count);
    ck_assert(tty_modes_read(&reader, &modes));
    ck_assert_uint_eq(modes.c_cflag & CSIZE, CS7);
}

static const struct {
    uint32_t baud;
    speed_t code;
} speeds[] = {
    {0, B0},
    {49, B0},
    {50, B50},
    {110, B110},
    {1200, B1200},
    {9600, B9600},
    {9601, B9600},
    {19199, B9600},
    {19200, B19200},
    {38400, B38400},
    {57600, B57600},
    {115200, B115200},
    {921600, B921600},
    {1000000, B1000000},
    {3999999, B1000000},
    {4000000, B4000000},
    {0xffffffff, B4000000},
};

TEST_EACH(line_speeds, COUNT_OF(speeds))
{
    ck_assert(parses(129, speeds[_i].baud));
    ck_assert_uint_eq(cfgetospeed(&modes), speeds[_i].code);
    size_t count = wire_pack(encoded, "bubub", 128, speeds[_i].baud, 129, speeds[_i].baud, 0);
    struct reader reader = reader_over(encoded, count);
    ck_assert(tty_modes_read(&reader, &modes));
    ck_assert_uint_eq(cfgetospeed(&modes), speeds[_i].code);
    if (speeds[_i].baud >= 50) {
        ck_assert_uint_eq(cfgetispeed(&modes), speeds[_i].code);
    }
}
