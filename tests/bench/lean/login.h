/*
 * The login with an ed25519 key (RFC 4252, RFC 8709): at once, or politely in the stock client's
 * steps.
 */
#ifndef LEAN_LOGIN_H
#define LEAN_LOGIN_H

#include <stdbool.h>

struct client;
struct reader;

struct login {
    bool service;    /* SERVICE_ACCEPT is in */
    bool expect_no;  /* `none` was asked: FAILURE is the answer */
    bool acceptable; /* PK_OK is in */
    bool done;
};

/*
 * Asks for the service and for the login. Returns with the signed request on its way; a polite
 * client returns when it is granted. The caller may send what is to be done next: the server
 * handles it in order. A refusal fails.
 */
void login_ask(struct client *client);

/* Handlers. */
void login_on_service_accept(struct client *client, struct reader *message);
void login_on_failure(struct client *client, struct reader *message);
void login_on_pk_ok(struct client *client, struct reader *message);
void login_on_success(struct client *client, struct reader *message);

#endif
