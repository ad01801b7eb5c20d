/*
 * The processes of one connection, from the fork to their end, and its slot among the connections before their login.
 *
 * Modelled: the monitor's loop and its waits (src/monitor/monitor.c), the child that reads keys (authkeys_ask.c), the
 * network process with its requests (src/net/ask.c), the session process, what each does when another ends, and time. At
 * any moment the client may leave, a launcher may end the connection, a new connection may need the slot, and somebody may
 * kill the monitor or the session process.
 *
 * The network process may be an attacker's: then it sends MOST_REQUESTS requests in any order, leaves its replies unread,
 * closes the session process's socket, or does nothing for ever. The child may hang on a dead file system, and the session
 * process, too.
 *
 * Proved: no process waits for ever for another. When the client has left, or the launcher asks, or the monitor ends for
 * whatever reason, all processes end; without a login they end, too. The slot is free after the login, after an eviction,
 * and at the end. After the login the connection has a record, which is free at the end.
 *
 * Taken for granted: each process goes on if it can, and time passes. Not modelled: requests without end, the alarm that
 * kills a monitor which hangs before the login, -i, the longest life, programs of the user, the penalties of sources.
 */

#ifndef MOST_REQUESTS
#define MOST_REQUESTS 3
#endif

/* As bits: enum monitor_phase. */
#define START 1
#define BEFORE_LOGIN 2
#define AFTER_LOGIN 4
#define OVER 8

mtype = { r_start, r_sign, r_probe, r_auth, r_note, r_end };
#define PHASES_OF(request) (request == r_start -> START_PHASES : (request == r_sign -> SIGN_PHASES : \
    (request == r_probe || request == r_auth -> AUTH_PHASES : (request == r_note -> NOTE_PHASES : END_PHASES))))

chan requests = [1] of { mtype };
chan replies = [1] of { bool };        /* whether the login has succeeded */

byte phase = START;
bool slot = true;                     /* held: admission_enter() is before the fork */
bool record;                           /* of the login: counts for its user until the monitor has ended */
bool logged_in;

byte asked;                            /* requests of the network process */

bool client_gone, ended_by_launcher, evicted;
bool monitor_killed, network_killed;
bool monitor_over, network_over, session_runs, session_closed;
bool reader_runs;                      /* the child that reads keys */
bool shut_down;                        /* the network process reads the end of file from the monitor */

/* Time that has passed: of the login; after the client has left; for the network process to end; for the session. */
bool login_late, gone_late, exit_late, session_late;
bool saw_gone, awaits_exit, awaits_session;

#define ALL_OVER (monitor_over && network_over && !session_runs && !reader_runs && !slot && !record)

/* ---- time, and what happens from outside -------------------------------------------------------------------------- */

active proctype time_and_world()
{
    bool done;
end:
    do
    :: !login_late && !logged_in && !monitor_over -> login_late = true
    :: saw_gone && !gone_late -> gone_late = true
    :: awaits_exit && !exit_late -> exit_late = true
    :: awaits_session && !session_late -> session_late = true
    :: !client_gone && !monitor_over -> printf("@ the client leaves\n"); client_gone = true
    :: !done && phase != OVER -> printf("@ the launcher ends the connection\n"); ended_by_launcher = true; done = true
    :: !done && slot && phase != OVER -> printf("@ a new connection needs the slot\n"); evicted = true; done = true
    :: !done && !monitor_over -> printf("@ somebody kills the monitor\n"); monitor_killed = true; done = true
    :: break /* nothing more from outside; time goes on */
    od;
    done = true;
end_of_world:
    do
    :: !login_late && !logged_in && !monitor_over -> login_late = true
    :: saw_gone && !gone_late -> gone_late = true
    :: awaits_exit && !exit_late -> exit_late = true
    :: awaits_session && !session_late -> session_late = true
    od
}

/* ---- the monitor -------------------------------------------------------------------------------------------------- */

#define IS_LATE ((phase != AFTER_LOGIN && login_late && LOOKS_AT_DEADLINE) || (saw_gone && gone_late))
#define SEES_END (client_gone && !saw_gone && WATCHES_CONNECTION)
#define SESSION_ENDED (logged_in && !session_runs)

inline fail_connection() { phase = OVER; network_killed = true }

/* ipc_serve(): never waits for the network process. */
inline reply(value) {
    if
    :: nfull(replies) -> replies!value
    :: full(replies) && NEVER_WAITS -> fail_connection()
    :: full(replies) && !NEVER_WAITS -> replies!value
    fi
}

/* authkeys_ask(), with the child, then wait_for_refusal(). */
inline decide() {
    reader_runs = true;
    if
    :: accepted = true
    :: accepted = false
    :: true -> printf("@ the child that reads keys hangs\n");
        (login_late && READER_HAS_DEADLINE) || network_over || ended_by_launcher;
        accepted = false
    fi;
    reader_runs = false
}

inline log_in() {
    if
    :: COUNTS_LOGIN -> record = true
    :: else
    fi;
    if
    :: GIVES_BACK_SLOT -> slot = false
    :: else
    fi;
    printf("@ the monitor logs in\n");
    session_runs = true;
    logged_in = true;
    phase = AFTER_LOGIN;
    run session();
    reached(REACHES_SESSION)
}

