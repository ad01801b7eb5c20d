#include "tty_modes.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define OP_END         0
#define OP_ISPEED      128
#define OP_OSPEED      129
#define OP_FIRST_UNDEF 160

/* 255 stands for no character. */
#define CHARACTER_NONE 255

/* RFC 4254 section 8, without VDSUSP, VFLUSH, VSWTCH and VSTATUS, which Linux lacks. */
static const struct character {
    uint8_t opcode;
    uint8_t index;
} characters[] = {
    {1, VINTR},     {2, VQUIT},    {3, VERASE},  {4, VKILL},  {5, VEOF},
    {6, VEOL},      {7, VEOL2},    {8, VSTART},  {9, VSTOP},  {10, VSUSP},
    {12, VREPRINT}, {13, VWERASE}, {14, VLNEXT}, {16, VSWTC}, {18, VDISCARD},
};

/* Where struct termios holds a flag. */
enum word {
    INPUT = offsetof(struct termios, c_iflag),
    OUTPUT = offsetof(struct termios, c_oflag),
    CONTROL = offsetof(struct termios, c_cflag),
    LOCAL = offsetof(struct termios, c_lflag),
};

static const struct flag {
    uint8_t opcode;
    uint8_t word;
    tcflag_t mask;
    tcflag_t bits;
} flags[] = {
    {30, INPUT, IGNPAR, IGNPAR}, {31, INPUT, PARMRK, PARMRK},   {32, INPUT, INPCK, INPCK},
    {33, INPUT, ISTRIP, ISTRIP}, {34, INPUT, INLCR, INLCR},     {35, INPUT, IGNCR, IGNCR},
    {36, INPUT, ICRNL, ICRNL},   {37, INPUT, IUCLC, IUCLC},     {38, INPUT, IXON, IXON},
    {39, INPUT, IXANY, IXANY},   {40, INPUT, IXOFF, IXOFF},     {41, INPUT, IMAXBEL, IMAXBEL},
    {42, INPUT, IUTF8, IUTF8},   {50, LOCAL, ISIG, ISIG},       {51, LOCAL, ICANON, ICANON},
    {52, LOCAL, XCASE, XCASE},   {53, LOCAL, ECHO, ECHO},       {54, LOCAL, ECHOE, ECHOE},
    {55, LOCAL, ECHOK, ECHOK},   {56, LOCAL, ECHONL, ECHONL},   {57, LOCAL, NOFLSH, NOFLSH},
    {58, LOCAL, TOSTOP, TOSTOP}, {59, LOCAL, IEXTEN, IEXTEN},   {60, LOCAL, ECHOCTL, ECHOCTL},
    {61, LOCAL, ECHOKE, ECHOKE}, {62, LOCAL, PENDIN, PENDIN},   {70, OUTPUT, OPOST, OPOST},
    {71, OUTPUT, OLCUC, OLCUC},  {72, OUTPUT, ONLCR, ONLCR},    {73, OUTPUT, OCRNL, OCRNL},
    {74, OUTPUT, ONOCR, ONOCR},  {75, OUTPUT, ONLRET, ONLRET},  {90, CONTROL, CSIZE, CS7},
    {91, CONTROL, CSIZE, CS8},   {92, CONTROL, PARENB, PARENB}, {93, CONTROL, PARODD, PARODD},
};

static const struct speed {
    uint32_t baud;
    speed_t code;
} speeds[] = {
    {0, B0},           {50, B50},           {75, B75},           {110, B110},
    {134, B134},       {150, B150},         {200, B200},         {300, B300},
    {600, B600},       {1200, B1200},       {1800, B1800},       {2400, B2400},
    {4800, B4800},     {9600, B9600},       {19200, B19200},     {38400, B38400},
    {57600, B57600},   {115200, B115200},   {230400, B230400},   {460800, B460800},
    {921600, B921600}, {1000000, B1000000}, {4000000, B4000000},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* What a program sees that opens a new pseudo-terminal (tty_std_termios in Linux's drivers/tty). */
static void set_defaults(struct termios *modes)
{
    memset(modes, 0, sizeof(*modes));
    modes->c_iflag = ICRNL | IXON;
    modes->c_oflag = OPOST | ONLCR;
    modes->c_cflag = B38400 | CS8 | CREAD | HUPCL;
    modes->c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
    modes->c_cc[VINTR] = 003;
    modes->c_cc[VQUIT] = 034;
    modes->c_cc[VERASE] = 0177;
    modes->c_cc[VKILL] = 025;
    modes->c_cc[VEOF] = 004;
    modes->c_cc[VMIN] = 1;
    modes->c_cc[VSTART] = 021;
    modes->c_cc[VSTOP] = 023;
    modes->c_cc[VSUSP] = 032;
    modes->c_cc[VREPRINT] = 022;
    modes->c_cc[VDISCARD] = 017;
    modes->c_cc[VWERASE] = 027;
    modes->c_cc[VLNEXT] = 026;
    cfsetispeed(modes, B38400);
    cfsetospeed(modes, B38400);
}

static void set_flag(struct termios *modes, const struct flag *flag, bool on)
{
    tcflag_t *word = (tcflag_t *)(void *)((uint8_t *)modes + flag->word);
    if (on) {
        *word = (*word & ~flag->mask) | flag->bits;
    } else if (flag->mask != CSIZE) {
        /* Only an opcode that is on sets the character size. */
        *word &= ~flag->mask;
    }
}

static speed_t speed_code(uint32_t baud)
{
    /* The fastest of Linux's speeds that is not above the client's. */
    speed_t code = B0;
    for (size_t i = 0; i < COUNT(speeds) && speeds[i].baud <= baud; i++) {
        code = speeds[i].code;
    }
    return code;
}

static void apply_mode(struct termios *modes, uint8_t opcode, uint32_t value)
{
    for (size_t i = 0; i < COUNT(characters); i++) {
        if (characters[i].opcode == opcode) {
            modes->c_cc[characters[i].index] =
                value == CHARACTER_NONE ? _POSIX_VDISABLE : (cc_t)value;
        }
    }
    for (size_t i = 0; i < COUNT(flags); i++) {
        if (flags[i].opcode == opcode) {
            set_flag(modes, &flags[i], value != 0);
        }
    }
    if (opcode == OP_ISPEED) {
        cfsetispeed(modes, speed_code(value));
    } else if (opcode == OP_OSPEED) {
        cfsetospeed(modes, speed_code(value));
    }
}

bool tty_modes_read(struct reader *encoded, struct termios *modes)
{
    set_defaults(modes);
    while (encoded->left > 0) {
        uint8_t opcode = reader_u8(encoded);
        if (opcode == OP_END || opcode >= OP_FIRST_UNDEF) {
            break;
        }
        uint32_t value = reader_u32(encoded);
        if (encoded->failed) {
            return false;
        }
        apply_mode(modes, opcode, value);
    }
    return true;
}
