/* Two copies of libgpufl.so in one process have one session: the copy that the program is linked
 * with, and another file with the same bytes, opened like the driver opens an injected one. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/unit/support/tmpdir.h"

#include <dlfcn.h>

struct copy {
    int (*inject)(void);
    int (*init)(const struct gpufl_options *);
    void (*shutdown)(void);
    bool (*active)(void);
    const char *(*dir)(void);
    uint64_t (*begin)(const char *, const char *);
    void (*end)(uint64_t);
    int (*system_stop)(const char *);
};

static void *function(void *handle, const char *name)
{
    void *p = dlsym(handle, name);
    assert_non_null(p);
    return p;
}

/* Copies the library's file and opens it. */
static void open_copy(struct copy *c)
{
    Dl_info info;
    char *data = NULL;
    size_t len = 0;
    char to[PATH_MAX];
    assert_int_not_equal(dladdr((void *)(uintptr_t)gpufl_version, &info), 0);
    assert_int_equal(file_read_all(info.dli_fname, 256 << 20, &data, &len, NULL), 0);
    snprintf(to, sizeof to, "%s", tmpdir_write("libgpufl.so.0", data, len));
    mem_free(data);
    void *h = dlopen(to, RTLD_NOW | RTLD_LOCAL);
    if (!h)
        print_error("%s\n", dlerror());
    assert_non_null(h);
    *(void **)&c->inject = function(h, "InitializeInjection");
    *(void **)&c->init = function(h, "gpufl_init");
    *(void **)&c->shutdown = function(h, "gpufl_shutdown");
    *(void **)&c->active = function(h, "gpufl_active");
    *(void **)&c->dir = function(h, "gpufl_session_dir");
    *(void **)&c->begin = function(h, "gpufl_scope_begin");
    *(void **)&c->end = function(h, "gpufl_scope_end");
    *(void **)&c->system_stop = function(h, "gpufl_system_stop");
    assert_true((uintptr_t)c->init != (uintptr_t)gpufl_init);
}

TEST(test_one_session)
{
    struct copy copy;
    struct session_log log;
    open_copy(&copy);
    setenv("GPUFL_BACKEND", "none", 1);
    setenv("GPUFL_LOG_PATH", tmpdir_path("logs"), 1);
    assert_int_equal(copy.begin("before", NULL), 0);
    assert_int_equal(copy.inject(), 1); /* like cuInit */
    assert_true(gpufl_active());        /* the linked copy has the session */
    assert_true(copy.active());
    assert_string_equal(copy.dir(), gpufl_session_dir());
    struct gpufl_options o = session_options(tmpdir_path("elsewhere"));
    assert_int_equal(gpufl_init(&o), 0);
    assert_int_equal(copy.init(&o), 0);
    assert_int_equal(copy.system_stop("none is open"), GPUFL_E_INVAL);
    uint64_t outer = copy.begin("from the copy", NULL);
    uint64_t inner = gpufl_scope_begin("from the linked one", NULL);
    assert_true(outer && inner);
    gpufl_scope_end(inner);
    copy.end(outer);
    copy.shutdown();
    assert_false(gpufl_active());
    assert_int_equal(copy.begin("after", NULL), 0);
    session_log_read(session_only(tmpdir_path("logs")), &log);
    assert_int_equal(log.ledger.scopes_written, 2);
    assert_int_equal(session_count(tmpdir_path("elsewhere")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_session, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
