// The bundle: files named by their content below /assets, which the server keeps in browsers for
// ever; nothing inline, since the server's policy refuses it (data: is for images alone).
import { defineConfig } from "vitest/config";

export default defineConfig({
  // ASCII alone: browsers keep a script that has one letter beyond Latin-1 with two bytes a letter.
  esbuild: { jsx: "automatic", charset: "ascii" },
  build: {
    target: "es2022",
    outDir: process.env.GPUFL_WEB_OUT ?? "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Small parts are put together: each answer costs a header, and small files compress worse.
    rollupOptions: { output: { experimentalMinChunkSize: 1000 } },
  },
  // `npm run dev` with a running server.
  server: { proxy: { "/api": process.env.GPUFL_SERVER ?? "http://127.0.0.1:8080" } },
  // Files share a process and its modules: none keeps a state that another reads, and half of the time was loading.
  // What takes 1 s alone takes 7 s on a full machine.
  test: { isolate: false, pool: "threads", testTimeout: 60_000, include: ["tests/*.test.ts", "tests/*.test.tsx"], environment: "node" },
});
