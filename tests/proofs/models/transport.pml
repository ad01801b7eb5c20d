/*
 * The transport layer (RFC 4253) between our server and a client, with an attacker on the wire.
 *
 * Modelled: the order of messages from the first KEXINIT to the login, one later key exchange that either side begins, or
 * both at once, the client's wrong guess, sequence numbers, strict key exchange, what is held back during a key exchange.
 * Which message the server takes in which phase is read from src/net/dispatch.c.
 *
 * The attacker drops, delays, reorders and replays packets, changes both flags of either KEXINIT, and makes up IGNORE,
 * EXT_INFO, KEX_ECDH_INIT and NEWKEYS, MOST_ACTS times in all. Under keys a packet is taken with the right key and sequence
 * number alone.
 *
 * Proved: each packet that is taken under keys is the next that the other side has sent under them, so none is missing (as
 * in the attack Terrapin: CVE-2023-48795). This holds in both directions if the client offers strict key exchange, and
 * towards the server with any client, as our first key exchange is strict with all of them. The client goes on only if
 * both saw the same offers. The server sends nothing but key exchange between its KEXINIT and its NEWKEYS. Both always
 * come to an end.
 *
 * Taken for granted: nobody else makes the host's signature of this H, or a packet under these keys. Not modelled: secrecy
 * (secrecy.vp), lengths, channels, other algorithms, a sequence number that wraps round, more acts of the attacker.
 */
#ifndef MOST_ACTS
#define MOST_ACTS 2 /* as many as Terrapin takes */
#endif
#define QUEUE 8

/* In KEXINIT. */
#define OFFERS_STRICT 1
#define WRONG_GUESS 2
/* H, as far as the attacker can change it: both offers. */
#define HASH(of_client, of_server) (HASH_HAS_KEXINITS -> 1 + (of_client) + 4 * (of_server) : 1)

#define CLEAR 0 /* no keys yet */

/* message, keys, sequence number, place in the order of what was sent under these keys, KEXINIT's flags or REPLY's H */
chan from_client = [QUEUE] of { byte, byte, byte, byte, byte };
chan from_server = [QUEUE] of { byte, byte, byte, byte, byte };
chan to_server = [0] of { byte, byte, byte, byte, byte };
chan to_client = [0] of { byte, byte, byte, byte, byte };

#define IS_OF_KEX(message) (message >= KEXINIT && message < USERAUTH_REQUEST)

bool server_over, client_over;

/* One end of the connection. */
typedef endpoint {
    byte keys_out, keys_in;         /* the number of the keys, or CLEAR */
    byte sequence_out, sequence_in;
    byte sent, taken;               /* packets under the present keys */
    bool strict;
}

inline send(who, channel, message, detail) {
    channel!message, who.keys_out, who.sequence_out, who.sent, detail;
    who.sequence_out++;
    who.sent = (who.keys_out == CLEAR -> 0 : who.sent + 1)
}

inline new_keys_out(who, resets) {
    who.keys_out++;
    who.sent = 0;
    who.sequence_out = (who.strict && resets -> 0 : who.sequence_out)
}

inline new_keys_in(who, resets) {
    who.keys_in++;
    who.taken = 0;
    who.sequence_in = (who.strict && resets -> 0 : who.sequence_in)
}

/* The cipher: the key and the sequence number must be right. */
#define OPENS(who) (keys == who.keys_in && (keys == CLEAR || sequence == who.sequence_in))

inline note_taken(who, checked) {
    must(NONE_IS_MISSING, !checked || keys == CLEAR || place == who.taken);
    who.sequence_in++;
    who.taken = (keys == CLEAR -> 0 : who.taken + 1)
}

inline forget() {
    message = 0; keys = 0; sequence = 0; place = 0; detail = 0
}

/* ---- the server: src/net ----------------------------------------------------------------------------------------- */