inline serve() {
    requests?request;
    if
    :: !(PHASES_OF(request) & phase) -> fail_connection()
    :: else ->
        if
        :: request == r_start -> phase = BEFORE_LOGIN; reply(false)
        :: request == r_sign || request == r_note -> reply(false)
        :: request == r_probe -> decide(); reply(false)
        :: request == r_auth ->
            decide();
            if
            :: accepted -> log_in()
            :: COUNTS_LOGIN && accepted -> accepted = false /* too many connections of this user */
            :: else
            fi;
            reply(accepted)
        :: request == r_end -> phase = OVER
        fi
    fi;
    request = 0; accepted = false
}

active proctype monitor()
{
    mtype request;
    bool accepted;
    {
        do
        :: phase == OVER -> break
        :: phase != OVER ->
            must(SLOT_IS_FREE, phase != AFTER_LOGIN || !slot);
            must(LOGIN_COUNTS, phase != AFTER_LOGIN || record);
            /* poll() */
            atomic { nempty(requests) || network_over || SESSION_ENDED || ended_by_launcher || evicted || SEES_END || IS_LATE;
            if
            :: IS_LATE -> fail_connection()
            :: !IS_LATE ->
                if
                :: nempty(requests) -> serve()
                :: else
                fi;
                if
                :: evicted && phase == AFTER_LOGIN -> evicted = false /* it has no slot any more */
                :: evicted && phase == BEFORE_LOGIN -> fail_connection()
                :: ended_by_launcher || (evicted && phase == START) -> phase = OVER; shut_down = true
                :: else
                fi;
                if
                :: SESSION_ENDED || network_over -> phase = OVER
                :: SEES_END -> saw_gone = true
                :: else
                fi
            fi }
        od;
        /* await_exit() */
        awaits_exit = true;
        if
        :: network_over
        :: exit_late && KILLS_NETWORK -> network_killed = true; network_over
        :: exit_late && !KILLS_NETWORK /* it gives up */
        fi;
        awaits_session = true;
        if
        :: !session_runs
        :: session_late
        fi
    } unless { monitor_killed };
    atomic { slot = false; record = false; reader_runs = false; monitor_over = true } /* the kernel gives up the lock */
}

/* ---- the network process: src/net --------------------------------------------------------------------------------- */

#define MONITOR_CLOSED (monitor_over || shut_down)
#define MAY_LEAVE (client_gone || MONITOR_CLOSED || (logged_in && !session_runs) || (login_late && !is_in))

inline ask(request) {
    if
    :: atomic { requests!request ->
        asked++;
        if
        :: replies?got
        :: MONITOR_CLOSED || client_gone -> break
        fi }
    :: MONITOR_CLOSED -> break
    fi
}

inline send(request) {
    atomic { requests!request; asked++; printf("@ the network process sends %e\n", request) }
}

active proctype network()
{
    bool got, is_in;
    {
        if
        :: TAKEN_OVER -> goto taken_over
        :: !TAKEN_OVER
        fi;
        do
        :: ask(r_start); break
        od;
        do
        :: MAY_LEAVE -> break
        :: !MAY_LEAVE && !is_in && asked < MOST_REQUESTS -> ask(r_sign)
        :: !MAY_LEAVE && !is_in && asked < MOST_REQUESTS -> ask(r_probe)
        :: !MAY_LEAVE && !is_in && asked < MOST_REQUESTS -> ask(r_auth); is_in = got
        od;
        if
        :: requests!r_end
        :: monitor_over
        fi;
        goto exit;

taken_over:
        do
        :: asked < MOST_REQUESTS -> send(r_start)
        :: asked < MOST_REQUESTS -> send(r_sign)
        :: asked < MOST_REQUESTS -> send(r_probe)
        :: asked < MOST_REQUESTS -> send(r_auth)
        :: asked < MOST_REQUESTS -> send(r_note)
        :: asked < MOST_REQUESTS -> send(r_end)
        :: replies?got
        :: session_runs && !session_closed -> printf("@ the network process closes the session process's socket\n"); session_closed = true
        :: true -> break /* it exits */
        :: true -> printf("@ the network process does nothing any more\n"); network_killed
        od;
exit:
        skip
    } unless { network_killed || (monitor_over && NETWORK_ENDS_WITH_MONITOR) };
    network_over = true
}

/* ---- the session process: src/session ----------------------------------------------------------------------------- */

proctype session()
{
    {
        if
        :: network_over || session_closed
        :: true /* the user kills it */
        :: true -> printf("@ the session process hangs\n"); false
        fi
    } unless { monitor_over && SESSION_ENDS_WITH_MONITOR };
    session_runs = false
}

/* When nothing more can happen, all is over, or somebody is logged in and idle. No run is endless, so each comes here. */
active proctype watch()
{
    timeout -> must(ALL_END, ALL_OVER || (phase == AFTER_LOGIN && !client_gone && !ended_by_launcher && !monitor_over))
}
