/* test_unwind.c - tests frames of every kind, compared with libgcc's unwinder, and invalid
 * stacks. */
#include "stack/native/modules.h"
#include "stack/native/unwind.h"
#include "stack/stack.h"
#include "tests/stack/shapes.h"
#include "tests/test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

enum {
    MOST = UNWIND_MOST,
    BELOW = 32 << 10, /* its calls use less stack than this, in bytes */
};

struct seen {
    size_t n, libgcc;
    enum unwind_end end;
    const struct unwind_frame *frames;
    struct unwind walk;
    struct {
        uintptr_t ip, sp;
    } known[MOST];
    bool remembered;
    const char *wrong;
};

static size_t sames; /* walks that equalled the one before */

static _Unwind_Reason_Code remember(struct _Unwind_Context *context, void *arg)
{
    struct seen *s = arg;
    if (s->libgcc == MOST)
        return _URC_END_OF_STACK;
    s->known[s->libgcc].ip = _Unwind_GetIP(context);
    s->known[s->libgcc++].sp = _Unwind_GetCFA(context);
    return _URC_NO_REASON;
}

/* Walks with and without memory of earlier walks; s->remembered: both find equal frames. */
static void walk_from(struct seen *s, const struct cpu_regs *regs)
{
    static struct unwind fresh;
    fresh.n = 0;
    unwind_walk(&fresh, regs);
    unwind_walk(&s->walk, regs);
    s->remembered = s->walk.n == fresh.n && s->walk.end == fresh.end;
    for (size_t i = 0; s->remembered && i < fresh.n; i++)
        s->remembered = memcmp(&s->walk.frames[i], &fresh.frames[i], sizeof fresh.frames[i]) == 0;
    sames += s->walk.same;
    s->frames = s->walk.frames;
    s->n = s->walk.n;
    s->end = s->walk.end;
}

/* Unwinds from here in both ways; s->wrong says what differs. */
static __attribute__((noinline)) void probe(void *arg)
{
    struct seen *s = arg;
    struct cpu_regs here = {0};
    s->libgcc = 0;
    s->wrong = NULL;
    _Unwind_Backtrace(remember, s);
    cpu_here(&here);
    walk_from(s, &here);
    if (!s->remembered) {
        s->wrong = "what it remembers";
        return;
    }
    size_t skip = 0; /* frames of a sanitizer before ours */
    while (skip < s->libgcc && s->known[skip].ip != s->frames[1].at + 1)
        skip++;
    if (skip == s->libgcc) {
        s->wrong = "the caller";
        return;
    }
    size_t i = 1;
    for (; i < s->n && skip < s->libgcc; i++, skip++) {
        const struct unwind_frame *f = &s->frames[i];
        if (s->known[skip].ip != f->at + 1 && s->known[skip].ip != f->at)
            s->wrong = "an address";
        else if (s->known[skip].sp != s->frames[i - 1].cfa)
            s->wrong = "a CFA";
        if (s->wrong)
            return;
    }
    if (s->end == UNWIND_OUTERMOST && (i < s->n || s->n < 3))
        s->wrong = "the end";
    /* libgcc ends with an address of 0 if a thread began without a mark. */
    if (skip + 1 < s->libgcc && s->n < MOST)
        s->wrong = "the length";
}

TEST(test_shapes_as_libgcc_sees_them)
{
    static struct seen s;
    for (const struct shape *shape = shapes; shape->name; shape++)
        for (int round = 0; round < 2; round++) { /* first rows are made, then found */
            s.wrong = "never called";
            shape->call(probe, &s, shape->n);
            if (s.wrong)
                fail_msg("%s: %s (%zu frames, libgcc %zu)", shape->name, s.wrong, s.n, s.libgcc);
            /* The first function of a coroutine returns to a function that never called it. */
            bool whole = strcmp(shape->name, "coroutine") != 0;
            if (s.end != (whole ? UNWIND_OUTERMOST : UNWIND_LOST))
                fail_msg("%s: ends with %d after %zu frames", shape->name, s.end, s.n);
            for (size_t i = 0; i < s.n; i++)
                assert_int_not_equal(s.frames[i].row.how, ROWS_NONE);
        }
}

/* Stacks that differ in one outer frame are walked in turns; their inner frames are in place. */
TEST(test_walks_that_differ_far_out)
{
    static struct seen s;
    unsigned seed = 9;
    size_t before = sames;
    for (int i = 0; i < 3000; i++) {
        int bits = i % 3 ? 1 << rand_r(&seed) % 16 : 0;
        s.wrong = "never called";
        shape_path(probe, &s, 0x2a51 ^ bits);
        if (s.wrong)
            fail_msg("walk %d: %s", i, s.wrong);
    }
    for (const struct shape *a = shapes; a->name; a++)
        for (const struct shape *b = shapes; b->name; b++) {
            a->call(probe, &s, a->n);
            assert_null(s.wrong);
            b->call(probe, &s, b->n);
            if (s.wrong)
                fail_msg("%s after %s: %s", b->name, a->name, s.wrong);
        }
    assert_true(sames > before); /* some walks were found whole */
}

