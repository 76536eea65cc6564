import { readFileSync } from "node:fs";
import { stripBom } from "../../core/contract/internal.ts";
import { usage } from "../exit-code.ts";
import { whyUnreadable } from "../text-file.ts";

const VARIABLE = "TROUPE_CLUSTER_SECRET";
const MAKE_ONE = 'make one with "openssl rand -hex 32"';

/** 32 bytes or more, written as hex digits in `TROUPE_CLUSTER_SECRET` or a file: what the nodes of a cluster share. Throws `USAGE`. */
export const clusterSecret = (env: Readonly<Record<string, string | undefined>>, file: string | undefined): Uint8Array => {
  const text = file === undefined ? env[VARIABLE] : read(file);
  if (text === undefined || text.trim() === "")
    throw usage(`The nodes of a cluster share a secret: set ${VARIABLE}, or name a file with --secret-file; ${MAKE_ONE}.`);
  const digits = text.trim();
  if (!/^(?:[0-9a-fA-F]{2}){32,1024}$/.test(digits)) throw usage(`The cluster's secret is at least 64 hex digits: ${MAKE_ONE}.`);
  return Buffer.from(digits, "hex");
};

/** Where nothing may have to be sealed: undefined if neither says anything. */
export const clusterSecretIfAny = (env: Readonly<Record<string, string | undefined>>, file: string | undefined): Uint8Array | undefined =>
  file === undefined && (env[VARIABLE] ?? "").trim() === "" ? undefined : clusterSecret(env, file);

const read = (file: string): string => {
  try {
    return stripBom(readFileSync(file, "utf8"));
  } catch (error) {
    throw usage(`--secret-file ${file} cannot be read: ${whyUnreadable(error)}.`);
  }
};
