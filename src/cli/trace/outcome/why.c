/* why.c - why a run has no session.
 *
 * A trace that records nothing and gives no reason is of no use, so each known cause is looked for:
 * in the environment, in the program's file, on the disk, in the driver, in the library's marks
 * (marks.h) and in what was seen of the program (seen.h). One table lists the causes, most certain
 * first; the first one with evidence is reported. "The GPU was not used" is reported only if no
 * process opened the driver. Called by one thread only. */
#include "cli/trace/outcome/why.h"

#include "base/file/file.h"
#include "capture/options/options.h"
#include "cli/trace/outcome/here.h"
#include "cli/trace/outcome/words.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#error "gpufl runs on x86-64 and arm64"
#endif

enum { SHEBANG_DEPTH = 4, SHEBANG_BYTES = 256 };

/* ---- the program's file ------------------------------------------------------------------ */

bool why_resolve(const char *command, char *out, size_t size)
{
    if (strchr(command, '/'))
        return (size_t)snprintf(out, size, "%s", command) < size && access(out, X_OK) == 0;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/bin:/usr/bin";;) {
        size_t len = strcspn(at, ":");
        char dir[PATH_MAX];
        snprintf(dir, sizeof dir, "%.*s", (int)len, len ? at : ".");
        if (path_join(out, size, dir, command) == 0 && access(out, X_OK) == 0)
            return true;
        if (!at[len])
            return false;
        at += len + 1;
    }
}

/* Returns the kind of an ELF file for this machine, as its requested loader shows. */
static enum why_binary look_at_elf(int fd, const Elf64_Ehdr *h)
{
    for (int i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;
        char loader[128] = "";
        off_t at = (off_t)h->e_phoff + (off_t)i * h->e_phentsize;
        if (pread(fd, &p, sizeof p, at) != sizeof p)
            return WHY_UNKNOWN;
        if (p.p_type != PT_INTERP)
            continue;
        if (pread(fd, loader, sizeof loader - 1, (off_t)p.p_offset) <= 0)
            return WHY_UNKNOWN;
        return strstr(loader, "ld-musl") ? WHY_MUSL : WHY_DYNAMIC;
    }
    return WHY_STATIC;
}

static enum why_binary look_at(const char *path, int depth)
{
    union {
        Elf64_Ehdr elf;
        char text[SHEBANG_BYTES];
    } head = {0};
    enum why_binary kind = WHY_UNKNOWN;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kind;
    ssize_t n = pread(fd, &head, sizeof head - 1, 0);
    if (n >= EI_NIDENT && memcmp(head.elf.e_ident, ELFMAG, SELFMAG) == 0) {
        bool own = head.elf.e_ident[EI_CLASS] == ELFCLASS64 && head.elf.e_machine == OWN_MACHINE;
        kind = own ? look_at_elf(fd, &head.elf) : WHY_FOREIGN;
    } else if (n > 2 && memcmp(head.text, "#!", 2) == 0 && depth > 0) {
        char *interpreter = head.text + 2 + strspn(head.text + 2, " \t");
        interpreter[strcspn(interpreter, " \t\r\n")] = '\0';
        kind = look_at(interpreter, depth - 1);
    }
    close(fd);
    return kind;
}

enum why_binary why_look_at(const char *path)
{
    return look_at(path, SHEBANG_DEPTH);
}

/* Returns the interface by which the program would use the GPU: CUDA, HIP. */
static const char *runtime_of(const struct why *w)
{
    static char text[64];
    return here_runtime(here_backend(w->request), text, sizeof text);
}

/* ---- causes: each returns true after appending its sentence ------------------------------- */

static bool env_says(const char *name, bool value)
{
    const char *text = getenv(name);
    bool said;
    return text && *text && opt_bool(text, &said) == 0 && said == value;
}

