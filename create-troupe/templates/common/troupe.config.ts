// The settings of `troupe serve` and `troupe dev`. A flag wins over them.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "troupe/config";

const file = join(import.meta.dirname, ".env");
if (existsSync(file)) process.loadEnvFile(file);

export default defineConfig({
  name: "my-troupe",
  modules: "./src/index.ts",
  http: process.env["TROUPE_HTTP"] ?? "127.0.0.1:3000",
});
