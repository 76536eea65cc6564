import { canonical } from "../../../core/contract/internal.ts";
import { base64urlOf, fromBase64, hmacSha256, sameBytes, sha256Base64url, textOf, utf8Of } from "../../../core/platform/index.ts";
import { type Bag, isBag, type Json } from "../../../core/contract/index.ts";
import type { Call } from "../call.ts";
import { Fault } from "../errors.ts";
import { EMPTY } from "../json.ts";
import type { Settings } from "../settings.ts";
import { type AskMethod, isAskMethod } from "../questions.ts";

/** What a call remembers between its rounds, in its client's hands. */
export interface Remembered {
  /** Of earlier rounds, by key. */
  readonly answers: Bag;
  /** What was asked last, by key. */
  readonly asked: Readonly<Record<string, AskMethod>>;
}

/**
 * Signed, not hidden: the client gave these answers itself. It holds for one
 * principal and one request, and for a while; whoever has it can use it more than
 * once, so what must happen once has a key.
 */
export function sealState(settings: Settings, call: Call, remembered: Remembered): string {
  const { answers, asked } = remembered;
  const until = settings.clock.now() + settings.limits.stateMs;
  const payload = base64urlOf(utf8Of(JSON.stringify({ until, of: boundTo(call), answers, asked })));
  return `${payload}.${sign(settings, payload)}`;
}

const rejected = (why: string): Fault => new Fault("STATE", `This requestState ${why}; call again without it.`);

/** Throws `STATE` for what was not sealed here, for this caller and request, or too long ago. */
export function openState(settings: Settings, call: Call, state: string): Remembered {
  const dot = state.indexOf(".");
  const payload = state.slice(0, dot);
  const signature = utf8Of(sign(settings, payload));
  if (dot === -1 || !sameBytes(utf8Of(state.slice(dot + 1)), signature)) throw rejected("is not one of this server");
  const content: unknown = JSON.parse(textOf(fromBase64(payload)) ?? "null");
  if (!isBag(content)) throw rejected("is not one of this server");
  const { until, of, answers, asked } = content;
  if (typeof until !== "number" || until < settings.clock.now()) throw rejected("has expired");
  if (of !== boundTo(call)) throw rejected("belongs to another request");
  return { answers: isBag(answers) ? answers : EMPTY, asked: askedIn(asked) };
}

function askedIn(asked: Json | undefined): Record<string, AskMethod> {
  const found: [string, AskMethod][] = isBag(asked)
    ? Object.entries(asked).flatMap(([key, method]) => (isAskMethod(method) ? [[key, method]] : []))
    : [];
  return Object.fromEntries(found);
}

function boundTo(call: Call): string {
  const { name, uri, arguments: args } = call.params;
  const about = [call.viewer.principal ?? null, call.method, name ?? uri ?? null, canonical(args ?? EMPTY)];
  return sha256Base64url(JSON.stringify(about));
}

function sign(settings: Settings, payload: string): string {
  return base64urlOf(hmacSha256(settings.requestStateKey, "troupe requestState\n", payload));
}