TEST(test_deeper_than_there_is_room)
{
    static struct seen s;
    shape_deep(probe, &s, 5000);
    assert_null(s.wrong);
    assert_int_equal(s.end, UNWIND_FULL);
    assert_int_equal(s.n, MOST);
}

static void *in_thread(void *arg)
{
    shape_deep(probe, arg, 12);
    return NULL;
}

TEST(test_a_thread_ends_where_it_began)
{
    static struct seen s;
    pthread_t t;
    s.wrong = "never called";
    assert_int_equal(pthread_create(&t, NULL, in_thread, &s), 0);
    pthread_join(t, NULL);
    assert_null(s.wrong);
    assert_int_equal(s.end, UNWIND_OUTERMOST);
    assert_true(s.n >= 15);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
static int in_clone(void *arg)
{
    shape_deep(probe, arg, 9);
    return 0;
}

/* Like a child of vfork: another stack, but the parent's memory and thread-local variables. */
TEST(test_a_borrowed_address_space)
{
    static struct seen s;
    size_t size = 256 * 1024;
    char *stack = malloc(size);
    s.wrong = "never called";
    int pid = clone(in_clone, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, &s), status;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_null(s.wrong);
    assert_int_equal(s.end, UNWIND_OUTERMOST);
    free(stack);
}
#endif

/* ---- registers that lead nowhere ---- */

static size_t walk(uintptr_t pc, uintptr_t sp, uintptr_t fp, struct seen *s)
{
    struct cpu_regs r = {.pc = pc};
    r.reg[CPU_SP] = sp;
    r.reg[CPU_FP] = fp;
    walk_from(s, &r);
    return s->n;
}

TEST(test_nowhere)
{
    static struct seen s;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(p + page, page, PROT_NONE), 0);
    /* Places on this stack with words like frames, and with words of earlier calls. The walks write
     * right below this frame, so that a second walk there would find other words than the first. */
    uintptr_t room[1024], near = (uintptr_t)room;
    uintptr_t above = (near + 4095) & ~(uintptr_t)4095, below = above - BELOW;
    for (size_t i = 0; i < 1024; i++)
        room[i] = i % 2 ? (uintptr_t)malloc + i : near + 8 * (i + 2 + i % 6);
    const uintptr_t places[] = {0,
                                1,
                                7,
                                8,
                                4096,
                                (uintptr_t)p,
                                (uintptr_t)p + page - 8,
                                (uintptr_t)p + page - 1,
                                (uintptr_t)p + page,
                                near + 1,
                                near + 3,
                                above,
                                below,
                                UINTPTR_MAX,
                                UINTPTR_MAX - 7,
                                (uintptr_t)1 << 47,
                                (uintptr_t)0xdeadbeefdeadbeef};
    const uintptr_t pcs[] = {0,
                             1,
                             (uintptr_t)shape_plain,
                             (uintptr_t)shape_plain + 1,
                             (uintptr_t)shape_keeps_fp + 8,
                             (uintptr_t)shape_path + 6,
                             (uintptr_t)p,
                             (uintptr_t)malloc,
                             UINTPTR_MAX,
                             (uintptr_t)1 << 63};
    for (size_t k = 0; k < sizeof pcs / sizeof pcs[0]; k++)
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
            for (size_t j = 0; j < sizeof places / sizeof places[0]; j++) {
                assert_in_range(walk(pcs[k], places[i], places[j], &s), 1, MOST);
                assert_true(s.remembered);
                assert_int_equal(s.frames[0].at, pcs[k]);
            }
    munmap(p, 2 * page);
}

