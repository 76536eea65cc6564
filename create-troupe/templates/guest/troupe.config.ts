// The settings of `troupe serve`. A flag wins over them.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "troupe/config";

const file = join(import.meta.dirname, ".env");
if (existsSync(file)) process.loadEnvFile(file);

// Without API keys, every caller on this machine may operate guests, and nothing may listen beyond it.
const callers = process.env["TROUPE_API_KEYS"] === undefined ? { auth: false as const } : {};

export default defineConfig({
  name: "my-troupe",
  http: process.env["TROUPE_HTTP"] ?? "127.0.0.1:3000",
  theater: true,
  manifests: "./guest",
  ...callers,
});
