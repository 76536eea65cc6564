// How the stories of the console's parts are built. They are not in the package.
import { fileURLToPath } from "node:url";
import { defineConfig, mergeConfig } from "vite";
import page from "../vite.config.ts";

export default mergeConfig(
  page,
  defineConfig({
    root: fileURLToPath(new URL(".", import.meta.url)),
    publicDir: fileURLToPath(new URL("../public", import.meta.url)),
    build: { outDir: "../../node_modules/.cache/console-stories", emptyOutDir: true },
  }),
);