static bool cause_disabled(const struct why *w, struct buf *out)
{
    const char *enabled = trace_options_setting(w->request, "enabled");
    bool on = true;
    if (env_says("GPUFL_DISABLED", true))
        buf_str(out, "capture is switched off by GPUFL_DISABLED in the environment; unset it");
    else if (enabled && opt_bool(enabled, &on) == 0 && !on)
        buf_str(out, "capture is switched off by --option enabled=false");
    else if (!enabled && env_says("GPUFL_ENABLED", false))
        buf_str(out, "capture is switched off by GPUFL_ENABLED in the environment; unset it");
    else
        return false;
    return true;
}

static const struct marks *marks_of(const struct why *w)
{
    static const struct marks none = {.fd = -1};
    return w->evidence ? &w->evidence->marks : &none;
}

static const struct seen *seen_of(const struct why *w)
{
    static const struct seen none = {.fd = -1, .library = -1};
    return w->evidence ? &w->evidence->seen : &none;
}

/* Writes " (signal 11, Segmentation fault)", " (exit code 3)". */
static void put_end(const struct why *w, struct buf *out)
{
    if (WIFSIGNALED(w->status))
        buf_printf(out, " (signal %d, %s)", WTERMSIG(w->status), strsignal(WTERMSIG(w->status)));
    else
        buf_printf(out, " (exit code %d)", WEXITSTATUS(w->status));
}

/* Handles the cause that the library itself said that no session could begin. */
static bool cause_refused(const struct why *w, struct buf *out)
{
    const struct marks *m = marks_of(w);
    if (!m->failed)
        return false;
    buf_printf(out, "the program used the GPU, but capture could not begin: %s", m->why);
    if (m->failed > 1)
        buf_printf(out, " (so in %u processes)", m->failed);
    return true;
}

static bool cause_switched_off(const struct why *w, struct buf *out)
{
    if (!marks_of(w)->disabled)
        return false;
    buf_printf(out, "capture is switched off inside the program by %s", marks_of(w)->disabler);
    return true;
}

/* Handles the cause that the program ended before the first records were written, or that the
 * sessions that began have no files. */
static bool cause_gone(const struct why *w, struct buf *out)
{
    const struct marks *m = marks_of(w);
    if (w->blank || (m->loaded && !m->began)) {
        buf_str(out, "the program ended");
        put_end(w, out);
        buf_printf(out, " %s: right after it had initialized %s",
                   w->blank ? "before the first records were written" : "while capture began",
                   runtime_of(w));
        return true;
    }
    if (!m->began)
        return false;
    if (m->unwritten && file_exists(m->dir)) {
        buf_printf(out,
                   "%u session%s began, and the log could not be written (%s): see the warnings "
                   "above for the reason",
                   m->began, m->began == 1 ? "" : "s", m->dir);
        return true;
    }
    buf_printf(out,
               "%u session%s began, and the files are gone: the program removed or moved them, or "
               "wrote to another file system (%s)",
               m->began, m->began == 1 ? "" : "s", m->dir);
    return true;
}

/* Returns true if no process of this host opened the driver, whatever its user or environment. */
static bool not_used(const struct why *w)
{
    return seen_no_driver(seen_of(w));
}

/* Handles the cause of commands that start the program in an environment of their own. */
static bool cause_wrapper(const struct why *w, struct buf *out)
{
    char name[64];
    enum word_wrapper kind = words_wrapper(w->request->command, name, sizeof name);
    if (kind == WORD_NONE || (kind != WORD_REMOTE && not_used(w)))
        return false;
    buf_printf(out,
               "%s starts programs in an environment of their own, without the variables "
               "that capture needs; put gpufl after it: %s … gpufl trace -- COMMAND",
               name, name);
    return true;
}

