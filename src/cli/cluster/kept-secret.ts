import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Entropy } from "../../core/contract/index.ts";
import { replaceFile } from "../../core/store/secret-file.ts";
import { clusterSecret, clusterSecretIfAny } from "./secret.ts";

const FILE = "secret";

/**
 * What the nodes over this directory share, in hex digits: what the environment says, else what is kept here, made once. So
 * what they sealed is read at the next start, and by commands that are given it. Throws `USAGE`.
 */
export const keptSecret = (directory: string, env: Readonly<Record<string, string | undefined>>, entropy: Entropy): string => {
  const file = join(directory, FILE);
  const there = clusterSecretIfAny(env, undefined) ?? (existsSync(file) ? clusterSecret({}, file) : undefined);
  if (there !== undefined) return Buffer.from(there).toString("hex");
  const secret = entropy.hex(32);
  replaceFile(file, `${secret}\n`);
  return secret;
};