TEST(test_garbage_on_the_stack)
{
    static struct seen s;
    static uintptr_t garbage[4096];
    unsigned seed = 1;
    size_t most = 0;
    for (int round = 0; round < 3000; round++) {
        for (size_t i = 0; i < 4096; i++) {
            uintptr_t r = (uintptr_t)rand_r(&seed);
            /* The words are numbers, addresses of code, and addresses of this array. */
            garbage[i] = r % 4 == 0   ? r * 977
                         : r % 4 == 1 ? (uintptr_t)shape_plain + r / 4 % 4096
                         : r % 4 == 2 ? (uintptr_t)malloc + r / 4 % 100000
                                      : (uintptr_t)&garbage[r / 4 % 4096];
        }
        uintptr_t at = (uintptr_t)&garbage[rand_r(&seed) % 2048];
        walk((uintptr_t)shape_plain + (uintptr_t)rand_r(&seed) % 2000, at, at + 64, &s);
        assert_true(s.remembered);
        most = s.n > most ? s.n : most;
        for (size_t i = 2; i < s.n; i++) /* a caller is above its callee */
            if (s.frames[i - 1].cfa && s.frames[i - 1].cfa <= s.frames[i - 2].cfa)
                fail_msg("frame %zu is below %zu", i - 1, i - 2);
    }
    assert_true(most > 2); /* some of it looked like frames */
}

#if defined(__x86_64__)
/* ---- code without tables ---- */

/* Code like that of a JIT compiler, which calls rdi with rsi. */
static const unsigned char with_fp[] = {
    0x55,                   /* push rbp */
    0x48, 0x89, 0xe5,       /* mov rbp, rsp */
    0x48, 0x83, 0xec, 0x30, /* sub rsp, 48 */
    0x48, 0x89, 0xf8,       /* mov rax, rdi */
    0x48, 0x89, 0xf7,       /* mov rdi, rsi */
    0xff, 0xd0,             /* call rax */
    0xc9, 0xc3,             /* leave; ret */
};
static const unsigned char without_fp[] = {
    0x48, 0x83, 0xec, 0x38, /* sub rsp, 56 */
    0x48, 0x89, 0xf8,       /* mov rax, rdi */
    0x48, 0x89, 0xf7,       /* mov rdi, rsi */
    0xff, 0xd0,             /* call rax */
    0x48, 0x83, 0xc4, 0x38, /* add rsp, 56 */
    0xc3,                   /* ret */
};

static void *generate(const unsigned char *code, size_t size)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    memcpy(p, code, size);
    assert_int_equal(mprotect(p, 4096, PROT_READ | PROT_EXEC), 0);
    return p;
}

struct generated {
    void (*code)(shape_probe *probe, void *arg);
    struct seen *s;
};

static void call_generated(void *arg)
{
    struct generated *g = arg;
    g->code(probe, g->s);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static __attribute__((optimize("no-omit-frame-pointer"))) void call_generated_with_fp(void *arg)
{
    struct generated *g = arg;
    g->code(probe, g->s);
    __asm__ volatile("" ::: "memory");
}

static size_t frame_in(const struct seen *s, const void *page)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->frames[i].at - (uintptr_t)page < 4096)
            return i;
    return SIZE_MAX;
}

TEST(test_generated_code_with_a_frame_pointer)
{
    static struct seen s;
    void *page = generate(with_fp, sizeof with_fp);
    struct generated g = {(void (*)(shape_probe *, void *))page, &s};
    shape_plain(call_generated, &g, 1);
    size_t at = frame_in(&s, page);
    assert_int_equal(at, 1);
    assert_int_equal(s.frames[at].row.how, ROWS_NONE);
    assert_int_equal(s.frames[at].row.module, 0);
    assert_int_equal(s.end, UNWIND_OUTERMOST);
    uintptr_t caller = s.frames[at + 1].at, plain = s.frames[at + 2].at;
    assert_in_range(caller, (uintptr_t)call_generated, (uintptr_t)call_generated + 400);
    assert_in_range(plain, (uintptr_t)shape_plain, (uintptr_t)shape_plain + 200);
    munmap(page, 4096);
}

/* The caller of the generated code has a frame pointer of its own. A walk that followed it would
 * leave that caller out and name a wrong one. */
TEST(test_generated_code_without_one_ends_the_walk)
{
    static struct seen s;
    void *page = generate(without_fp, sizeof without_fp);
    struct generated g = {(void (*)(shape_probe *, void *))page, &s};
    shape_keeps_fp(call_generated_with_fp, &g, 1);
    assert_int_equal(s.end, UNWIND_LOST);
    assert_int_equal(frame_in(&s, page), s.n - 1);
    munmap(page, 4096);
}
#endif

int main(void)
{
    modules_open(getenv("STACK_OWN_SNAPSHOT") != NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_as_libgcc_sees_them),
        cmocka_unit_test(test_walks_that_differ_far_out),
        cmocka_unit_test(test_deeper_than_there_is_room),
        cmocka_unit_test(test_a_thread_ends_where_it_began),
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
        cmocka_unit_test(test_a_borrowed_address_space),
#endif
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_garbage_on_the_stack),
#if defined(__x86_64__)
        cmocka_unit_test(test_generated_code_with_a_frame_pointer),
        cmocka_unit_test(test_generated_code_without_one_ends_the_walk),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
