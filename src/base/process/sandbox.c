/* sandbox.c - sets limits and two filters of system calls; see sandbox.h.
 *
 * A filter is a small program in the kernel's classic BPF that sees a call's number and arguments.
 * If several filters are installed, the strictest answer counts. Numbers are compared only for the
 * ABI that the process was built for; calls of any other ABI are refused. */
#include "base/process/sandbox.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define SANDBOX_ABI   AUDIT_ARCH_X86_64
#define SANDBOX_OTHER 0x40000000u /* from here on: numbers of x32 */
#elif defined __aarch64__
#define SANDBOX_ABI   AUDIT_ARCH_AARCH64
#define SANDBOX_OTHER 0xffffffffu
#else
#error "system calls of this architecture are not known here"
#endif

enum { NOBODY = 65534 };

#define CALL(name)      offsetof(struct seccomp_data, name)
#define LOAD(at)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at))
#define ARGUMENT(n)     LOAD(CALL(args) + 8 * (n)) /* its low half: both ABIs are little-endian */
#define RETURN(v)       BPF_STMT(BPF_RET | BPF_K, (v))
#define REFUSE          RETURN(SECCOMP_RET_ERRNO | EPERM)
#define IF(op, v, t, f) BPF_JUMP(BPF_JMP | (op) | BPF_K, (v), (t), (f))

/* ---- limits ---------------------------------------------------------------------------------- */

int sandbox_close_from(unsigned first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return 0;
#endif
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l))
        return err_from_errno(errno);
    for (rlim_t fd = first; fd < l.rlim_cur; fd++)
        close((int)fd);
    return 0;
}

static int limit(int what, int64_t most)
{
    const struct rlimit l = {(rlim_t)most, (rlim_t)most};
    return setrlimit((__rlimit_resource_t)what, &l) ? err_from_errno(errno) : 0;
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static int limit_memory(int64_t more)
{
    (void)more; /* the sanitizers' shadow memory takes terabytes of addresses */
    return 0;
}
#else
/* Returns the number of bytes of address space in use; -1: unknown. */
static int64_t mapped_now(void)
{
    long long pages = -1;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return -1;
    if (fscanf(f, "%lld", &pages) != 1)
        pages = -1;
    fclose(f);
    return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

static int limit_memory(int64_t more)
{
    int64_t now = mapped_now();
    return now < 0 ? GPUFL_E_UNAVAILABLE : limit(RLIMIT_AS, now + more);
}
#endif

int sandbox_limit(const struct sandbox_limits *l)
{
    int rc = l->memory ? limit_memory(l->memory) : 0;
    rc = rc ? rc : limit(RLIMIT_CPU, l->cpu);
    rc = rc ? rc : limit(RLIMIT_NOFILE, l->files);
    rc = rc ? rc : limit(RLIMIT_CORE, 0);
    rc = rc ? rc : limit(RLIMIT_FSIZE, 0);
    if (!rc && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)))
        rc = err_from_errno(errno);
    return rc;
}

int sandbox_drop_user(void)
{
    if (geteuid() != 0)
        return 0;
    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
        setresuid(NOBODY, NOBODY, NOBODY) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
        return err_from_errno(errno);
    return 0;
}

/* ---- filters --------------------------------------------------------------------------------- */

static int install(struct sock_filter *code, size_t n)
{
    const struct sock_fprog program = {(unsigned short)n, code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? err_from_errno(errno) : 0;
}

int sandbox_keep_names(void)
{
    struct sock_filter code[] = {
        LOAD(CALL(arch)),
        IF(BPF_JEQ, SANDBOX_ABI, 1, 0),
        REFUSE,
        LOAD(CALL(nr)),
#ifdef SYS_readlink
        IF(BPF_JEQ, SYS_readlink, 1, 0),
#endif
        IF(BPF_JEQ, SYS_readlinkat, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | EINVAL), /* what readlink says of a file that is no link */
        IF(BPF_JEQ, SYS_fcntl, 1, 0),
        RETURN(SECCOMP_RET_ALLOW),
        ARGUMENT(1),
        IF(BPF_JEQ, F_SETLK, 2, 0),
        IF(BPF_JEQ, F_SETLKW, 1, 0),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO), /* errno 0: the call succeeds and does nothing */
    };
    return install(code, sizeof code / sizeof *code);
}

/* Lists the calls that computing needs. No call that names a file, a process or an address is among
 * them. */
static const unsigned allowed[] = {
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_writev,
    SYS_close,
    SYS_lseek,
    SYS_fstat,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_sched_yield,
    SYS_getpid,
    SYS_gettid,
    SYS_getrandom,
    SYS_getrusage,
    SYS_getcpu,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigaction,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    SYS_sched_getaffinity,
#ifdef SYS_time
    SYS_time,
#endif
};

enum { ALLOWED = sizeof allowed / sizeof *allowed, PROGRAM_MAX = 24 + 2 * ALLOWED };

int sandbox_enter(void)
{
    struct sock_filter code[PROGRAM_MAX];
    size_t n = 0;
    const struct sock_filter head[] = {
        LOAD(CALL(arch)), IF(BPF_JEQ, SANDBOX_ABI, 1, 0),   REFUSE,
        LOAD(CALL(nr)),   IF(BPF_JGE, SANDBOX_OTHER, 0, 1), REFUSE,
    };
    /* Every executable mapping is refused, so no memory is both writable and executable. */
    const struct sock_filter tail[] = {
        IF(BPF_JEQ, SYS_mmap, 2, 0),
        IF(BPF_JEQ, SYS_mprotect, 1, 0),
        REFUSE,
        ARGUMENT(2),
        IF(BPF_JSET, PROT_EXEC, 0, 1),
        REFUSE,
        RETURN(SECCOMP_RET_ALLOW),
    };
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        code[n++] = head[i];
    for (size_t i = 0; i < ALLOWED; i++) {
        code[n++] = (struct sock_filter)IF(BPF_JEQ, allowed[i], 0, 1);
        code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    }
    for (size_t i = 0; i < sizeof tail / sizeof *tail; i++)
        code[n++] = tail[i];
    return install(code, n);
}
