#include "authkeys_internal.h"

#include <stdio.h>

void authkeys_stop_reading(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    lines_stopped = 1;
}

void authkeys_set_reason(struct authkeys_verdict *verdict, enum authkeys_reason reason,
                         const char *path, uint32_t line)
{
    verdict->reason = reason == AUTHKEYS_UNREADABLE && lines_stopped ? AUTHKEYS_TOO_SLOW : reason;
    verdict->line = line;
    snprintf(verdict->path, sizeof(verdict->path), "%.*s", LIMIT_PATH_BYTES - 1, path);
}

void authkeys_refuse_by_file(struct authkeys_verdict *verdict, const struct authkeys_file *file)
{
    enum authkeys_reason reason = file->fd >= 0 ? AUTHKEYS_NOT_LISTED : file->reason;
    verdict->error = (uint32_t)file->error;
    verdict->owner = file->owner;
    verdict->mode = file->mode;
    authkeys_set_reason(verdict, reason, file->path, 0);
}

bool authkeys_note_file(struct authkeys_verdict *verdict, const struct authkeys_file *file)
{
    bool missing = file->fd < 0 && file->reason == AUTHKEYS_MISSING;
    bool better = verdict->reason == AUTHKEYS_NOT_LISTED ? !missing
                                                         : verdict->reason == AUTHKEYS_NO_REASON ||
                                                               verdict->reason == AUTHKEYS_MISSING;
    if (better) {
        authkeys_refuse_by_file(verdict, file);
    }
    return better;
}

bool authkeys_is_revoked(struct authkeys_verdict *verdict, const struct authkeys_file *file,
                         const struct revoked_offer *offer)
{
    const char *section;
    uint32_t line;
    if (file->path == NULL) {
        return false;
    }
    if (file->fd < 0) {
        authkeys_refuse_by_file(verdict, file);
        return true;
    }
    enum revoked revoked = revoked_look(file->fd, offer, &line, &section);
    if (revoked == REVOKED_NOT || revoked == REVOKED_EMPTY) {
        verdict->revoked_empty = revoked == REVOKED_EMPTY;
        return false;
    }
    authkeys_name_option(verdict->option, section, strlen(section));
    bool unreadable = revoked == REVOKED_UNREADABLE;
    enum authkeys_reason reason = AUTHKEYS_REVOKED + (revoked - REVOKED);
    verdict->error = unreadable ? (uint32_t)errno : 0;
    authkeys_set_reason(verdict, unreadable ? AUTHKEYS_UNREADABLE : reason, file->path, line);
    return true;
}

void authkeys_name_option(char out[static AUTHKEYS_OPTION_BYTES], const void *name,
                          size_t name_bytes)
{
    size_t bytes = name_bytes < AUTHKEYS_OPTION_BYTES ? name_bytes : AUTHKEYS_OPTION_BYTES - 1;
    memset(out, 0, AUTHKEYS_OPTION_BYTES);
    if (bytes > 0) {
        memcpy(out, name, bytes);
    }
}
