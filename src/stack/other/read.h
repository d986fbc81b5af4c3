/* read.h - takes one look at another thread's frames, in copies of its memory.
 *
 * One look can be wrong, because the thread runs meanwhile. So other.c looks twice and keeps what
 * agrees. One thread at a time uses a reader. */
#ifndef GPUFL_STACK_OTHER_READ_H
#define GPUFL_STACK_OTHER_READ_H

#include "stack/other/collector.h"
#include "stack/other/other.h"
#include "stack/other/snapshot.h"
#include "stack/python/inside.h"

enum {
    OTHER_THREADS = 32,        /* threads whose last look is remembered */
    OTHER_EXTRAS = 512,        /* remembered pieces of a look outside the newest chunk */
    OTHER_CODES = 4096,        /* remembered code objects; a power of two */
    OTHER_SCRATCH = 64 * 1024, /* bytes at the end of the snapshot for single reads */
};

/* Holds a frame as it is in memory; the rest is read from its code object. */
struct other_frame {
    uintptr_t frame, code, at; /* at: the instruction, as the version stores it */
    uint8_t owner;
    /* Filled by other_codes: */
    uint8_t bad;    /* there is no code object, or the instruction is outside of it */
    uint8_t fresh;  /* its code object was not known before this look */
    uint8_t hidden; /* a frame of the interpreter: a trampoline, or a frame that has not begun */
    uint8_t early;  /* the frame has not begun, which only an innermost one may */
    int64_t place;
    uint64_t key;
};

struct other_look {
    struct other_frame frames[STACK_DEPTH]; /* innermost first */
    size_t n;
    size_t from;   /* frames further in may be of another moment */
    size_t proved; /* all copies of the frames further in agree */
    bool settled;  /* nobody moved the top meanwhile, and `from` is 0 */
    bool cut;      /* there were more frames */
    bool broken;   /* the chain of frames could not be followed to its end */
    bool collects; /* the thread was in the garbage collector */
};

/* Says where a thread's frames were at the look before. */
struct other_guess {
    uintptr_t state; /* 0: unused */
    uintptr_t loop, top, chunk, limit, used;
    uintptr_t base; /* the outermost record */
    unsigned extras;
    struct {
        uintptr_t begin;
        uint32_t bytes;
    } extra[OTHER_EXTRAS];
};

/* Holds a code object that was seen before, with the values by which it is recognized. */
struct other_code {
    uintptr_t code; /* 0: unused */
    uint64_t print, key;
    struct python_view view;
    uint32_t file_bytes, table_bytes; /* how many bytes of these objects are in the fingerprint */
    uint32_t round;                   /* the batch that last asked for this object */
    uint32_t learned;                 /* the pair of looks after which it was read in full */
    bool good, fresh;                 /* in that batch; learned after this pair of looks */
};

struct other_block {
    uintptr_t begin;
    uint32_t bytes, at; /* at: in the snapshot */
    bool noted;         /* is among the extras of this look */
};

struct other_reader {
    const struct python_layout *l;
    struct snapshot snap;
    struct python_reader direct; /* reads one by one, through the snapshot */
    struct collector collector;
    uint32_t state_bytes;
    unsigned pieces, blocks, last; /* last: the block that answered last */
    size_t used;                   /* bytes of the snapshot */
    uint32_t random;               /* see other_ask_filler */
    uint32_t round, pair;          /* of the batches of code objects; of looks: other.c counts */
    struct iovec piece[SNAPSHOT_PIECES];
    uint32_t at[SNAPSHOT_PIECES], got[SNAPSHOT_PIECES];
    struct other_block block[SNAPSHOT_PIECES];
    struct other_guess guess[OTHER_THREADS];
    struct other_code codes[OTHER_CODES];
    struct other_code *entry[STACK_DEPTH]; /* of the frames of a look */
    struct python_content content;
};

/* Returns 0; GPUFL_E_UNAVAILABLE: other threads of this interpreter cannot be read, or memory
 * cannot be copied; GPUFL_E_NOMEM. Call other_read_fini also after an error. [owner] */
int other_read_init(struct other_reader *r);
void other_read_fini(struct other_reader *r);

/* Gives a forked child its own reader, before the first look of a walk. Returns what
 * other_read_init returns. */
int other_read_here(struct other_reader *r);

/* Looks once. False: the thread's state is gone. [owner] */
bool other_look(struct other_reader *r, const struct stack_other_thread *t, struct other_look *to);

/* Finds out which code the frames of a look run. True: every code object was known before.
 * [owner] */
bool other_codes(struct other_reader *r, struct other_look *look);

/* Both files use these functions: pieces are asked for, and then copied with as few system calls as
 * unreadable pieces allow. other_ask returns a piece's number, or -1 if there is no room.
 * other_piece returns NULL if the piece could not be copied whole. [owner] */
void other_begin(struct other_reader *r);
int other_ask(struct other_reader *r, uintptr_t begin, size_t bytes);
void other_run(struct other_reader *r);
const char *other_piece(const struct other_reader *r, int piece);

#endif
