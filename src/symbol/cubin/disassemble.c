/* disassemble.c - runs nvdisasm on a cubin. */
#include "symbol/cubin/disassemble.h"

#include "backend/vendor.h"
#include "symbol/device/disassembler.h"

#include <stdio.h>

enum { LIST_MOST = 16 << 10 };

/* Writes the numbers of the functions in the form that nvdisasm takes: "12,148". */
static void put_numbers(const struct disassemble_request *q, char *list, size_t size)
{
    size_t at = 0;
    *list = '\0';
    for (size_t i = 0; i < q->count && at + 16 < size; i++)
        at += (size_t)snprintf(list + at, size - at, "%s%u", i ? "," : "", q->functions[i]);
}

static void take_line(void *arg, char *line)
{
    disassembly_line(arg, line);
}

void cubin_disassemble_ahead(const char *program, const struct disassemble_request *q)
{
    char list[LIST_MOST];
    put_numbers(q, list, sizeof list);
    char *argv[] = {(char *)program, "-c", "-gi", "-fun", list, (char *)q->file, NULL};
    disassembler_ahead(&(struct disassembler_run){.program = program, .argv = argv});
}

int cubin_disassemble(const char *program, const struct disassemble_request *q, int64_t deadline,
                      struct err *e)
{
    char list[LIST_MOST];
    put_numbers(q, list, sizeof list);
    char *argv[] = {(char *)program, "-c", "-gi", "-fun", list, (char *)q->file, NULL};
    struct disassembly *text = disassembly_open(q->fn, q->arg);
    if (!text)
        return err_nomem(e);
    const struct disassembler_run run = {.program = program,
                                         .argv = argv,
                                         .file = q->file,
                                         .advice = q->advice,
                                         .line = take_line,
                                         .arg = text};
    int rc = disassembler_run(&run, deadline, e);
    disassembly_close(text);
    return rc;
}
