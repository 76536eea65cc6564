import { existsSync } from "node:fs";
import { isJsonObject, type Json } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { type Authenticator, authenticator, type KeySource, type TrustedIssuer } from "../mcp/transport/index.ts";
import { usage } from "./exit-code.ts";
import { keysIn } from "./key-file.ts";
import type { ServeOptions } from "./options.ts";
import { readTextFile } from "./text-file.ts";

const readJson = (file: string, option: string): Json => {
  const text = readTextFile(file, option);
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    // The parser's own sentence repeats what is in the file, which may be a secret.
    throw usage(`${option}: ${file} is no JSON.`);
  }
};

const keysOf = (place: string): KeySource => {
  if (!existsSync(place)) return place;
  const set = readJson(place, "--jwks");
  const keys = isJsonObject(set) ? set["keys"] : undefined;
  if (!Array.isArray(keys)) throw usage(`--jwks: ${place} is no JSON Web Key Set; it needs "keys".`);
  return { keys: keys.filter(isJsonObject) };
};

/** Who may come in, as the options say; undefined: nobody is asked. */
export const authOf = async (options: ServeOptions): Promise<Authenticator | undefined> => {
  if ((options.jwks === undefined) !== (options.issuer === undefined))
    throw usage("--jwks and --issuer go together: the keys, and the iss of the tokens they sign.");
  if (options.jwks === undefined && options.apiKeys === undefined) return undefined;
  const issuers: readonly TrustedIssuer[] =
    options.jwks !== undefined && options.issuer !== undefined
      ? [
          {
            issuer: options.issuer,
            keys: keysOf(options.jwks),
            ...omitUndefined({ audience: options.audience, typ: options.tokenType, scopesClaim: options.scopesClaim }),
          },
        ]
      : [];
  return await authenticator({
    issuers,
    ...(options.apiKeys === undefined ? {} : { keys: keysIn(readJson(options.apiKeys, "--api-keys"), options.apiKeys) }),
    ...omitUndefined({ resource: options.resource, scopes: options.requireScope, claims: options.claims }),
  });
};
