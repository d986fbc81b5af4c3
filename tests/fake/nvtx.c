/* nvtx.c - a "CUDA program" that marks its work with NVTX ranges, through a client of its own:
 * pointers in two tables that the tool fills, as every library that uses NVTX has them.
 *
 *   fake_nvtx CASE...
 *     nested    pushed ranges in each other: texts, wide ones, registered ones, a domain
 *     started   ranges that overlap, one that another thread ends
 *     ops       1000 operations as PyTorch names them
 *     early     a range pushed before cuInit and popped after it
 *     marks     marks in domains and ranges, of each kind of text, with a payload, without a name
 *     marks-many  100 000 marks, as fast as possible
 *     early-mark  a mark before cuInit
 *     hostile   what no program should do
 *     misused   texts that only a tool reads
 *     pushed    no ranges: ids of operations, pushed to CUPTI as frameworks do;
 *     pushed-late  the same after 25 000 launches and more than a flush's time
 *
 * fake_nvtx_user CASE... does so, too, and records its kernels with CUPTI itself, from before
 * cuInit: CUPTI's sample cupti_nvtx is such a program.
 * Prints what it launched, and whether a tool came, as one line of JSON. */
#include "cuda_calls.h"
#include "hooks.h"
#include "life.h"
#include "pace.h"
#ifdef OWN_CUPTI
#include "user.h"
#endif

#include "capture/nvtx/abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CORE_SIZE = 16, DOMAINS_SIZE = 16, DEEP = 2000, BROKEN_EXIT = 99 };

/* ---- the client --------------------------------------------------------------------------- */

static void (*core[CORE_SIZE])(void), (*extended[DOMAINS_SIZE])(void);
static void (**core_table[CORE_SIZE + 1])(void), (**extended_table[DOMAINS_SIZE + 1])(void);

static int pointers(int module, void (****table)(void), unsigned *count)
{
    *table = module == NVTX_MODULE_CORE      ? core_table
             : module == NVTX_MODULE_DOMAINS ? extended_table
                                             : NULL;
    *count = CORE_SIZE;
    return *table != NULL;
}

static const void *export_table(uint32_t table)
{
    static const struct nvtx_callbacks callbacks = {sizeof callbacks, pointers};
    return table == NVTX_EXPORT_CALLBACKS ? &callbacks : NULL;
}

static bool client_open(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*attach)(const void *(*)(uint32_t)) = NULL;
    if (tool)
        *(void **)&attach = dlsym(tool, "InitializeInjectionNvtx2");
    for (int i = 1; i < CORE_SIZE; i++) { /* a client leaves the first cell empty */
        core_table[i] = &core[i];
        extended_table[i] = &extended[i];
    }
    return attach && attach(export_table);
}

