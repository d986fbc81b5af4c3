/* code_reader.c - see code_reader.h. */
#include "symbol/code_reader.h"

#include "backend/vendor.h"
#include "symbol/amdgpu/disassemble.h"
#include "symbol/cubin/disassemble.h"
#include "symbol/cubin/lines.h"
#include "symbol/device/disassembler.h"

#include <string.h>

/* The deadline is not used: a cubin's table is read once, and lines.c limits the work. */
static int lines_of_cubin(const struct disassemble_request *q, int64_t deadline, struct err *e)
{
    (void)deadline;
    return cubin_lines(q->file, q->functions, q->count, q->fn, q->arg, e);
}

static const struct reader {
    int (*disassemble)(const char *program, const struct disassemble_request *q, int64_t deadline,
                       struct err *e);
    int (*lines)(const struct disassemble_request *q, int64_t deadline, struct err *e);
    /* NULL: the program is run more than once for a file. */
    void (*ahead)(const char *program, const struct disassemble_request *q);
} readers[] = {
    [VENDOR_CODE_CUBIN] = {cubin_disassemble, lines_of_cubin, cubin_disassemble_ahead},
    [VENDOR_CODE_AMDGPU] = {amdgpu_disassemble, amdgpu_lines, NULL},
};

const struct vendor *code_reader_vendor(const char *name, size_t *stem)
{
    size_t len = strlen(name);
    for (const struct vendor *const *v = vendors; *v; v++) {
        const char *ending = (*v)->disassembler.ending;
        size_t cut = ending ? strlen(ending) : 0;
        if (!cut || len <= cut || strcmp(name + len - cut, ending) != 0)
            continue;
        if (stem)
            *stem = len - cut;
        return *v;
    }
    return NULL;
}

int code_reader_find(const struct vendor *v, char *path, size_t size, struct err *e)
{
    return disassembler_find(&v->disassembler, path, size, e);
}

const char *code_reader_advice(const struct vendor *v)
{
    return v->disassembler.advice;
}

int code_reader_disassemble(const struct vendor *v, const char *program,
                            const struct disassemble_request *q, int64_t deadline, struct err *e)
{
    struct disassemble_request whole = *q;
    whole.advice = v->disassembler.advice;
    return readers[v->disassembler.code].disassemble(program, &whole, deadline, e);
}

void code_reader_ahead(const struct vendor *v, const char *program,
                       const struct disassemble_request *q)
{
    if (readers[v->disassembler.code].ahead)
        readers[v->disassembler.code].ahead(program, q);
}

void code_reader_forget(void)
{
    disassembler_forget();
}

int code_reader_lines(const struct vendor *v, const struct disassemble_request *q, int64_t deadline,
                      struct err *e)
{
    return readers[v->disassembler.code].lines(q, deadline, e);
}
