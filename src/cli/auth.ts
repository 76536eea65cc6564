import { existsSync } from "node:fs";
import { type ApiKey, type Authenticator, authenticator, type KeySource, type TrustedIssuer } from "../transport/index.ts";
import { usage } from "./exit-code.ts";
import type { ServeOptions } from "./options.ts";
import { readTextFile } from "./text-file.ts";

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value);

const readJson = (file: string, option: string): unknown => {
  const text = readTextFile(file, option);
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own sentence repeats what is in the file, which may be a secret.
    throw usage(`${option}: ${file} is no JSON.`);
  }
};

const apiKeys = (file: string): readonly ApiKey[] => {
  const listed = readJson(file, "--api-keys");
  if (!isObject(listed)) throw usage(`--api-keys: ${file} must be an object of name → SHA-256 (hex) of the key.`);
  return Object.entries(listed).map(([name, value]: [string, unknown]) => {
    const sha256: unknown = isObject(value) && "sha256" in value ? value.sha256 : value;
    const scopes: unknown = isObject(value) && "scopes" in value ? value.scopes : [];
    if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256))
      throw usage(`--api-keys: the key "${name}" needs its SHA-256 as 64 hex digits: printf %s KEY | sha256sum.`);
    if (!Array.isArray(scopes)) throw usage(`--api-keys: the scopes of "${name}" must be a list of texts.`);
    return { name, sha256, scopes: scopes.map(String) };
  });
};

const keysOf = (place: string): KeySource => {
  if (!existsSync(place)) return place;
  const set = readJson(place, "--jwks");
  if (!isObject(set) || !("keys" in set) || !Array.isArray(set.keys))
    throw usage(`--jwks: ${place} is no JSON Web Key Set; it needs "keys".`);
  return { keys: set.keys.filter(isObject).map((key) => ({ ...key })) };
};

/** Who may come in, as the options say; undefined: nobody is asked. */
export const authOf = async (options: ServeOptions): Promise<Authenticator | undefined> => {
  if ((options.jwks === undefined) !== (options.issuer === undefined))
    throw usage("--jwks and --issuer go together: the keys, and the iss of the tokens they sign.");
  if (options.jwks === undefined && options.apiKeys === undefined) return undefined;
  const issuers: readonly TrustedIssuer[] =
    options.jwks !== undefined && options.issuer !== undefined
      ? [{ issuer: options.issuer, keys: keysOf(options.jwks), ...(options.audience === undefined ? {} : { audience: options.audience }) }]
      : [];
  return await authenticator({
    issuers,
    ...(options.apiKeys === undefined ? {} : { keys: apiKeys(options.apiKeys) }),
    ...(options.resource === undefined ? {} : { resource: options.resource }),
    ...(options.requireScope === undefined ? {} : { scopes: options.requireScope }),
  });
};
