/*
 * Logins: a client with a listed key, our monitors, and an attacker who has taken over the network process of every
 * connection, sees and makes all that is on the wire, and has another host that the same client uses.
 *
 * Modelled: the monitor's phases and its requests, in any order. Which request it serves in which phase is read from
 * src/monitor/monitor_ipc.c. What a signature covers are numbers that are equal only if all fields are.
 *
 * Proved: who is logged in has signed this, for our host, while this connection was there; and each signature opens one
 * connection at most. Before the monitor decides about a login, the sandbox has been reported and a key exchange made; it
 * logs in once, not after the last attempt, and not if the user has as many connections as the limit. It proves its keys
 * only after the login.
 *
 * Taken for granted: signatures can't be forged, hashes of different fields differ, each connection draws another cookie
 * (before its fork: no network process chooses it), and each client draws new values for each key exchange. What the child
 * that reads keys says is true. Not modelled: certificates, -N, more connections and logins than below.
 */
#ifndef CONNECTIONS
#define CONNECTIONS 2
#endif
#ifndef MOST_RUNS
#define MOST_RUNS 2 /* how often the client logs in */
#endif
#ifndef MOST_LOGINS
#define MOST_LOGINS CONNECTIONS /* of the user, at once */
#endif
#define MOST_SIGNATURES 2
#define MOST_REFUSALS 2 /* of signatures */
#define MOST_PROBES 1   /* that are refused */

#define OURS 0
#define ELSEWHERE 1

/* H: 0 is none. `cookie` is a connection's. `values` are those of the client's run, or 0: of the attacker's own. */
#define VALUES (MOST_RUNS + 1)
#define H_OF(host, cookie, values) (1 + ((HASH_HAS_HOSTKEY -> host : 0) * CONNECTIONS + cookie) * VALUES + values)
#define HASHES (1 + 2 * CONNECTIONS * VALUES)

/* What a login signs: H, and to which host's key it is bound. */
#define PLAIN 0
#define BOUND_TO(host) (SIGNED_HAS_HOSTKEY -> 1 + host : 1)
#define DATA_OF(h, bound) ((SIGNED_HAS_SESSION_ID -> h : 0) * 3 + (bound))

/* As bits: enum monitor_phase. */
#define START 1
#define BEFORE_LOGIN 2
#define AFTER_LOGIN 4
#define OVER 8

bool host_signed[HASHES];              /* by our host key */
bool client_signed[HASHES * 3];               /* by the client */
bool for_us[HASHES * 3];               /* it wanted to log in here */
bool used[HASHES * 3];                 /* it has opened a connection */
byte connections_when_signed[HASHES * 3];

byte connections;                      /* that have begun: the attacker knows their cookies */
byte records;                          /* of logins whose connection is there */
byte runs;                             /* of the client, that have begun: the attacker knows their values */

typedef monitor_state {
    byte phase;
    byte session_id;
    byte signatures;
    byte refusals;
    byte probes;
    bool reported;
    bool logged_in;
}
monitor_state monitor[CONNECTIONS];

/* ---- the client --------------------------------------------------------------------------------------------------- */

/* It signs if it sees the host's signature of its H. Whose host key that is it knows. */
active proctype client()
{
    byte host, cookie, h, data;
end:
    do
    :: atomic {
        runs < MOST_RUNS -> runs++;
        if
        :: host = OURS
        :: host = ELSEWHERE
        fi
       }
       if
       :: atomic {
            connections > 0 -> select(cookie : 0 .. CONNECTIONS - 1);
            h = H_OF(host, cookie, runs);
            if
            :: cookie < connections && (host_signed[h] || host == ELSEWHERE) ->
                if
                :: data = DATA_OF(h, PLAIN)
                :: data = DATA_OF(h, BOUND_TO(host))
                fi;
                if
                :: host == OURS -> printf("@ the client signs for our host, with the cookie of connection %d\n", cookie)
                :: else -> printf("@ the client signs for another host\n")
                fi;
                client_signed[data] = true;
                for_us[data] = host == OURS;
                connections_when_signed[data] = connections
            :: else
            fi;
            cookie = 0; h = 0; data = 0
          }
       :: true /* it gives up */
       fi
    od
}

