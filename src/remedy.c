#include "remedy.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

#define REMEDY(name, words, remedy) remedy "\0"

/* One string, as in text.h. */
static const char of_authkeys[] = "\0" AUTHKEYS_EACH_REASON(REMEDY);

/* For what texts begin with. After a remedy that ends with a blank comes the path or the user;
 * after wrensshd-makekey, the key directory. */
static const char others[] =
    /* Reasons of accounts: account_find.c. */
    "unknown user\0useradd \0"
    "account could\0mend /etc/shadow or the name service\0"
    "account has expired\0usermod -e '' \0"
    "account is\0log in as another user\0"
    "name is\0choose a plain name\0"
    "home directory or shell\0shorten them: usermod -d, -s\0"
    "shell is missing\0usermod -s /bin/sh \0"
    "root may not\0leave out -r\0"
    "/\0remove it\0"
    "not a member\0usermod -aG GROUP \0"
    "not the user\0\0"
    /* Of host keys: hostkey/. */
    "Permission denied\0run it as root\0"
    "not a regular file\0put a readable file there\0"
    "No such file\0\0"
    "not \0\0"
    "its two halves\0\0"
    "does not match\0wrensshd-makekey \0"
    "owned by\0chown root \0"
    "secret key is\0chmod go= \0"
    "public key is\0chmod go-w \0"
    "systemd has\0\0"
    "is not the name\0LoadCredential= in the unit\0"
    "is protected\0ssh-keygen -p -f \0"
    "does not hold\0\0"
    "is \0ssh-keygen -t ed25519\0"
    /* What failed, where a line has no path, or a host certificate's. */
    "no answer\0mend what hangs\0"
    "sandbox\0use a kernel or container that has them, or -B\0"
    "clock\0date -s\0"
    "pipe\0\0"
    "fork\0\0"
    "memory\0free some memory\0"
    "host certificate\0ssh-keygen -s CA -h\0"
    "\0see wrensshd(8)";

static const char *keys;

static void add(struct log_line *line, const char *remedy, const char *owner, const char *object)
{
    char text[LIMIT_PATH_BYTES];
    bool whole = remedy[strlen(remedy) - 1] != ' ';
    snprintf(text, sizeof(text), "%s%s%s%s", remedy, owner, owner[0] != '\0' ? " " : "",
             whole ? "" : object);
    log_text(line, "remedy", text);
}

static void add_other(struct log_line *line, const char *about, const char *object)
{
    const char *remedy = texts_find(others, about, strlen(about));
    add(line, remedy, "", remedy[0] == 'w' ? keys : object);
}

static void remedy_of_trouble(struct log_line *line, const char *what, const char *path,
                              const char *reason)
{
    bool by_what = path == NULL || strcmp(what, "host certificate") == 0;
    add_other(line, by_what ? what : reason, path);
}

void remedy_begin(const char *keydir)
{
    keys = keydir;
    log_advise(remedy_of_trouble);
}

void remedy_of_login(struct log_line *line, const char *user, const struct login_outcome *outcome)
{
    const struct authkeys_verdict *verdict = &outcome->keys;
    const char *home = outcome->account.account.home;
    const char *remedy = of_authkeys;
    const char *owner = "";
    if (outcome->account_refused) {
        add_other(line, outcome->reason, user);
        return;
    }
    for (uint32_t reason = 0; reason < verdict->reason || *remedy == '\0'; reason++) {
        remedy += strlen(remedy) + 1;
    }
    if (verdict->reason == AUTHKEYS_UNSAFE_OWNER) {
        owner = strncmp(verdict->path, home, strlen(home)) == 0 ? user : "root";
    } else if (verdict->reason == AUTHKEYS_UNSAFE_MODE && (verdict->mode & 01000) != 0) {
        remedy = "put it elsewhere";
    }
    add(line, remedy, owner, verdict->path);
}