/* Calls the function that the tool has put into the table; without a tool nothing happens. */
#define F(module, number, result, name, parameters) typedef result(*name##_fn) parameters;
NVTX_FUNCTIONS(F)
#undef F
#define CALL(table, number, name, ...)                                                             \
    (table[number] ? ((name##_fn)table[number])(__VA_ARGS__)                                       \
                   : (__typeof__(((name##_fn)0)(__VA_ARGS__)))0)

static int push(const char *text)
{
    return CALL(core, 9, push_a, text);
}

static int pop(void)
{
    return CALL(core, 11, range_pop);
}

static nvtx_range start(const char *text)
{
    return CALL(core, 5, start_a, text);
}

static void end(nvtx_range range)
{
    if (core[7])
        ((range_end_fn)core[7])(range);
}

static int domain_push(nvtx_domain domain, const struct nvtx_event *e)
{
    return CALL(extended, 4, domain_push, domain, e);
}

static int domain_pop(nvtx_domain domain)
{
    return CALL(extended, 5, domain_pop, domain);
}

static struct nvtx_event event(int32_t type)
{
    return (struct nvtx_event){
        .version = 3, .size = sizeof(struct nvtx_event), .message_type = type};
}

/* ---- work --------------------------------------------------------------------------------- */

static int launched;

static void launch(int n)
{
    static char kernel[] = "_Z9fake_reluPfi";
    for (int i = 0; i < n; i++, launched++)
        if (cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL))
            exit(BROKEN_EXIT);
}

static void expect(bool is, const char *what)
{
    if (is)
        return;
    fprintf(stderr, "fake_nvtx: %s\n", what);
    exit(BROKEN_EXIT);
}

static void nested(bool tool)
{
    nvtx_domain domain = CALL(extended, 12, create_a, "loader"),
                same = CALL(extended, 13, create_w, L"loader");
    nvtx_string name = CALL(extended, 10, register_a, domain, "batch");
    struct nvtx_event registered = event(NVTX_REGISTERED), ascii = event(NVTX_ASCII);
    registered.message.registered = name;
    ascii.message.ascii = "step";
    expect(!tool || (domain == same && domain && name), "domains and strings have no handles");
    expect(!tool || CALL(core, 8, push_ex, &ascii) == 0, "the first range is not at level 0");
    launch(1);
    expect(!tool || CALL(core, 10, push_w, L"gr\u00f6\u00dfe \u20ac \U0001f680") == 1,
           "the second range is not at level 1");
    launch(2);
    expect(!tool || domain_push(domain, &registered) == 0, "a domain begins at level 0");
    launch(4);
    expect(!tool || pop() == 1, "the pop of one domain takes another's range");
    launch(8); /* in step and batch */
    expect(!tool || domain_pop(same) == 0, "a domain's pop does not find its range");
    launch(16);
    expect(!tool || pop() == 0, "the outermost range is not the last");
    expect(!tool || pop() < 0, "a pop without a push has a level");
    launch(32);
}

static void mark(const char *text)
{
    if (core[2])
        ((mark_a_fn)core[2])(text);
}

static void marks(void)
{
    nvtx_domain domain = CALL(extended, 12, create_a, "loader");
    nvtx_string name = CALL(extended, 10, register_a, domain, "batch");
    struct nvtx_event registered = event(NVTX_REGISTERED), loss = event(NVTX_ASCII);
    registered.message.registered = name;
    loss.message.ascii = "loss";
    loss.payload_type = NVTX_UINT64;
    loss.payload = 42;
    for (int epoch = 1; epoch <= 3; epoch++) {
        char text[32];
        snprintf(text, sizeof text, "epoch %d begins", epoch);
        mark(text);
        push("epoch");
        launch(1);
        if (core[1])
            ((mark_ex_fn)core[1])(&loss);
        if (extended[1])
            ((domain_mark_fn)extended[1])(domain, &registered);
        pop();
    }
    if (core[3])
        ((mark_w_fn)core[3])(L"gr\u00f6\u00dfe \u20ac");
    mark(NULL);
}

static void marks_many(void)
{
    for (int i = 0; i < 100000; i++)
        mark("many");
    launch(1);
}

static void *end_there(void *range)
{
    end((nvtx_range)(uintptr_t)range);
    return NULL;
}

static void started(void)
{
    pthread_t thread;
    nvtx_range first = start("first");
    launch(1);
    nvtx_range second = start("second");
    launch(2);
    end(first); /* the second range goes on */
    launch(4);
    push("inside");
    launch(8);
    pthread_create(&thread, NULL, end_there, (void *)(uintptr_t)second);
    pthread_join(thread, NULL);
    launch(16); /* in "inside" alone */
    pop();
    launch(32);
}

static void ops(void)
{
    char text[128];
    push("forward");
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "aten::%s, seq = %d, op_id = %d, sizes = [[%d, 8]]",
                 i % 2 ? "mm" : "relu", i, 3 * i, i);
        push(text);
        launch(1);
        pop();
    }
    pop();
}

/* Passes a registered string's handle as plain text, as CUPTI's sample cupti_nvtx does, and
 * addresses that nobody reads if there is no tool. */
static void misused(bool tool)
{
    nvtx_string name = CALL(extended, 10, register_a, NULL, "as text");
    struct nvtx_event e = event(NVTX_ASCII);
    e.message.registered = name;
    CALL(core, 8, push_ex, &e);
    launch(3);
    pop();
    e.message.ascii = (const char *)(uintptr_t)1;
    CALL(core, 8, push_ex, &e);
    launch(5);
    pop();
    e.message_type = NVTX_WIDE;
    e.message.wide = (const wchar_t *)(uintptr_t)24;
    CALL(core, 8, push_ex, &e);
    pop();
    e.message_type = NVTX_REGISTERED;
    e.message.ascii = "not registered";
    CALL(core, 8, push_ex, &e);
    pop();
    CALL(core, 9, push_a, (const char *)UINTPTR_MAX);
    expect(!tool || pop() == 0, "a range without a text is none");
}

static void hostile(void)
{
    char *lengthy = malloc(1 << 20);
    struct nvtx_event e = event(NVTX_ASCII);
    memset(lengthy, 'x', (1 << 20) - 1);
    lengthy[(1 << 20) - 1] = '\0';
    CALL(core, 8, push_ex, NULL);
    CALL(core, 8, push_ex, &(struct nvtx_event){0});
    CALL(core, 8, push_ex, &e); /* no message */
    e.message_type = 77;
    CALL(core, 8, push_ex, &e);
    e = event(NVTX_REGISTERED);
    e.message.registered = (nvtx_string)(uintptr_t)0xdeadbeef;
    CALL(core, 8, push_ex, &e);
    domain_push((nvtx_domain)(uintptr_t)0x1234567, &e);
    push(NULL);
    push("");
    push(lengthy);
    push("\xff\xfe broken \xc3");
    CALL(core, 10, push_w, NULL);
    CALL(core, 10, push_w, (const wchar_t[]){0xd800, 0x110000, -5, 'x', 0});
    launch(1);
    for (int i = 0; i < 12; i++)
        expect(!core[11] || pop() >= 0, "a pushed range is not there");
    pop();
    for (int i = 0; i < DEEP; i++)
        push("deep");
    for (int i = 0; i < DEEP; i++)
        pop();
    end(0);
    end(1);
    end(UINT64_MAX);
    nvtx_range range = start("range");
    end(range + 1);
    end(range);
    end(range);
    for (int i = 0; i < 20000; i++)
        CALL(extended, 10, register_a, NULL, "again");
    for (int i = 0; i < 5000; i++) /* more than there is room for */
        CALL(extended, 10, register_a, NULL, lengthy);
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "domain %d", i);
        CALL(extended, 12, create_a, name);
    }
    push("after all");
    launch(1);
    pop();
    free(lengthy);
}

/* Waits until CUPTI has been asked for its records so many times more. A record is delivered at the
 * second request, and read before the third. */
static void await_flushes(uint64_t more)
{
    enum { PATIENCE_S = 120 };
    uint64_t now[LIVES];
    time_t until = time(NULL) + PATIENCE_S;
    life(now);
    for (uint64_t wanted = now[5] + more; now[5] < wanted; life(now)) {
        expect(time(NULL) < until, "CUPTI is not asked for its records");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Pushes ids to CUPTI, which the tool has loaded already. */
static void pushed(void)
{
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    cupti = cupti ? cupti : dlopen("libcupti.so.12", RTLD_NOW | RTLD_NOLOAD);
    int (*push_id)(int, uint64_t) = NULL, (*pop_id)(int, uint64_t *) = NULL;
    uint64_t id;
    expect(cupti != NULL, "CUPTI is not in the process");
    *(void **)&push_id = dlsym(cupti, "cuptiActivityPushExternalCorrelationId");
    *(void **)&pop_id = dlsym(cupti, "cuptiActivityPopExternalCorrelationId");
    for (int i = 0; i < 10; i++) {
        push_id(3, (uint64_t)(1000 + i));
        launch(1);
        push_id(3, UINT64_MAX);
        push_id(4, 7); /* if a call has several kinds, the lowest counts */
        launch(2);
        pop_id(4, NULL);
        expect(!pop_id(3, &id) && id == UINT64_MAX, "the innermost id is not popped first");
        pop_id(3, NULL);
        push_id(5, 1); /* another kind */
        launch(1);
        pop_id(5, NULL);
    }
    launch(5);
}

/* The program's own kernel records. Without OWN_CUPTI it has none. */
static void own_begin(void)
{
#ifdef OWN_CUPTI
    expect(user_begin() == 0, "CUPTI refuses the program");
#endif
}

static void own_end(void)
{
#ifdef OWN_CUPTI
    struct user_result own;
    user_end(&own);
    expect(own.kernels == launched && own.foreign == 0, "the program's own records are not all");
#endif
}

int main(int argc, char **argv)
{
    own_begin();
    bool tool = client_open(), early = argc > 1 && !strcmp(argv[1], "early");
    if (early)
        push("early");
    if (argc > 1 && !strcmp(argv[1], "early-mark"))
        mark("before the session");
    if (cuInit(0))
        return BROKEN_EXIT;
    if (early) {
        push("late");
        launch(1);
        pop();
        pop();
        push("later");
        launch(2);
        pop();
    }
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "nested"))
            nested(tool);
        else if (!strcmp(argv[i], "marks"))
            marks();
        else if (!strcmp(argv[i], "marks-many"))
            marks_many();
        else if (!strcmp(argv[i], "started"))
            started();
        else if (!strcmp(argv[i], "ops"))
            ops();
        else if (!strcmp(argv[i], "hostile"))
            hostile();
        else if (!strcmp(argv[i], "misused"))
            misused(tool);
        else if (!strcmp(argv[i], "pushed"))
            pushed();
        else if (!strcmp(argv[i], "pushed-late")) {
            for (int k = 0; k < 25000; k++) {
                pace(PACE_PER_MS);
                launch(1);
            }
            await_flushes(4);
            pushed();
        }
    }
    cuMemcpyHtoDAsync_v2(0x1000, &launched, sizeof launched, NULL);
    cuCtxSynchronize();
    own_end();
    printf("{\"tool\":%s,\"launches\":%d,\"graph_launches\":0,\"graph_kernels\":0,\"copies\":1,"
           "\"htod\":%zu}\n",
           tool ? "true" : "false", launched, sizeof launched);
    return 0;
}
