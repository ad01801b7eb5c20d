#include "remedy.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* What an administrator can do about each reason: the last field of its line. */

#define REMEDY(name, words, remedy) remedy "\0"

static const char remedies_of_keys[] = "\0" AUTHKEYS_EACH_REASON(REMEDY);
static const char remedies_of_accounts[] = "\0" ACCOUNT_EACH_REASON(REMEDY);

const struct options *remedy_options;

/* The characters that are not special to a shell. The end of another string, so that the linker
 * keeps one. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@+,%="

/* Appends a word for a shell: users choose names, and an administrator types the remedy. NAME
 * replaces a word that the log would escape or cut. */
static void append_word(char text[static LOG_VALUE_BYTES + 1], const char *word)
{
    size_t used = strlen(text);
    size_t room = LOG_VALUE_BYTES + 1 - used;
    const char *quote = word[strspn(word, PLAIN)] == '\0' ? "" : "'";
    bool typable = word[strspn(word, " !#$&()*;<>?[]^`{|}~" PLAIN)] == '\0';
    if (!typable || (size_t)snprintf(text + used, room, "%s%s%s", quote, word, quote) >= room) {
        snprintf(text + used, room, "NAME");
    }
}

static void add_remedy(struct log_line *line, const char *remedy, const char *owner,
                       const char *object)
{
    char text[LOG_VALUE_BYTES + 1];
    snprintf(text, sizeof(text), "%s", remedy);
    if (owner[0] != '\0') {
        append_word(text, owner);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " ");
    }
    if (object != NULL && remedy[strlen(remedy) - 1] == ' ') {
        append_word(text, object);
    }
    log_text(line, "remedy", text);
}

/* For a host key or a part of the system. wrensshd-makekey needs the key directory. */
void remedy_of_trouble(struct log_line *line, const char *path, const char *remedy)
{
    remedy = remedy != NULL ? remedy : "see wrensshd(8)";
    add_remedy(line, remedy, "",
               strncmp(remedy, "wrensshd-", 9) == 0 ? remedy_options->keydir : path);
}

/* True for the directory itself, too. */
static bool is_at_or_below(const char *path, const char *directory)
{
    size_t bytes = strlen(directory);
    bytes -= bytes > 0 && directory[bytes - 1] == '/';
    return strncmp(path, directory, bytes) == 0 && (path[bytes] == '/' || path[bytes] == '\0');
}

static bool is_in_home(const char *path, const struct account *account)
{
    char home[PATH_MAX];
    return account->home[1] != '\0' &&
           (is_at_or_below(path, account->home) ||
            (realpath(account->home, home) != NULL && is_at_or_below(path, home)));
}

/* Who should own the path at fault: root for paths of the administrator's flags, the user in the
 * home. NULL for any other path, to which a link of the user's leads. */
static const char *owner_of_path(const struct account *account, const char *path)
{
    char file[LIMIT_PATH_BYTES];
    const char *const credentials = getenv("CREDENTIALS_DIRECTORY");
    const char *const named[] = {remedy_options->authorities, remedy_options->revoked};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (named[i] != NULL && is_at_or_below(named[i], path)) {
            return "root";
        }
    }
    for (size_t i = 0; i == 0 || remedy_options->authkeys[i - 1] != NULL; i++) {
        if (authkeys_expand(file, remedy_options->authkeys[i], account) &&
            !is_in_home(file, account) && is_at_or_below(file, path)) {
            return "root";
        }
    }
    if (credentials != NULL && is_at_or_below(path, credentials)) {
        return "root";
    }
    return is_in_home(path, account) ? account->user : NULL;
}