static bool cause_privileged(const struct why *w, struct buf *out)
{
    char path[PATH_MAX];
    struct stat st;
    if (not_used(w))
        return false;
    if (!why_resolve(w->request->command[0], path, sizeof path) || stat(path, &st) != 0)
        return false;
    bool setid = ((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
                 ((st.st_mode & S_ISGID) && st.st_gid != getgid());
    if (!setid && getxattr(path, "security.capability", NULL, 0) <= 0)
        return false;
    buf_printf(out,
               "%s gains privileges when it starts (setuid, setgid or file capabilities), and such "
               "programs take no injected library; run a copy without them, as the user it needs",
               path);
    return true;
}

static bool cause_binary(const struct why *w, struct buf *out)
{
    static const char *const sentences[] = {
        [WHY_STATIC] = "is statically linked: it has no loader that could take the capture library "
                       "or the GPU's driver; link it dynamically (libcudart may stay static)",
        [WHY_MUSL] = "is built for musl, where neither the GPU's driver nor the capture library "
                     "loads; build it for glibc",
        [WHY_FOREIGN] = "is built for another architecture or word size than the capture library",
    };
    char path[PATH_MAX];
    if (!why_resolve(w->request->command[0], path, sizeof path))
        return false;
    enum why_binary kind = why_look_at(path);
    if (kind == WHY_UNKNOWN || kind == WHY_DYNAMIC)
        return false;
    buf_printf(out, "%s %s", path, sentences[kind]);
    return true;
}

/* Returns the free space that the library asks for before it starts. */
static int64_t least_free_bytes(const struct why *w)
{
    int64_t bytes = 0;
    const char *setting = trace_options_setting(w->request, "log_min_free_bytes");
    if (!setting)
        setting = getenv("GPUFL_LOG_MIN_FREE_BYTES");
    if (!setting || opt_size(setting, &bytes) != 0)
        opt_size(option_table[OPT_log_min_free_bytes].fallback, &bytes);
    return bytes;
}

static bool cause_directory(const struct why *w, struct buf *out)
{
    const char *dir = w->place->dir;
    int64_t available = file_free_bytes(dir), least = least_free_bytes(w);
    if (access(dir, W_OK | X_OK) != 0) {
        buf_printf(out, "the directory %s cannot be written (any more): %s; name one with -o DIR",
                   dir, strerror(errno));
        return true;
    }
    if (available < 0 || available >= least)
        return false;
    buf_printf(out,
               "the disk of %s has %" PRId64 " MiB left, less than the reserve of %" PRId64
               " MiB; name another directory with -o DIR, or lower --option log_min_free_bytes=",
               dir, available >> 20, least >> 20);
    return true;
}

static bool cause_library(const struct why *w, struct buf *out)
{
    void *library = dlopen(w->place->library, RTLD_NOW | RTLD_LOCAL);
    if (library && dlsym(library, "InitializeInjection"))
        return false;
    const char *reason = dlerror();
    buf_printf(out, "the capture library does not load: %s; reinstall gpufl",
               reason ? reason : w->place->library);
    return true;
}

/* A simulated GPU needs no driver, so only the program itself can load the library. */
static bool cause_simulated(const struct why *w, struct buf *out)
{
    const char *backend = here_backend(w->request);
    if (!backend || strcasecmp(backend, "sim") != 0)
        return false;
    buf_str(out, "backend Sim simulates a GPU for programs that call gpufl_init, and this one does "
                 "not; gpufl sim writes a session without a program");
    return true;
}

static bool cause_driver(const struct why *w, struct buf *out)
{
    const char *why = here_lacks(here_backend(w->request));
    if (why)
        buf_str(out, why);
    return why != NULL;
}

/* The driver and the library were opened, and the library never ran. */
static bool not_loaded(const struct why *w)
{
    const struct seen *s = seen_of(w);
    return s->library_opened && s->driver_opened && marks_of(w)->fd >= 0;
}

static bool cause_memory(const struct why *w, struct buf *out)
{
    const struct seen *s = seen_of(w);
    if (!not_loaded(w) || !s->memory_limit)
        return false;
    buf_printf(out,
               "the capture library did not load in the program, whose memory is limited to "
               "%" PRId64 " MiB of addresses (ulimit -v); raise the limit",
               s->memory_limit >> 20);
    return true;
}

static bool cause_not_loaded(const struct why *w, struct buf *out)
{
    if (!not_loaded(w))
        return false;
    buf_printf(out,
               "the capture library was opened, and nobody called it: the program never "
               "initialized %s, or the library did not load there, though it loads here (a "
               "memory limit, a sandbox); LD_DEBUG=libs shows what the loader says",
               runtime_of(w));
    return true;
}

/* The driver was opened, and the library was not. */
static bool not_asked(const struct why *w)
{
    const struct seen *s = seen_of(w);
    return s->driver_opened && !s->library_opened && s->library >= 0;
}

/* Returns the vendor whose driver was watched. */
static const struct vendor *vendor_seen(const struct why *w)
{
    const struct vendor *v = seen_of(w)->vendor;
    return v ? v : vendors[0];
}

/* Returns the variables that capture needs in the program. */
static const char *variables_of(const struct why *w)
{
    static char text[128];
    const char *injection = vendor_seen(w)->injection;
    snprintf(text, sizeof text, "%s%sGPUFL_TRACE_OPTIONS", injection ? injection : "",
             injection ? ", " : "");
    return text;
}

static bool cause_environment(const struct why *w, struct buf *out)
{
    if (!not_asked(w) || !seen_of(w)->environment_lost)
        return false;
    buf_printf(out,
               "the %s driver was opened, but %s ran without the variables that capture needs "
               "(%s): something on the way cleared the environment; put gpufl after that: … gpufl "
               "trace -- COMMAND",
               vendor_runtime(vendor_seen(w)), seen_of(w)->name, variables_of(w));
    return true;
}

static bool cause_not_asked(const struct why *w, struct buf *out)
{
    const char *runtime = vendor_runtime(vendor_seen(w));
    if (!not_asked(w))
        return false;
    if (seen_of(w)->driver_mapped)
        buf_printf(out,
                   "the %s driver was loaded, but it did not load the capture library: the "
                   "program did not initialize %s, or failed to, or did so",
                   runtime, runtime);
    else
        buf_printf(out,
                   "the %s driver was opened, by the program or by another one of this host, and "
                   "the capture library was not: the program did not use the GPU, or did so",
                   runtime);
    buf_printf(out, " without the variables that capture needs (%s); it ended", variables_of(w));
    put_end(w, out);
    return true;
}

/* The loader and shells end with code 127; any other program may, too. */
static bool cause_not_found(const struct why *w, struct buf *out)
{
    if (!WIFEXITED(w->status) || WEXITSTATUS(w->status) != 127 || seen_of(w)->library_opened)
        return false;
    buf_str(out, "the program ended with exit code 127, and no session began in it: the loader and "
                 "shells end with this code if they do not find a shared library or command, whose "
                 "name they print");
    return true;
}

static bool cause_unused(const struct why *w, struct buf *out)
{
    bool known = not_used(w);
    if (known)
        buf_printf(out, "the program never used the GPU: no process opened the %s driver (%s)",
                   vendor_runtime(vendor_seen(w)), seen_of(w)->driver);
    else
        buf_printf(
            out,
            "no process with gpufl's environment initialized %s: the program did not use the "
            "GPU, or did so in a process that this environment did not reach",
            runtime_of(w));
    if (WIFSIGNALED(w->status))
        buf_printf(out, " before signal %d ended it", WTERMSIG(w->status));
    else if (WEXITSTATUS(w->status))
        buf_printf(out, " before it ended with exit code %d", WEXITSTATUS(w->status));
    buf_str(out, ". `gpufl info` says what can be captured here");
    return true;
}

void why_no_session(const struct why *w, struct buf *out)
{
    static bool (*const causes[])(const struct why *, struct buf *) = {
        cause_refused,   cause_disabled, cause_switched_off, cause_gone,       cause_not_found,
        cause_wrapper,   cause_memory,   cause_environment,  cause_privileged, cause_binary,
        cause_directory, cause_library,  cause_simulated,    cause_driver,     cause_not_loaded,
        cause_not_asked, cause_unused,
    };
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (causes[i](w, out))
            return;
}
