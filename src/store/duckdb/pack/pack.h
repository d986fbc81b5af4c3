/* pack.h - files that small sessions of a workspace share.
 *
 * A pack is "<root>/<workspace>/<day>-<number>.pack": a head, then records one after the other.
 * A record is the bytes of an image (image.h) that a commit of a session added, or that of all of
 * its commits so far, or says that the session is gone. A session has all its records in one pack,
 * and no two workspaces share one. A commit is in the file, and on the disk, or the file ends
 * before it: what a crash or a full disk has left after the last commit is cut off.
 *
 * Records of sessions that are gone take room until they are half of a pack, which is then
 * written anew without them; a pack without a session is removed.
 *
 * Where each record lies is in memory: some 250 bytes a session. [any thread]
 *
 * Lock order: a workspace's `writing`, which is held while something goes to the disk, then the
 * lock of all, which is not. */
#ifndef GPUFL_STORE_DUCKDB_PACK_PACK_H
#define GPUFL_STORE_DUCKDB_PACK_PACK_H

#include "base/buf.h"
#include "store/store.h"

struct packs;

/* What there is of a session. */
struct packed_state {
    size_t records;   /* to be read, in order */
    uint64_t since;   /* changes where the records are others than before, and not just more */
    int64_t stored;   /* bytes in the pack */
    int64_t contents; /* bytes of its images in memory */
};

/* Reads where the records of all workspaces below root lie, and repairs what a crash left. A pack
 * that cannot be read is left out, and so is a workspace: the sessions of the others are there. */
int packs_open(struct packs **out, const char *root, struct err *e);
void packs_close(struct packs *p);

/* Says whether there is the session, and how much of it. */
bool packs_find(struct packs *p, const char *workspace, const char *session,
                struct packed_state *out);

/* Adds a session without a record: it is in memory only until its first commit. */
int packs_make(struct packs *p, const char *workspace, const char *session, struct err *e);

/* Adds the bytes of an image, durably. NOENT: the session is gone. FULL, IO: nothing was added. */
struct packs_image {
    const struct buf *bytes;
    size_t memory; /* bytes that it takes in memory; less than 4 GiB */
    bool whole;    /* it takes the place of all records that there are */
};
int packs_put(struct packs *p, const char *workspace, const char *session,
              const struct packs_image *image, struct err *e);

/* Reads the records from a number on, in order; *state: as of this reading. Reads none where the
 * records before that number are others than they were (state->since). CORRUPT: one of them is
 * damaged, or some are lost. Seven parameters: two texts name a session, and a begin, a visitor and
 * a state say what is read of it. */
struct packs_visitor {
    void *arg;
    int (*take)(void *arg, const char *image, size_t n, struct err *e);
};
int packs_read(struct packs *p, const char *workspace, const char *session, size_t from,
               const struct packs_visitor *v, struct packed_state *state, struct err *e);

/* Writes the folder of a file to the disk, and so the file's name. */
int packs_sync_folder(const char *path, struct err *e);

/* Removes a session, durably. NOENT: there is none. */
int packs_drop(struct packs *p, const char *workspace, const char *session, struct err *e);

/* Copies the records of a session as they are into a file. */
int packs_save(struct packs *p, const char *workspace, const char *session, const char *path,
               struct err *e);

/* Ids of a workspace's sessions; non-zero of take stops and is returned. */
int packs_list(struct packs *p, const char *workspace, int (*take)(void *arg, const char *id),
               void *arg, struct err *e);

/* Sentences about what packs_open could not read, which no session may show. Non-zero of take stops
 * and is returned. */
int packs_flaws(struct packs *p, int (*take)(void *arg, const char *flaw), void *arg);

/* Copies the packs of all workspaces below a folder, each as a commit left it. */
int packs_backup(struct packs *p, const char *folder, struct err *e);

#endif