void remedy_of_login(struct log_line *line, const char *user, const struct login_outcome *outcome)
{
    const struct authkeys_verdict *verdict = &outcome->keys;
    const char *owner = "";
    if (outcome->refused_before_keys) {
        add_remedy(line, texts_at(remedies_of_accounts, outcome->account.reason), "", user);
        return;
    }
    const char *remedy = texts_at(remedies_of_keys, verdict->reason);
    bool unsafe_owner = verdict->reason == AUTHKEYS_UNSAFE_OWNER;
    if (unsafe_owner || verdict->reason == AUTHKEYS_UNSAFE_MODE) {
        const struct account *account = &outcome->account.account;
        const char *found = owner_of_path(account, verdict->path);
        /* No command of root's changes what is below a home: by a link the user could make it
         * change, or give away, any other file. */
        bool below = found == account->user && !is_at_or_below(account->home, verdict->path);
        owner = unsafe_owner && found != NULL && !below ? found : "";
        remedy = found == NULL           ? "remove the link that leads there"
                 : unsafe_owner && below ? "the user can move it away and make it anew"
                 : !unsafe_owner && (verdict->mode & 01000) != 0 ? "put it elsewhere"
                 : !unsafe_owner && (verdict->mode & 022) == 0   ? "chmod go= " /* a credential */
                                                                 : remedy;
    }
    bool of_user = verdict->reason == AUTHKEYS_NO_SHELL;
    add_remedy(line, remedy, owner, of_user ? user : verdict->path);
}

/* ---- the folder of -j ------------------------------------------------------------------------ */

/* The folder that a command confines our SFTP server to, or NULL. Changes the command. */
static const char *find_jail(char *command)
{
    const char *jail = NULL;
    char *word;
    strtok_r(command, " \t", &command); /* internal-sftp */
    while ((word = strtok_r(NULL, " \t", &command)) != NULL && word[0] == '-') {
        const char *letter = word + 1 + strcspn(word + 1, "djupPlf"); /* those with a value */
        if (*letter != '\0') {
            const char *value = letter[1] != '\0' ? letter + 1 : strtok_r(NULL, " \t", &command);
            jail = *letter == 'j' ? value : jail;
        }
    }
    return jail;
}

/* A file server that does not answer is not waited for. */
#define FOLDER_SECONDS 10

/* As the user, in a child: root can enter folders that the user can't, and not those of a user on a
 * file server that trusts no root. FUSE asks for the real and the saved uid, too. Returns 0 or the
 * errno. */
static int try_folder(const char *path, const struct authkeys_account *found)
{
    const uid_t uid = found->account.uid;
    const gid_t gid = found->account.gid;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(FOLDER_SECONDS);
        bool is_user =
            geteuid() != 0 || (account_take_rights(found) && confine_set_gids(gid, gid, gid) == 0 &&
                               confine_set_uids(uid, uid, uid) == 0);
        _exit(is_user && chdir(path) == 0 ? 0 : errno);
    }
    if (child < 0) {
        return errno;
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : ETIMEDOUT;
}

static void check_jail(const char *command, const struct authkeys_account *found)
{
    const struct account *account = &found->account;
    char words[LIMIT_FORCED_COMMAND_BYTES];
    char path[LIMIT_PATH_BYTES];
    char pattern[LIMIT_PATH_BYTES];
    snprintf(words, sizeof(words), "%.*s", LIMIT_FORCED_COMMAND_BYTES - 1, command);
    const char *jail = grant_is_sftp(words) ? find_jail(words) : NULL;
    if (jail == NULL) {
        return;
    }
    snprintf(pattern, sizeof(pattern), "%s%s", strchr("/%", jail[0]) != NULL ? "" : "%h/", jail);
    const char *wrong =
        expand_path(path, sizeof(path), pattern, account->user, account->home, true);
    int error = wrong == NULL ? try_folder(path, found) : 0;
    if (wrong != NULL || error != 0) {
        log_advised("folder of -j", path, wrong != NULL ? wrong : strerror(error),
                    error == EACCES             ? "the user must be able to enter it"
                    : is_in_home(path, account) ? "the user can make it"
                                                : "mkdir -p ");
    }
}

void remedy_of_jails(const struct authkeys_account *found)
{
    const struct options *options = remedy_options;
    if (options->forced_command != NULL) {
        check_jail(options->forced_command, found);
        return;
    }
    for (size_t i = 0; i < options->subsystem_count; i++) {
        check_jail(options->subsystems[i].command, found);
    }
}
