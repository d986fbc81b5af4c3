# Who asks, and how somebody gets to be somebody; without HTTP.
gpufl_module(auth
  SOURCES
    auth.c
    auth_keys.c
    auth_limit.c
    auth_password.c
    auth_secret.c
    auth_tickets.c
    rights.c
  DEPS meta base PkgConfig::SODIUM Threads::Threads)
