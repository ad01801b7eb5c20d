#include <poll.h>

#include "sftp.h"

void sftp_end(struct sftp *sftp, const char *reason)
{
    if (sftp->ended == NULL) {
        sftp->ended = reason;
        sftp->failed = true;
    }
}

bool sftp_send(struct sftp *sftp)
{
    if (!write_all(STDOUT_FILENO, sftp->answers.bytes, sftp->answers.used)) {
        sftp_end(sftp, "client has gone");
        return false;
    }
    writer_init(&sftp->answers, sftp->output, sizeof(sftp->output));
    return true;
}

bool sftp_client_has_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO};
    return poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

size_t answer_begin(struct sftp *sftp, enum sftp_type type)
{
    size_t mark = writer_string_begin(&sftp->answers);
    writer_u8(&sftp->answers, (uint8_t)type);
    writer_u32(&sftp->answers, sftp->id);
    return mark;
}

enum sftp_status answer_end(struct sftp *sftp, size_t mark)
{
    writer_string_end(&sftp->answers, mark);
    return SFTP_ANSWERED;
}

void answer_u64(struct writer *answers, uint64_t value)
{
    writer_u32(answers, (uint32_t)(value >> 32));
    writer_u32(answers, (uint32_t)value);
}

void answer_status(struct sftp *sftp, enum sftp_status status)
{
    static const char texts[SFTP_STATUSES][sizeof("Operation unsupported")] = {
        "Success",     "End of file",   "No such file",    "Permission denied",     "Failure",
        "Bad message", "No connection", "Connection lost", "Operation unsupported",
    };
    size_t mark = answer_begin(sftp, SFTP_STATUS);
    writer_u32(&sftp->answers, status);
    writer_text(&sftp->answers, texts[status]);
    writer_text(&sftp->answers, "");
    answer_end(sftp, mark);
    sftp->counts.refused += status == SFTP_PERMISSION_DENIED;
}

enum sftp_status answer_status_of(int error)
{
    switch (error) {
    case 0:
        return SFTP_OK;
    case ENOENT:
    case ENOTDIR:
    case EBADF:
    case ELOOP:
        return SFTP_NO_SUCH_FILE;
    case EPERM:
    case EACCES:
    case EFAULT:
        return SFTP_PERMISSION_DENIED;
    case ENAMETOOLONG:
    case EINVAL:
        return SFTP_BAD_MESSAGE;
    case ENOSYS:
        return SFTP_UNSUPPORTED;
    default:
        return SFTP_FAILURE;
    }
}

enum sftp_status answer_result(int result)
{
    return answer_status_of(result < 0 ? errno : 0);
}

enum sftp_status answer_name(struct sftp *sftp, int error, const char *name)
{
    if (error != 0) {
        return answer_status_of(error);
    }
    size_t mark = answer_begin(sftp, SFTP_NAME);
    writer_u32(&sftp->answers, 1);
    writer_text(&sftp->answers, name);
    writer_text(&sftp->answers, name);
    writer_u32(&sftp->answers, 0);
    return answer_end(sftp, mark);
}
