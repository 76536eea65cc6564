// Owns: which arguments of calls are secret, and taking them out of messages. Does not own: what is secret in chains (core/actor).

import { type Behaviour, isJsonObject, isList, type Json, type JsonObject } from "../../core/contract/index.ts";
import { getOwn, setOwn } from "../../core/contract/internal.ts";
import { HIDDEN } from "./traffic-text.ts";

/** A tool's own name → its secret arguments. Of tools without any, too: none. */
type Secrets = ReadonlyMap<string, readonly string[]>;

function secretsOf(kinds: readonly Behaviour[]): Secrets {
  const found = new Map<string, readonly string[]>();
  for (const { catalogue } of kinds)
    for (const { name, secret = [] } of catalogue?.tools ?? []) found.set(name, [...(found.get(name) ?? []), ...secret]);
  return found;
}

/** Members that name the tool of a call: in MCP, in a call of the meta tool `act`, in a packet. */
const NAMES = ["name", "action", "tool"] as const;

const MAX_DEPTH = 8;
/** A shorter secret is not looked for in responses: it would be found in every text. */
const SHORTEST = 4;

/** What was taken out of a request, and so must not be in its response either. */
interface Cleaned {
  readonly value: Json;
  readonly secrets: readonly string[];
}

/** The secret arguments of the kinds that are served now. */
export class SecretArguments {
  readonly #kinds: () => readonly Behaviour[];
  #of: readonly Behaviour[] = [];
  #secrets: Secrets = new Map();
  /** Those of all tools. */
  #all: readonly string[] = [];

  constructor(kinds: () => readonly Behaviour[]) {
    this.#kinds = kinds;
  }

  /** There are some. */
  get any(): boolean {
    const kinds = this.#kinds();
    const same = this.#of.length === kinds.length && kinds.every((kind, at) => kind === this.#of[at]);
    if (!same) {
      this.#of = kinds;
      this.#secrets = secretsOf(kinds);
      this.#all = [...new Set([...this.#secrets.values()].flat())];
    }
    return this.#all.length > 0;
  }

  /** Undefined: nothing in it is secret. A call within a call, as the meta tools take it, is searched too. */
  clean(message: Json): Cleaned | undefined {
    if (!this.any) return undefined;
    const secrets: string[] = [];
    const value = this.#cleaned(message, secrets, 0);
    return value === message ? undefined : { value, secrets };
  }

  /** A text that cannot be parsed, of a call that may have secrets: whether it must not be shown. `tool`: its name, if it is known. */
  isUnsafe(text: string, tool: string | undefined): boolean {
    if (!this.any) return false;
    // What comes after the text that was stored may be a secret, and be in the response.
    if (tool !== undefined && (this.#named(tool)?.length ?? 0) > 0) return true;
    return this.#all.some((name) => text.includes(JSON.stringify(name)));
  }

  #cleaned(value: Json, secrets: string[], depth: number): Json {
    if (depth > MAX_DEPTH) return value;
    if (isList(value)) {
      const items = value.map((item) => this.#cleaned(item, secrets, depth + 1));
      return items.every((item, at) => item === value[at]) ? value : items;
    }
    if (!isJsonObject(value)) return value;
    const { hidden, isCall } = this.#callIn(value);
    // A packet has a tool's arguments next to its name.
    const known = typeof value["tool"] === "string" ? without(value, hidden, secrets) : value;
    let changed: Record<string, Json> | undefined;
    for (const [member, inner] of Object.entries(known)) {
      const given = isCall ? this.#given(member, inner, hidden, secrets) : inner;
      const cleaned = this.#cleaned(given, secrets, depth + 1);
      if (cleaned !== inner) setOwn((changed ??= { ...known }), member, cleaned);
    }
    return changed ?? known;
  }

  /** The secret arguments of the tool that this object calls, if it is a call. A tool of an unknown name may be a misspelt one. */
  #callIn(value: JsonObject): { readonly hidden: readonly string[]; readonly isCall: boolean } {
    for (const member of NAMES) {
      const name = getOwn(value, member);
      if (typeof name !== "string") continue;
      const hidden = this.#named(name);
      if (hidden !== undefined) return { hidden, isCall: hidden.length > 0 };
    }
    return { hidden: this.#all, isCall: Object.hasOwn(value, "arguments") || typeof value["method"] === "string" };
  }

  /** A member of a call. Clients also give arguments under another name, or as text: the server refuses that, and it may be a secret. */
  #given(member: string, inner: Json, hidden: readonly string[], secrets: string[]): Json {
    if (isJsonObject(inner)) return member === "params" ? inner : without(inner, hidden, secrets);
    if ((member !== "arguments" && member !== "params") || inner === null) return inner;
    collect(inner, secrets);
    return HIDDEN;
  }

  // Prefixes and links put something before a tool's own name.
  #named(name: string): readonly string[] | undefined {
    const exact = this.#secrets.get(name);
    if (exact !== undefined) return exact;
    let found: readonly string[] | undefined;
    for (const [own, secret] of this.#secrets)
      if (name.endsWith(own) && /[._/-]$/.test(name.slice(0, -own.length))) found = [...(found ?? []), ...secret];
    return found;
  }
}

function without(args: JsonObject, hidden: readonly string[], secrets: string[]): JsonObject {
  const changed: Record<string, Json> = { ...args };
  let isChanged = false;
  for (const name of hidden) {
    const value = getOwn(args, name);
    if (value === undefined) continue;
    collect(value, secrets);
    setOwn(changed, name, HIDDEN);
    isChanged = true;
  }
  return isChanged ? changed : args;
}

function collect(value: Json, secrets: string[]): void {
  if (typeof value === "string" || typeof value === "number") {
    const text = typeof value === "string" ? JSON.stringify(value).slice(1, -1) : String(value);
    if (text.length >= SHORTEST) secrets.push(text);
  } else if (isList(value)) for (const item of value) collect(item, secrets);
  else if (isJsonObject(value)) for (const item of Object.values(value)) collect(item, secrets);
}

/** The text without these. */
export function withoutTexts(text: string, secrets: readonly string[]): string {
  let safe = text;
  // In a tool's text, JSON is within JSON.
  for (const secret of secrets) {
    safe = safe.replaceAll(secret, HIDDEN);
    const nested = JSON.stringify(secret).slice(1, -1);
    if (nested !== secret) safe = safe.replaceAll(nested, HIDDEN);
  }
  return safe;
}
