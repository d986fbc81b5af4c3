/* inside.h - what the files of the packs share; see pack.h. */
#ifndef GPUFL_STORE_DUCKDB_PACK_INSIDE_H
#define GPUFL_STORE_DUCKDB_PACK_INSIDE_H

#include "store/duckdb/pack/pack.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#define PACK_MAGIC_BYTES "GFUP" /* the begin of a record */
#define PACK_SUFFIX      ".pack"
#define PACK_NEW         ".new" /* suffix of a pack that is being rewritten */

enum {
    PACK_HEAD = 16,
    PACK_NAME = 40,
    PACK_PLAIN_MAX = 256 << 20, /* bytes of an image */
    PACK_MOST = 64 << 20,       /* bytes of a pack that still takes new sessions */
    PACK_DEAD_LEAST = 256 << 10 /* bytes of deleted records, before a pack is rewritten */
};

enum record_kind_of_pack { PACK_ROWS = 1, PACK_WHOLE, PACK_DROP };

extern const char pack_magic[PACK_HEAD];

/* This is a record's head in the file, little-endian. */
struct pack_head {
    uint32_t magic;
    uint32_t crc;    /* of the members below */
    uint32_t kind;   /* enum record_kind_of_pack */
    uint32_t stored; /* bytes after the head, deflated */
    uint32_t plain;  /* bytes when inflated */
    uint32_t sum;    /* CRC of the stored bytes */
    uint32_t memory; /* bytes of the image in memory */
    uint32_t order;  /* number of earlier records of the session; 0: this one replaces them */
    char session[STORE_ID_MAX];
};

struct pack_record {
    uint64_t at; /* place of its head in the file */
    uint32_t stored, plain, memory;
};

struct pack_file {
    struct pack_file *next;
    char name[PACK_NAME];
    uint64_t size;     /* up to the last commit */
    uint64_t dead;     /* bytes of records that are not needed */
    unsigned sessions; /* number with records in it */
    bool damaged;      /* some bytes are not a record; it is not rewritten, which would hide that */
    bool torn;         /* there may be bytes after `size`, which have to be cut off */
};

/* This is a workspace; not freed before packs_close. */
struct pack_place {
    struct pack_place *next;
    char workspace[STORE_ID_MAX];
    pthread_mutex_t writing;
    struct pack_file *files; /* owned, the newest first; changed with both locks */
    bool named;              /* its folder's entry is on the disk; guarded by writing */
};

struct packed {
    struct packed *next; /* in its slot */
    struct pack_place *place;
    char id[STORE_ID_MAX];
    struct pack_file *file;      /* NULL: no record yet */
    struct pack_record *records; /* owned */
    size_t count, cap;
    uint64_t since;
    int64_t stored, contents;
    bool holes; /* a record of the session was lost in damaged bytes */
};

/* Describes something that could not be read; constant after packs_open. */
struct pack_flaw {
    struct pack_flaw *next;
    char text[320];
};

struct packs {
    char *root;              /* owned */
    struct pack_flaw *flaws; /* owned */
    pthread_mutex_t lock;
    struct pack_place *places; /* owned; guarded by lock */
    struct packed **slots;     /* owned; guarded by lock, like the members below */
    size_t slot_count, count;
    uint64_t changes;
};

/* ---- pack.c: with the lock held -------------------------------------------------------------- */

struct pack_place *pack_place(struct packs *p, const char *workspace, bool make);
struct packed *pack_find(struct packs *p, const char *workspace, const char *session);
struct packed *pack_add(struct packs *p, struct pack_place *place, const char *session);

/* Removes a session from the table and frees it; its records become dead. */
void pack_forget(struct packs *p, struct packed *s);

/* Notes a record that is in the file. 0 or NOMEM. */
int pack_note(struct packs *p, struct packed *s, struct pack_file *f, const struct pack_head *h,
              uint64_t at);

int pack_path(const struct packs *p, const struct pack_place *place, const char *name,
              char path[PATH_MAX], struct err *e);
bool pack_head_ok(const struct pack_head *h);
void pack_head_seal(struct pack_head *h);

/* ---- files.c --------------------------------------------------------------------------------- */

/* Adds a record to a session's pack, or to the newest pack [place->writing held]; *file and *at get
 * where the record is. Seven parameters: the pack is chosen here, so its file cannot be a member of
 * h. */
int pack_write(struct packs *p, struct pack_place *place, struct pack_file **file,
               struct pack_head *h, const void *stored, uint64_t *at, struct err *e);

/* Frees the room of dead records if there are enough. [place->writing held] */
void pack_tidy(struct packs *p, struct pack_place *place, struct pack_file *f);

int pack_pread(int fd, void *data, size_t n, uint64_t at);

#endif
