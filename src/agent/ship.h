/* ship.h - sends all of a session that exists to a server, once.
 *
 * Sessions of our format go by offset. The server is asked for its position in each channel: parts
 * before it are skipped, the part that has it is sent from there on, the others are sent unchanged.
 * The public client's windows count as wholes, identified by channel and number. In both formats
 * sending again does no harm, so a sender that was interrupted is simply started again; it keeps no
 * state.
 *
 * Requests with a temporary failure are repeated (backoff.h) until there was no progress for a
 * while. For a server that answers "not now" (429, or 503 with Retry-After) the sender waits, up to
 * `patience`; that is no failure. A server that has not answered any request is given up when no
 * byte has moved for `unreachable`; one that has answered may be slow. Memory does not grow with
 * the session. Called by one thread at a time, except where a tag says otherwise. */
#ifndef GPUFL_AGENT_SHIP_H
#define GPUFL_AGENT_SHIP_H

#include "agent/remote.h"
#include "net/client/backoff.h"

struct ship_part {
    const char *path;
    struct part_head head;
    char channel[PART_CHANNEL_MAX];
    int64_t number; /* of a window: its sequence */
    int64_t bytes;  /* on disk */
};

/* Parts are in order, channel by channel. Of one session either all are in our format, or none. */
struct ship_session {
    const char *id;
    const char *host; /* "" unknown */
    bool ours;
    const struct ship_part *parts;
    size_t count;
};

/* Holds callbacks for progress; NULL: not wanted. */
struct ship_watch {
    void *arg;
    /* Bytes on disk that are handled; never less than before in a session. */
    void (*progress)(void *arg, int64_t done);
    void (*rejected)(void *arg, const struct ship_part *p, const struct remote_error *line);
    /* A request failed, or the server answers "not now"; the request is repeated after ns. */
    void (*waiting)(void *arg, int64_t ns, const char *why);
    /* Called about once a second while no byte of a request has moved for ns. most: ns after which
     * the server is given up; 0: it has answered before. */
    void (*silent)(void *arg, int64_t ns, int64_t most);
};

/* Says how sentences name the options that the reader can set, and the next step. */
struct ship_words {
    const char *server; /* "--server URL, or GPUFL_BACKEND_URL" */
    const char *key;    /* "--api-key-file or GPUFL_API_KEY" */
    const char *longer; /* "--unreachable" */
    const char *ca;     /* http_client_config.ca_advice; NULL: the system's */
    const char *again;  /* "the same command goes on from there" */
};

/* The words are for users of `gpufl upload`, and for callers of gpufl_upload_logs. */
extern const struct ship_words ship_words_command, ship_words_code;

struct ship_config {
    struct remote *remote;
    const struct ship_words *words; /* NULL: the command's */
    bool force;                     /* from the start, whatever the server has */
    bool near;                      /* on this machine: sending costs less than compressing */
    unsigned tries;                 /* failures in a row; 0: 8 */
    int64_t wait_least;             /* ns before the second try, at most; 0: 0.5 s */
    int64_t wait_most;              /* ns before any; 0: 60 s */
    int64_t deadline;               /* CLOCK_MONOTONIC ns; 0: none */
    int64_t patience;    /* ns of waiting in a row for a server that answers "not now"; 0: 1 h */
    int64_t unreachable; /* ns without a byte, until a server is given up; 0: tries count */
    const volatile sig_atomic_t *stop;
    struct ship_watch watch;
};

/* Holds the content of a window's sidecar. */
struct ship_sidecar {
    char id[PART_ID_MAX];
    int64_t crc32; /* of the file; -1: unknown */
};

/* Reads the sidecar of a public client's window; leaves it empty if the file is missing or
 * unreadable. [any] */
void ship_sidecar_read(const struct ship_part *p, struct ship_sidecar *out);

enum ship_end {
    SHIP_ALL,     /* all on disk is on the server */
    SHIP_SOME,    /* some of it is not on the server; text says why */
    SHIP_FAILED,  /* nothing of it was taken; text says why */
    SHIP_STOPPED, /* asked to stop, or no time left */
    /* The server cannot be reached, or refuses this sender: other sessions need not be tried. */
    SHIP_REFUSED,
};

struct ship_result {
    enum ship_end end;
    bool moved; /* a part was renamed: look for it again */
    char text[640];
    uint64_t accepted, rejected; /* lines, without those that the server had already */
    uint64_t bodies;
    int64_t sent;   /* bytes of bodies */
    int64_t before; /* bytes on disk that the server had already */
};

void ship(const struct ship_config *c, const struct ship_session *s, struct ship_result *out);

/* Reports to the server that the session is complete. SHIP_ALL: the server has noted it. */
void ship_complete(const struct ship_config *c, const struct ship_session *s,
                   struct ship_result *out);

#endif
