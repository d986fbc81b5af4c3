/* process_info.c - see process_info.h. */
#include "capture/options/process_info.h"

#include "base/err.h"
#include "base/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Holds the number of the process that sessions name; 0: this one. */
static int acted_for;
static char its_command[1025];

static char rank[16]; /* written before the session's threads begin */

void process_info_act_for(int pid, const char *command)
{
    acted_for = pid;
    snprintf(its_command, sizeof its_command, "%s", command);
}

bool process_info_acts_for_other(void)
{
    return acted_for != 0;
}

int process_info_pid(void)
{
    return acted_for ? acted_for : getpid();
}

/* Reads the arguments, NUL between them; returns their length. */
static size_t read_arguments(char *out, size_t size)
{
    if (acted_for) {
        snprintf(out, size, "%s", its_command);
        return strlen(out);
    }
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    n = n > 0 ? n : 0;
    out[n] = '\0';
    while (n > 0 && out[n - 1] == '\0')
        n--;
    return (size_t)n;
}

/* Returns the script that an interpreter runs: "python3.12 -u train.py" is named train.py. */
static const char *script_of(const char *arguments, size_t len)
{
    const char *at = arguments, *end = arguments + len;
    for (at += strlen(at) + 1; at < end && *at == '-'; at += strlen(at) + 1)
        if (at[1] == 'c' || at[1] == 'm' || at[1] == '\0')
            return NULL; /* a command, a module or stdin */
    return at < end ? at : NULL;
}

void process_info_program(char *out, unsigned long size)
{
    char arguments[1024];
    size_t len = read_arguments(arguments, sizeof arguments);
    const char *name = path_base(arguments);
    if (strncmp(name, "python", 6) == 0) {
        const char *script = script_of(arguments, len);
        name = script ? path_base(script) : name;
    }
    snprintf(out, size, "%s", *name ? name : "gpufl");
}

static int make_uuid(char out[37])
{
    unsigned char b[16];
    size_t have = 0;
    while (have < sizeof b) {
        ssize_t n = getrandom(b + have, sizeof b - have, 0);
        if (n < 0 && errno != EINTR)
            return GPUFL_E_IO;
        have += n > 0 ? (size_t)n : 0;
    }
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* version 4 */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80); /* variant 1 */
    char *at = out;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        at += snprintf(at, 3, "%02x", b[i]);
    }
    return 0;
}

/* Reads the rank that torchrun (and launchers like it), Open MPI, MPICH or Slurm gave. */
static void read_rank(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    rank[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names && !*rank && !acted_for; i++) {
        const char *text = getenv(names[i]);
        size_t len = text ? strspn(text, "0123456789") : 0;
        if (len && !text[len] && len < 10)
            memcpy(rank, text, len + 1);
    }
}

const char *process_info_rank(void)
{
    return rank;
}

int process_info_read(struct process_info *a)
{
    struct utsname u;
    read_rank();
    *a = (struct process_info){0};
    if (gethostname(a->host, sizeof a->host - 1))
        a->host[0] = '\0';
    if (uname(&u) == 0)
        snprintf(a->system, sizeof a->system, "%s %s %s", u.sysname, u.release, u.machine);
    size_t len = read_arguments(a->command, sizeof a->command);
    for (size_t i = 0; i < len; i++)
        if (a->command[i] == '\0')
            a->command[i] = ' ';
    process_info_program(a->program, sizeof a->program);
    return make_uuid(a->session);
}
