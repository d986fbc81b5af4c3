# `gpufl-agent`: all but main.c is a library, so that unit tests reach the parts.
gpufl_module(agent-daemon
  SOURCES
    daemon/check.c
    daemon/control.c
    daemon/daemon.c
    daemon/names.c
    daemon/publish.c
    daemon/recheck.c
    daemon/sessions.c
    keep/keeper.c
    keep/keeper_notes.c
    keep/keeper_publish.c
    keep/keeper_remove.c
    keep/restoring.c
    options/options.c
    orders/config_cache.c
    orders/orders.c
    orders/reach.c
    send/courier.c
    send/courier_answer.c
    send/courier_body.c
    send/courier_window.c
    send/cursor.c
    send/folders.c
    send/kafka_way.c
    send/letters.c
    send/view.c
    send/watch.c
  DEPS agent agent-archive analyze net-client net-kafka net-metrics symbol wire base)
add_executable(gpufl-agent-main daemon/main.c)
gpufl_fixed_address(gpufl-agent-main)
set_target_properties(gpufl-agent-main PROPERTIES OUTPUT_NAME gpufl-agent)
target_link_libraries(gpufl-agent-main PRIVATE gpufl-agent-daemon)
install(TARGETS gpufl-agent-main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
