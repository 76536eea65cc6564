// How the console's page is built. `base` is relative, so that it can be served below any path.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/console",
    emptyOutDir: true,
    target: "es2023",
    // Vite would inline the preload helper's links; they are requests to this host.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
});
