#include "remedy.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    add_remedy(line, remedy, "", remedy[0] == 'w' ? remedy_options->keydir : path);
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
    if (outcome->account_refused) {
        add_remedy(line, texts_at(remedies_of_accounts, outcome->account.reason), "", user);
        return;
    }
    const char *remedy = texts_at(remedies_of_keys, verdict->reason);
    bool unsafe_owner = verdict->reason == AUTHKEYS_UNSAFE_OWNER;
    if (unsafe_owner || verdict->reason == AUTHKEYS_UNSAFE_MODE) {
        const struct account *account = &outcome->account.account;
        const char *found = owner_of_path(account, verdict->path);
        /* Below the home, root would follow a link with which the user has replaced a folder. */
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
