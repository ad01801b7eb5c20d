/* libssh: see test_clients.py for what a client does here. */
#include <fcntl.h>
#include <libssh/libssh.h>
#include <libssh/sftp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(ssh_session session, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, ssh_get_error(session));
    exit(255);
}

static void check_host_key(ssh_session session)
{
    ssh_key key;
    char *text;
    if (ssh_get_server_publickey(session, &key) != SSH_OK ||
        ssh_pki_export_pubkey_base64(key, &text) != SSH_OK ||
        strcmp(text, getenv("CLIENT_HOST_KEY")) != 0) {
        fail(session, "another host key");
    }
    ssh_string_free_char(text);
    ssh_key_free(key);
}

static ssh_session log_in(void)
{
    ssh_session session = ssh_new();
    ssh_key key;
    int no = 0;
    ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no);
    ssh_options_set(session, SSH_OPTIONS_HOST, "127.0.0.1");
    ssh_options_set(session, SSH_OPTIONS_PORT_STR, getenv("CLIENT_PORT"));
    ssh_options_set(session, SSH_OPTIONS_USER, getenv("CLIENT_USER"));
    if (ssh_connect(session) != SSH_OK) {
        fail(session, "connect");
    }
    check_host_key(session);
    if (ssh_pki_import_privkey_file(getenv("CLIENT_KEY"), NULL, NULL, NULL, &key) != SSH_OK ||
        ssh_userauth_publickey(session, NULL, key) != SSH_AUTH_SUCCESS) {
        fail(session, "login");
    }
    ssh_key_free(key);
    return session;
}

/* Copies a whole file, in pieces that every server takes. */
static void copy(ssh_session session, sftp_session sftp, const char *local, const char *far, int up)
{
    char piece[16384];
    FILE *near = fopen(local, up ? "rb" : "wb");
    sftp_file file = sftp_open(sftp, far, up ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0600);
    if (near == NULL || file == NULL) {
        fail(session, "open");
    }
    for (;;) {
        ssize_t count = up ? (ssize_t)fread(piece, 1, sizeof(piece), near)
                           : sftp_read(file, piece, sizeof(piece));
        if (count < 0) {
            fail(session, "read");
        }
        if (count == 0) {
            break;
        }
        ssize_t done = up ? sftp_write(file, piece, (size_t)count)
                          : (ssize_t)fwrite(piece, 1, (size_t)count, near);
        if (done != count) {
            fail(session, "write");
        }
    }
    sftp_close(file);
    fclose(near);
}

static int run_command(ssh_session session)
{
    char piece[4096];
    int count;
    ssh_channel channel = ssh_channel_new(session);
    if (ssh_channel_open_session(channel) != SSH_OK ||
        ssh_channel_request_exec(channel, getenv("CLIENT_COMMAND")) != SSH_OK) {
        fail(session, "exec");
    }
    while ((count = ssh_channel_read(channel, piece, sizeof(piece), 0)) > 0) {
        fwrite(piece, 1, (size_t)count, stdout);
    }
    int status = ssh_channel_get_exit_status(channel);
    ssh_channel_free(channel);
    return status;
}

int main(void)
{
    ssh_session session = log_in();
    sftp_session sftp = sftp_new(session);
    if (sftp == NULL || sftp_init(sftp) != SSH_OK) {
        fail(session, "sftp");
    }
    copy(session, sftp, getenv("CLIENT_UP"), getenv("CLIENT_FAR"), 1);
    copy(session, sftp, getenv("CLIENT_DOWN"), getenv("CLIENT_FAR"), 0);
    sftp_free(sftp);
    int status = run_command(session);
    ssh_disconnect(session);
    ssh_free(session);
    return status;
}