/* ---- the monitor: src/monitor ------------------------------------------------------------------------------------- */

#define ALLOWED(phases) ((phases) & monitor[c].phase)

/* The record of its login ends with it. */
inline end_connection() {
    if
    :: monitor[c].phase == AFTER_LOGIN -> records--
    :: else
    fi;
    monitor[c].phase = OVER
}

inline on_start() {
    if
    :: ALLOWED(START_PHASES) -> monitor[c].phase = BEFORE_LOGIN; monitor[c].reported = true
    :: else -> end_connection()
    fi
}

inline on_sign() {
    if
    :: !ALLOWED(SIGN_PHASES) -> end_connection()
    :: else ->
        must(IN_ORDER, monitor[c].reported);
        monitor[c].signatures++;
        if
        :: CHECKS_COOKIE && monitor[c].session_id == 0 && cookie != c -> end_connection()
        :: else ->
            printf("@ monitor %d signs H with the cookie of connection %d and the values %d\n", c, cookie, values);
            h = H_OF(OURS, cookie, values);
            host_signed[h] = true;
            if
            :: monitor[c].session_id == 0 || !KEEPS_FIRST_HASH -> monitor[c].session_id = h
            :: else
            fi
        fi
    fi
}

inline on_prove() {
    if
    :: ALLOWED(PROVE_PHASES) -> must(PROVES_LATE, monitor[c].logged_in && monitor[c].session_id != 0)
    :: else -> end_connection()
    fi
}

inline refuse() {
    monitor[c].refusals++
}

inline on_auth() {
    if
    :: !ALLOWED(AUTH_PHASES) || (WANTS_SESSION_ID && monitor[c].session_id == 0) ||
        (COUNTS_ATTEMPTS && (monitor[c].refusals >= MOST_REFUSALS || monitor[c].probes >= MOST_PROBES)) ->
        end_connection()
    :: else ->
        must(IN_ORDER, monitor[c].reported && monitor[c].session_id != 0);
        must(IN_FEW_ATTEMPTS, monitor[c].refusals < MOST_REFUSALS && monitor[c].probes < MOST_PROBES);
        data = DATA_OF(monitor[c].session_id, bound);
        if
        :: true -> refuse() /* another key, no signature */
        :: true -> monitor[c].probes++ /* a probe with another key */
        :: (client_signed[data] || !VERIFIES_SIGNATURE) && (!COUNTS_LOGIN || records < MOST_LOGINS) -> log_in()
        fi
    fi
}

inline log_in() {
    printf("@ monitor %d logs in\n", c);
    must(SIGNED, client_signed[data]);
    must(SIGNED_FOR_US, for_us[data]);
    must(SIGNED_NOW, connections_when_signed[data] > c);
    must(SIGNED_FOR_ONE, !used[data]);
    must(LOGS_IN_ONCE, !monitor[c].logged_in);
    must(WITHIN_LIMIT, records < MOST_LOGINS);
    records++;
    used[data] = true;
    monitor[c].logged_in = true;
    monitor[c].phase = AFTER_LOGIN;
    reached(REACHES_LOGIN)
}

/* ---- the attacker, as all network processes ----------------------------------------------------------------------- */

active proctype attacker()
{
    byte c, cookie, values, bound, h, data;
end:
    do
    :: atomic {
        connections < CONNECTIONS -> monitor[connections].phase = START;
        connections++;
        printf("@ connection %d begins\n", connections - 1)
       }
    :: atomic {
        connections > 0 -> select(c : 0 .. CONNECTIONS - 1);
        if
        :: c < connections && monitor[c].phase != OVER ->
            if
            :: true -> on_start()
            :: monitor[c].signatures < MOST_SIGNATURES ->
                select(cookie : 0 .. CONNECTIONS - 1);
                select(values : 0 .. MOST_RUNS);
                if
                :: cookie < connections && values <= runs -> on_sign()
                :: else
                fi
            :: true -> on_prove()
            :: bound = PLAIN; on_auth()
            :: bound = BOUND_TO(OURS); on_auth()
            :: end_connection() /* END, or the connection breaks */
            fi
        :: else
        fi;
        c = 0; cookie = 0; values = 0; bound = 0; h = 0; data = 0
       }
    od
}
