import type { ApiKey } from "../mcp/transport/index.ts";
import { isJsonObject, type Json } from "../core/contract/index.ts";
import { isTexts } from "../core/contract/internal.ts";
import { usage } from "./exit-code.ts";
import { utcTime } from "./utc-time.ts";

const MEMBERS = new Set(["sha256", "scopes", "claims", "expiresAt"]);

/** The keys of an `--api-keys` file: name → SHA-256, or an object. A member nobody reads is refused: it may have been meant to bound the key. */
export const keysIn = (listed: Json, file: string): readonly ApiKey[] => {
  if (!isJsonObject(listed)) throw usage(`--api-keys: ${file} must be an object of name → SHA-256 (hex) of the key.`);
  return Object.entries(listed).map(([name, value]): ApiKey => {
    const about = isJsonObject(value) ? value : { sha256: value };
    const odd = Object.keys(about).find((member) => !MEMBERS.has(member));
    if (odd !== undefined)
      throw usage(`--api-keys: the key "${name}" has "${odd}", which nobody reads: it may have ${[...MEMBERS].join(", ")}.`);
    const { sha256, scopes = [], claims, expiresAt } = about;
    if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/i.test(sha256))
      throw usage(`--api-keys: the key "${name}" needs its SHA-256 as 64 hex digits: printf %s KEY | sha256sum.`);
    if (!isTexts(scopes)) throw usage(`--api-keys: the scopes of "${name}" must be a list of texts.`);
    if (claims !== undefined && !isJsonObject(claims))
      throw usage(`--api-keys: the claims of "${name}" must be an object, such as {"roles": ["responder"]}.`);
    return {
      name,
      sha256,
      scopes,
      ...(claims === undefined ? {} : { claims }),
      ...(expiresAt === undefined ? {} : { expiresAt: timeOf(expiresAt, name) }),
    };
  });
};

const timeOf = (value: Json, name: string): number => {
  const time = typeof value === "string" ? utcTime(value) : value;
  if (typeof time === "number" && Number.isFinite(time)) return time;
  throw usage(`--api-keys: "expiresAt" of "${name}" must be a time, such as "2027-01-31T12:00Z", or milliseconds since 1970.`);
};
