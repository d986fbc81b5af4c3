/* stacks_fold.c - which function of a stack is the program's own, and what to call it.
 *
 * A line of a library is not what its caller can change: libraries, runtimes and
 * interpreters are passed over, from the innermost frame outwards. What is left
 * is told in the words that a compiler's message would use. */
#include "analyze/stacks.h"

#include "analyze/model.h"
#include "symbol/demangle.h"
#include "symbol/shorten.h"

#include <stdio.h>
#include <string.h>

/* Modules by the start of their file's name. */
static const char *const runtime_modules[] = {
    "libcuda",  "libcupti", "libnv",     "libcublas", "libcudnn", "libcufft",   "libcurand",
    "libcusol", "libcuspa", "libnccl",   "libgpufl",  "libtorch", "libc10",     "libpython",
    "python",   "ld-linux", "libstdc++", "libgcc_s",  "libc.so",  "libpthread", "libm.so",
    "libdl.so", "libgomp",  "libomp",    "libiomp",   "libhip",   "libamd",     "libroc",
};

/* Files by a part of their path. */
static const char *const library_files[] = {
    "/site-packages/", "/dist-packages/", "/lib/python3", "/usr/include/", "/include/c++/",
};

static bool in_library_file(const char *file)
{
    for (size_t i = 0; i < sizeof library_files / sizeof *library_files; i++)
        if (strstr(file, library_files[i]))
            return true;
    return !strncmp(file, "<frozen", 7);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool in_runtime_module(const char *path)
{
    static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
    const char *name = base_name(path);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (!strncmp(path, folders[i], strlen(folders[i])))
            return true;
    for (size_t i = 0; i < sizeof runtime_modules / sizeof *runtime_modules; i++)
        if (!strncmp(name, runtime_modules[i], strlen(runtime_modules[i])))
            return true;
    return false;
}

static const char *module_path(const struct model *m, uint32_t module)
{
    if (!module || module >= m->stacks.modules.count)
        return "";
    const struct stacks_module *at = keyed_at(&m->stacks.modules, module);
    return model_text(m, at->path);
}

bool stacks_is_user(const struct model *m, const struct stacks_step *step)
{
    const char *file = model_text(m, step->file), *module = module_path(m, step->module);
    enum { ELF_FILE = 1 };
    if (step->kind == STACKS_MARK || in_library_file(file))
        return false;
    if (step->kind == STACKS_PYTHON)
        return true;
    const struct stacks_module *at =
        step->module ? keyed_at(&m->stacks.modules, step->module) : NULL;
    return at && at->kind == ELF_FILE && *module && !in_library_file(module) &&
           !in_runtime_module(module);
}

static void put_where(const struct model *m, uint32_t file, int64_t line, uint32_t module,
                      int64_t offset, struct buf *out)
{
    const char *path = module_path(m, module);
    if (file && line)
        buf_printf(out, "%s:%lld", base_name(model_text(m, file)), (long long)line);
    else if (file)
        buf_printf(out, "%s", base_name(model_text(m, file)));
    else if (offset)
        buf_printf(out, "%s+0x%llx", *path ? base_name(path) : "(no file)",
                   (unsigned long long)offset);
    else
        buf_printf(out, "%s", *path ? base_name(path) : "(unknown)");
}

void stacks_put_place(const struct model *m, uint32_t place, struct buf *out)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, place);
    if (p && p->mark)
        buf_str(out, model_text(m, p->mark));
    else if (p)
        put_where(m, p->file, p->line, p->module, p->offset, out);
}

void stacks_put_function(const struct model *m, uint32_t function, size_t width, struct buf *out)
{
    const char *name = model_text(m, function);
    struct buf full;
    size_t from = out->len;
    if (!*name)
        return;
    buf_init(&full, DEMANGLE_ROOM);
    demangle_put(&full, name);
    shorten_put(out, buf_cstr(&full), width);
    if (buf_error(&full))
        out->error = buf_error(&full);
    buf_fini(&full);
    bool plain = *name != '<' && !buf_error(out) && !memchr(out->data + from, '(', out->len - from);
    if (plain)
        buf_str(out, "()");
}

void stacks_put_step(const struct model *m, const struct stacks_step *step, size_t width,
                     struct buf *out)
{
    if (step->kind == STACKS_MARK) {
        buf_str(out, model_text(m, step->function));
        return;
    }
    put_where(m, step->file, step->line, step->module, step->function ? 0 : step->offset, out);
    if (step->function) {
        buf_str(out, " ");
        stacks_put_function(m, step->function, width, out);
    }
    if (step->inlined)
        buf_str(out, " (inlined)");
}