active proctype server()
{
    endpoint mine;
    byte message, keys, sequence, place, detail;
    byte phase = PHASE_KEXINIT;
    byte resume, own, theirs, waiting, verdict;
    bool sent_kexinit, first = true;

    own = (OFFERS_STRICT_KEX -> OFFERS_STRICT : 0);
    send(mine, from_server, KEXINIT, own);
    sent_kexinit = true;
    do
    :: atomic { to_server?message, keys, sequence, place, detail ->
        if
        :: !OPENS(mine) -> verdict = REFUSED
        :: else ->
            printf("@ the server takes message %d\n", message);
            note_taken(mine, CHECKS_SERVER);
            dispatch(message, phase, verdict) /* of src/net/dispatch.c */
        fi;
        if
        :: verdict == REFUSED || message == DISCONNECT -> phase = PHASE_ENDED
        :: verdict == UNKNOWN -> send(mine, from_server, UNIMPLEMENTED, 0)
        :: verdict == GUESSED -> phase = (phase == PHASE_GUESS -> PHASE_ECDH : PHASE_REKEY_ECDH)
        :: verdict == TAKEN && message == KEXINIT ->
            if
            :: first ->
                theirs = detail;
                mine.strict = STRICT_IF_OFFERED && (detail & OFFERS_STRICT);
                phase = (detail & WRONG_GUESS -> PHASE_GUESS : PHASE_ECDH)
            :: else ->
                resume = phase;
                phase = (detail & WRONG_GUESS -> PHASE_REKEY_GUESS : PHASE_REKEY_ECDH);
                if
                :: !sent_kexinit -> send(mine, from_server, KEXINIT, 0); sent_kexinit = true
                :: else
                fi
            fi
        :: verdict == TAKEN && message == KEX_ECDH_INIT ->
            detail = (first -> HASH(theirs, own) : 0); /* the monitor signs it */
            send(mine, from_server, KEX_ECDH_REPLY, detail);
            send(mine, from_server, NEWKEYS, 0);
            new_keys_out(mine, RESETS_OUT);
            sent_kexinit = false;
            if
            :: first -> send(mine, from_server, EXT_INFO, 0)
            :: else
            fi;
            do
            :: waiting > 0 -> send(mine, from_server, PONG, 0); waiting--
            :: else -> break
            od;
            phase = (first -> PHASE_NEWKEYS : PHASE_REKEY_NEWKEYS)
        :: verdict == TAKEN && message == NEWKEYS ->
            new_keys_in(mine, RESETS_IN);
            phase = (first -> PHASE_SERVICE : resume);
            first = false
        :: verdict == TAKEN && message == SERVICE_REQUEST ->
            send(mine, from_server, SERVICE_ACCEPT, 0);
            phase = PHASE_AUTH
        :: verdict == TAKEN && message == USERAUTH_REQUEST ->
            if
            :: phase == PHASE_AUTH -> send(mine, from_server, USERAUTH_SUCCESS, 0); phase = PHASE_OPEN
            :: else
            fi
        :: verdict == TAKEN && message == PING ->
            if
            :: sent_kexinit && HOLDS_BACK -> waiting++
            :: else -> must(HELD_BACK, !sent_kexinit); send(mine, from_server, PONG, 0)
            fi
        :: verdict == TAKEN && (message == IGNORE || message == DEBUG || message == UNIMPLEMENTED || message == EXT_INFO)
        fi;
        forget() }
    /* One key exchange of ours, when it is due. */
    :: atomic { phase == PHASE_OPEN && !sent_kexinit && mine.keys_out == 1 ->
        send(mine, from_server, KEXINIT, 0);
        sent_kexinit = true }
    :: phase == PHASE_ENDED -> break
    :: timeout -> break /* the login deadline, the end of a key exchange, idle */
    od;
    server_over = true;
end:
    do
    :: to_server?message, keys, sequence, place, detail
    od
}

/* ---- a client that offers strict key exchange, as OpenSSH's does ------------------------------------------------- */

#define AWAITS_KEXINIT 0
#define AWAITS_REPLY 1
#define AWAITS_NEWKEYS 2
#define AWAITS_ACCEPT 3
#define AWAITS_SUCCESS 4
#define IS_OPEN 5

inline send_kexinit_and_guess(flags) {
    if
    :: true -> own = flags
    :: true -> own = flags | WRONG_GUESS
    fi;
    send(mine, from_client, KEXINIT, own);
    sent_kexinit = true;
    if
    :: own & WRONG_GUESS -> send(mine, from_client, KEX_ECDH_INIT, 0)
    :: else
    fi
}

