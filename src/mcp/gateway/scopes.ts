import { type Json, isBag } from "../../core/contract/index.ts";
import { isScope, missingScopes, missingScopesMessage } from "../../core/contract/internal.ts";
import type { Refusal } from "./call.ts";
import { Fault } from "./errors.ts";

const MAX_SCOPES = 1_024;

/** Throws `SCOPE`, with a challenge that names what is missing. */
export function demand(wanted: readonly string[], held: readonly string[]): void {
  const missing = missingScopes(wanted, held);
  if (missing.length > 0) throw scopeFault(missing, held);
}

/** What a source that looks at scopes itself says is missing; undefined: its refusal is about something else. */
export function missingIn({ code, data }: Refusal): readonly string[] | undefined {
  const scopes: Json | undefined = code === "SCOPE" && isBag(data) ? data["scopes"] : undefined;
  return Array.isArray(scopes) && scopes.length > 0 && scopes.every((one) => typeof one === "string") ? scopes : undefined;
}

export function scopeFault(missing: readonly string[], held: readonly string[]): Fault {
  const asked = toAskFor(held, missing);
  return new Fault("SCOPE", missingScopesMessage(missing), {
    data: { scope: missing.join(" ") },
    headers: { "www-authenticate": `Bearer error="insufficient_scope"${asked === "" ? "" : `, scope="${asked}"`}` },
  });
}

const spelled = (list: readonly string[]): string => [...new Set(list)].filter(isScope).join(" ");

/** With what the token has already: a client that asks for what is named, and no more, would lose the rest (MCP 2025-11-25, step-up). */
function toAskFor(held: readonly string[], missing: readonly string[]): string {
  const all = spelled([...held, ...missing]);
  return all.length > MAX_SCOPES ? spelled(missing) : all;
}
