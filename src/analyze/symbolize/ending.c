/* ending.c - says how the program of a session without an end ended, as its parent reported. It
 * becomes a message in the session, so that every later report has it. */
#include "analyze/symbolize/inside.h"

#include <gpufl/analysis.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void describe(int flags, char *out, size_t size)
{
    int status = flags >> GPUFL_SYMBOLIZE_STATUS_AT & 0xffff;
    if (flags & GPUFL_SYMBOLIZE_UNWRITTEN)
        snprintf(out, size, "the session ended, and its log could not be written to the end");
    else if (!(flags & GPUFL_SYMBOLIZE_STATUS))
        snprintf(out, size,
                 "the process is over, and ran no exit handler: it called _exit or was killed (its "
                 "parent "
                 "alone knows which)");
    else if (WIFSIGNALED(status))
        snprintf(out, size, "the program was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, size, "the program ended by _exit, code %d", WEXITSTATUS(status));
}

void symbolize_ending(struct symbolize *z)
{
    char text[160];
    if (z->ended || z->ending_known || !(z->flags & GPUFL_SYMBOLIZE_ENDED))
        return;
    describe(z->flags, text, sizeof text);
    struct message_row row = {
        .time = CELL_NULL,
        .severity = 1,
        .code = symbolize_put_piece(z, SYMBOLIZE_ENDING, sizeof SYMBOLIZE_ENDING - 1),
        .text = symbolize_put_piece(z, text, strlen(text)),
    };
    encode_rows(&z->lines, RECORD_message, &row.time, 1);
}