active proctype client()
{
    endpoint mine;
    byte message, keys, sequence, place, detail;
    byte phase = AWAITS_KEXINIT;
    byte own, theirs, pings, pongs;
    bool first = true, sent_kexinit, only_kex;

    detail = (CLIENT_IS_STRICT -> OFFERS_STRICT : 0);
    send_kexinit_and_guess(detail);
    do
    :: atomic { to_client?message, keys, sequence, place, detail ->
        if
        :: !OPENS(mine) -> break
        :: else
        fi;
        printf("@ the client takes message %d\n", message);
        note_taken(mine, CHECKS_CLIENT);
        must(HELD_BACK, !CHECKS_CLIENT || !only_kex || IS_OF_KEX(message) || message == DISCONNECT);
        if
        :: phase == AWAITS_KEXINIT && message == KEXINIT ->
            theirs = detail;
            mine.strict = CLIENT_IS_STRICT && (detail & OFFERS_STRICT);
            if
            :: mine.strict && mine.sequence_in != 1 -> break /* it must be the first packet */
            :: else
            fi;
            send(mine, from_client, KEX_ECDH_INIT, 0);
            phase = AWAITS_REPLY
        :: phase == IS_OPEN && message == KEXINIT ->
            only_kex = true;
            if
            :: !sent_kexinit -> send_kexinit_and_guess(0)
            :: else
            fi;
            send(mine, from_client, KEX_ECDH_INIT, 0);
            phase = AWAITS_REPLY
        :: phase == AWAITS_REPLY && message == KEX_ECDH_REPLY ->
            if
            :: first && detail != HASH(own, theirs) -> break /* the signature is of another H */
            :: else
            fi;
            /* The attacker has changed no offer. */
            must(SAME_OFFERS, !first || theirs == (OFFERS_STRICT_KEX -> OFFERS_STRICT : 0));
            send(mine, from_client, NEWKEYS, 0);
            new_keys_out(mine, true);
            phase = AWAITS_NEWKEYS
        :: phase == AWAITS_NEWKEYS && message == NEWKEYS ->
            new_keys_in(mine, true);
            sent_kexinit = false;
            only_kex = false;
            if
            :: first ->
                /* RFC 8308 lets a client send EXT_INFO first. */
                send(mine, from_client, EXT_INFO, 0);
                send(mine, from_client, SERVICE_REQUEST, 0);
                phase = AWAITS_ACCEPT
            :: else -> phase = IS_OPEN
            fi;
            first = false
        :: phase == AWAITS_ACCEPT && message == SERVICE_ACCEPT ->
            send(mine, from_client, USERAUTH_REQUEST, 0);
            phase = AWAITS_SUCCESS
        :: phase == AWAITS_SUCCESS && message == USERAUTH_SUCCESS -> phase = IS_OPEN
        :: message == PONG && phase == IS_OPEN -> pongs++
        :: message == EXT_INFO && !first && phase != AWAITS_NEWKEYS
        :: (message == IGNORE || message == DEBUG || message == UNIMPLEMENTED) && !(first && mine.strict) &&
            !only_kex
        :: else -> break
        fi;
        forget() }
    :: atomic { phase == IS_OPEN && !sent_kexinit && pings < 2 -> send(mine, from_client, PING, 0); pings++ }
    :: atomic { phase == IS_OPEN && !sent_kexinit && mine.keys_out == 1 -> send_kexinit_and_guess(0) }
    :: phase == IS_OPEN && !sent_kexinit && mine.keys_in == 2 && pings == 2 && pongs == 2 ->
        send(mine, from_client, DISCONNECT, 0);
        reached(REACHES_END); /* nothing has been lost: this must be possible */
        break
    :: timeout -> break
    od;
    client_over = true;
end:
    do
    :: to_client?message, keys, sequence, place, detail
    od
}

/* ---- the attacker ------------------------------------------------------------------------------------------------- */

byte acts;

#define MAY_ACT (acts < MOST_ACTS && !server_over && !client_over)

inline inject(to, made_up) {
    atomic {
        MAY_ACT -> acts++;
        printf("@ the attacker injects message %d\n", made_up);
        to!made_up, CLEAR, 0, 0, 0
    }
}

/* One for each direction. What it keeps it delivers late, or again. */
proctype wire(chan from, to)
{
    byte message, keys, sequence, place, detail;
    byte kept, kept_keys, kept_sequence, kept_place, kept_detail;
end:
    do
    :: atomic {
        from?message, keys, sequence, place, detail ->
        if
        :: true
        :: MAY_ACT -> acts++; printf("@ the attacker drops message %d\n", message); message = 0
        :: message == KEXINIT && keys == CLEAR && MAY_ACT -> acts++; printf("@ the attacker changes KEXINIT\n"); detail = detail ^ OFFERS_STRICT
        :: message == KEXINIT && keys == CLEAR && MAY_ACT -> acts++; printf("@ the attacker changes KEXINIT\n"); detail = detail ^ WRONG_GUESS
        :: kept == 0 && MAY_ACT -> acts++; printf("@ the attacker keeps message %d\n", message);
            kept = message; kept_keys = keys; kept_sequence = sequence; kept_place = place; kept_detail = detail;
            if
            :: true
            :: true -> message = 0
            fi
        fi;
        if
        :: message != 0 -> to!message, keys, sequence, place, detail
        :: else
        fi;
        message = 0; keys = 0; sequence = 0; place = 0; detail = 0
       }
    :: atomic {
        kept != 0 && !server_over && !client_over -> to!kept, kept_keys, kept_sequence, kept_place, kept_detail;
        kept = 0; kept_keys = 0; kept_sequence = 0; kept_place = 0; kept_detail = 0
       }
    :: inject(to, IGNORE)
    :: inject(to, EXT_INFO)
    :: inject(to, KEX_ECDH_INIT)
    :: inject(to, NEWKEYS)
    od
}

init { atomic { run wire(from_client, to_server); run wire(from_server, to_client) } }
