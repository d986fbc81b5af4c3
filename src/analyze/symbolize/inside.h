/* inside.h - what the files of symbolize share: collecting (symbolize.c), looking up
 * and putting answers into lines (frames.c, code.c, sources.c,
 * ptx.c), and which files reports point at (shown.c). */
#ifndef GPUFL_ANALYZE_SYMBOLIZE_INSIDE_H
#define GPUFL_ANALYZE_SYMBOLIZE_INSIDE_H

#include "analyze/symbolize/symbolize.h"
#include "base/intern.h"
#include "symbol/fold.h"
#include "symbol/source_file.h"
#include "wire/rowset.h"

/* A text of the session, by its number in texts. */
struct symbolize_text {
    uint32_t number;
    uint32_t id;  /* id of the name in the session; 0: it has none yet */
    bool written; /* among the lines */
    bool kept;    /* the path of a source whose text is kept */
    bool wanted;  /* a frame is in this file */
    bool user;    /* that frame is in the user's own code */
    bool shown;   /* a library's, and a report points at a line of it */
};

/* The cells of a level of inlining, in this order: frame, level; numbers of function and file;
 * line. */
enum { SYMBOLIZE_LEVEL_CELLS = 5 };

struct vendor;

struct symbolize {
    const struct discover_session *session;
    int lock;                  /* -1: not ours */
    bool over;                 /* the program has ended */
    bool ended;                /* its log says so */
    bool ending_known;         /* the session says how it ended */
    int flags;                 /* see gpufl_symbolize */
    struct wire_header header; /* its texts are owned */
    bool has_header;
    struct intern *texts;        /* owned */
    struct symbolize_text *text; /* owned; by number */
    size_t text_count, text_cap;
    uint32_t *number_of; /* owned: id of a name to the number of its text; 0: unknown */
    size_t name_count, name_cap;
    int64_t last_id;                  /* the highest id of a name that occurs */
    struct rowset modules, frames;    /* rows of these records, by id */
    struct rowset known;              /* ids of frames that have symbols */
    struct rowset stacks;             /* rows of stack, by id */
    struct rowset levels;             /* by frame and level */
    struct rowset objects, functions; /* device code: rows of these records, by id */
    struct rowset apart;              /* ids of functions whose instructions have text */
    struct rowset lined;              /* ids of functions that have instructions, lines at least */
    uint64_t source_bytes;            /* kept in the session */
    bool sources;                     /* are wanted */
    struct buf lines;
    size_t *ends; /* owned: of batches in lines */
    size_t end_count, end_cap;
    int code; /* of the first line that could not be put */
    struct symbolize_stats stats;
    struct {
        bool on;
        int64_t begun, said; /* ns; said 0: nothing is on the terminal */
    } progress;
};

/* Number of a text; 0: out of memory or too many. */
uint32_t symbolize_text_number(struct symbolize *z, const char *text, size_t len);

/* Number of the text of a name; 0: unknown. */
uint32_t symbolize_name_number(const struct symbolize *z, int64_t id);

/* The text of a number; "" for 0. */
const char *symbolize_text(const struct symbolize *z, uint32_t number);

/* The id of a text for a cell, after its line has been put where it has none yet; 0 for 0. */
int64_t symbolize_put_name(struct symbolize *z, uint32_t number);

/* Puts a text that nothing else refers to; its id. */
int64_t symbolize_put_piece(struct symbolize *z, const char *text, size_t len);

/* Ends a batch of lines where it is large enough, or at the end. */
void symbolize_end_batch(struct symbolize *z, bool last);

/* Say on the terminal what is done of a kind of things, if symbolize_progress was called and all
 * of it takes over a second. Begin and end are of all kinds together. */
void symbolize_progress_begin(struct symbolize *z);
void symbolize_progress_say(struct symbolize *z, const char *what, size_t done, size_t all);
void symbolize_progress_end(struct symbolize *z);

/* Marks the file of that name as one whose text is wanted. */
void symbolize_want(struct symbolize *z, uint32_t number, enum fold_language language);

/* A function that a native frame goes through, for symbolize_show. 0 or GPUFL_E_NOMEM. */
int symbolize_level(struct symbolize *z, const int64_t cells[SYMBOLIZE_LEVEL_CELLS]);

/* Finds out which library files reports point at. After all levels. 0 or GPUFL_E_NOMEM. */
int symbolize_show(struct symbolize *z);

/* Looks up the frames that have no symbols. lacks (size of stats.note) gets why there are no
 * lines on this machine, "" where there are. 0, GPUFL_E_NOMEM or _FULL. */
int symbolize_frames(struct symbolize *z, char *lacks);

/* Looks up device code without instructions, where the program is over and this is the host that
 * wrote its session (here). lacks: as above; stats.code_note has more reasons, those included
 * that no lookup could change. 0 or GPUFL_E_NOMEM. */
int symbolize_code(struct symbolize *z, bool here, char *lacks);

/* Path of kept device code, and its vendor; NULL: its name is not ours. */
const struct vendor *symbolize_kept_code(const struct symbolize *z, const int64_t *object,
                                         char *path, size_t size);

/* Puts the text of a source, in pieces; path: number of its path. */
void symbolize_keep(struct symbolize *z, uint32_t path, const struct source_file *f);

/* Puts how the program ended, where its session does not say that. */
void symbolize_ending(struct symbolize *z);

/* Keeps the PTX of functions whose cubin carries it. */
void symbolize_ptx(struct symbolize *z);

/* Keeps the texts of the user's files and of those shown. 0 or GPUFL_E_NOMEM. */
int symbolize_sources(struct symbolize *z);

#endif
