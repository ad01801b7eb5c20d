#include "channel_streams.h"

#define OP_END         0
#define OP_FLAGS       30
#define OP_CS7         90
#define OP_CS8         91
#define OP_ISPEED      128
#define OP_OSPEED      129
#define OP_FIRST_UNDEF 160

/* 255 stands for no character. */
#define CHARACTER_NONE 255

/* RFC 4254 section 8, without VDSUSP, VFLUSH, VSWTCH and VSTATUS, which Linux lacks. */
static const struct character {
    uint8_t opcode;
    uint8_t index;
    uint8_t initial;
} characters[] = {
    {1, VINTR, 003},   {2, VQUIT, 034},  {3, VERASE, 0177},   {4, VKILL, 025},
    {5, VEOF, 004},    {6, VEOL, 0},     {7, VEOL2, 0},       {8, VSTART, 021},
    {9, VSTOP, 023},   {10, VSUSP, 032}, {12, VREPRINT, 022}, {13, VWERASE, 027},
    {14, VLNEXT, 026}, {16, VSWTC, 0},   {18, VDISCARD, 017},
};

/* The flags of the opcodes from 30, 50, 70 and 90 on: of input, local modes, output and control. */
#define FLAG_ROW_OPCODES 20
static const tcflag_t flags[4][13] = {
    {IGNPAR, PARMRK, INPCK, ISTRIP, INLCR, IGNCR, ICRNL, IUCLC, IXON, IXANY, IXOFF, IMAXBEL, IUTF8},
    {ISIG, ICANON, XCASE, ECHO, ECHOE, ECHOK, ECHONL, NOFLSH, TOSTOP, IEXTEN, ECHOCTL, ECHOKE,
     PENDIN},
    {OPOST, OLCUC, ONLCR, OCRNL, ONOCR, ONLRET},
    {CS7, CS8, PARENB, PARODD},
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

/* Those of a new pseudo-terminal (unix98_pty_init() in Linux's drivers/tty/pty.c). */
static const struct termios initial = {
    .c_iflag = ICRNL | IXON,
    .c_oflag = OPOST | ONLCR,
    .c_cflag = B38400 | CS8 | CREAD,
    .c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
    .c_cc = {[VMIN] = 1},
};

static void set_initial(struct termios *modes)
{
    *modes = initial;
    for (size_t i = 0; i < COUNT(characters); i++) {
        modes->c_cc[characters[i].index] = characters[i].initial;
    }
    cfsetispeed(modes, B38400);
    cfsetospeed(modes, B38400);
}

static void set_flag(struct termios *modes, uint8_t opcode, bool on)
{
    tcflag_t *const words[] = {&modes->c_iflag, &modes->c_lflag, &modes->c_oflag, &modes->c_cflag};
    size_t row = (size_t)(opcode - OP_FLAGS) / FLAG_ROW_OPCODES;
    size_t column = (size_t)(opcode - OP_FLAGS) % FLAG_ROW_OPCODES;
    if (opcode < OP_FLAGS || row >= COUNT(flags) || column >= COUNT(flags[0])) {
        return;
    }
    /* Only an opcode that is on sets the character size. */
    bool is_size = opcode == OP_CS7 || opcode == OP_CS8;
    if (on) {
        *words[row] = (*words[row] & ~(tcflag_t)(is_size ? CSIZE : 0)) | flags[row][column];
    } else if (!is_size) {
        *words[row] &= ~flags[row][column];
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
    set_flag(modes, opcode, value != 0);
    if (opcode == OP_ISPEED) {
        cfsetispeed(modes, speed_code(value));
    } else if (opcode == OP_OSPEED) {
        cfsetospeed(modes, speed_code(value));
    }
}

bool tty_modes_read(struct reader *encoded, struct termios *modes)
{
    set_initial(modes);
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
