/* pack.h - keeps files that small sessions of a workspace share.
 *
 * A pack is the file "<root>/<workspace>/<day>-<number>.pack": a head, then records. A record is
 * the bytes of an image (image.h) that one commit of a session added, or of all its commits so far;
 * or it says that the session was deleted. All records of a session are in one pack, and workspaces
 * do not share packs. A commit is either on the disk as a whole or not at all: what a crash or a
 * full disk has left after the last commit is cut off.
 *
 * Records of deleted sessions take room until they are half of a pack, which is then rewritten
 * without them; a pack without a session is removed.
 *
 * The places of all records are in memory: about 250 bytes for each session. [any thread]
 *
 * Lock order: a workspace's `writing`, which is held during writes to the disk, then packs.lock,
 * which is not. */
#ifndef GPUFL_STORE_DUCKDB_PACK_PACK_H
#define GPUFL_STORE_DUCKDB_PACK_PACK_H

#include "base/buf.h"
#include "store/store.h"

struct packs;

/* Holds what the pack has of a session. */
struct packed_state {
    size_t records;   /* their number */
    uint64_t since;   /* changes if earlier records were replaced, not if records were added */
    int64_t stored;   /* bytes in the pack */
    int64_t contents; /* bytes of its images in memory */
};

/* Reads the places of all workspaces' records below root, and cuts off what a crash left. A pack or
 * a workspace that cannot be read is left out; the other sessions are there. */
int packs_open(struct packs **out, const char *root, struct err *e);
void packs_close(struct packs *p);

/* Returns true if the session exists; *out gets what there is. */
bool packs_find(struct packs *p, const char *workspace, const char *session,
                struct packed_state *out);

/* Adds a session without records, which is only in memory until its first commit. */
int packs_make(struct packs *p, const char *workspace, const char *session, struct err *e);

/* Adds the bytes of an image, durably. GPUFL_E_NOENT: the session was deleted. GPUFL_E_FULL,
 * GPUFL_E_IO: nothing was added. */
struct packs_image {
    const struct buf *bytes;
    size_t memory; /* bytes that it takes in memory; less than 4 GiB */
    bool whole;    /* it replaces all records of the session */
};
int packs_put(struct packs *p, const char *workspace, const char *session,
              const struct packs_image *image, struct err *e);

/* Reads the records from number `from` on, in order; *state gets the state of this reading. Reads
 * none if the records before `from` have been replaced (state->since has changed). GPUFL_E_CORRUPT:
 * a record is damaged or lost. Seven parameters: two texts name a session; from, v and state say
 * what is read. */
struct packs_visitor {
    void *arg;
    int (*take)(void *arg, const char *image, size_t n, struct err *e);
};
int packs_read(struct packs *p, const char *workspace, const char *session, size_t from,
               const struct packs_visitor *v, struct packed_state *state, struct err *e);

/* Syncs the folder of a file, and with it the file's name, to the disk. */
int packs_sync_folder(const char *path, struct err *e);

/* Removes a session, durably. GPUFL_E_NOENT: there is no such session. */
int packs_drop(struct packs *p, const char *workspace, const char *session, struct err *e);

/* Copies the records of a session unchanged into a file. */
int packs_save(struct packs *p, const char *workspace, const char *session, const char *path,
               struct err *e);

/* Gives the ids of a workspace's sessions to take; a non-zero result stops and is returned. */
int packs_list(struct packs *p, const char *workspace, int (*take)(void *arg, const char *id),
               void *arg, struct err *e);

/* Gives sentences about what packs_open could not read to take; no session need show them. A
 * non-zero result stops and is returned. */
int packs_flaws(struct packs *p, int (*take)(void *arg, const char *flaw), void *arg);

/* Copies the packs of all workspaces to a folder, each as one of its commits left it. */
int packs_backup(struct packs *p, const char *folder, struct err *e);

#endif
