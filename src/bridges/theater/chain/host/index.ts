import type { WitValue } from "../../../wasm/index.ts";
import type { Unlinked } from "../link.ts";
import { field, text } from "../values.ts";
import { MESSAGES } from "./messages.ts";
import { ENVIRONMENT, FILESYSTEM, HTTP_CLIENT } from "./outside.ts";
import { RANDOM, RUNTIME, TIMING } from "./runtime.ts";
import { STORE } from "./store.ts";
import { SUPERVISOR } from "./supervisor.ts";
import type { Family, Told } from "./told.ts";

const FAMILIES: Readonly<Record<string, Family>> = {
  runtime: RUNTIME,
  "message-server-host": MESSAGES,
  supervisor: SUPERVISOR,
  store: STORE,
  timing: TIMING,
  random: RANDOM,
  environment: ENVIRONMENT,
  filesystem: FILESYSTEM,
  "http-client": HTTP_CLIENT,
};

/** A host function that is not in the tables. */
const unknown = (name: string): Told => ({ family: "Runtime", called: { Log: { level: "debug", message: name } } });

/** The events of one host call, by the name of its import (`runtime.log`). */
export function hostEvents(name: string, args: readonly WitValue[], result: WitValue, at: number): readonly Unlinked[] {
  const [place = "", called = ""] = name.split(".", 2);
  const eventType = `theater:simple/${place}/${called}`;
  const family = Object.hasOwn(FAMILIES, place) ? FAMILIES[place] : undefined;
  const tell = family !== undefined && Object.hasOwn(family, called) ? family[called] : undefined;
  const err = field(result, "err");
  const error = err === undefined ? undefined : text(err);
  const ok = field(result, "ok") ?? (isResult(result) ? undefined : result);
  const told = tell?.({ args, ok, error, at }) ?? unknown(name);
  const ended = error === undefined ? told.gave : (told.failed ?? told.gave);
  return [
    ...(told.called === undefined ? [] : [{ eventType, data: { [told.family]: told.called }, description: described(name, args) }]),
    ...(ended === undefined
      ? []
      : [
          {
            eventType,
            data: { [told.family]: ended },
            description: error === undefined ? `${name} succeeded` : `${name} failed: ${short(error)}`,
          },
        ]),
  ];
}

const isResult = (value: WitValue): boolean => typeof value === "object" && value !== null && ("ok" in value || "err" in value);

const LONGEST_WORDS = 200;
const short = (words: string): string => (words.length > LONGEST_WORDS ? `${words.slice(0, LONGEST_WORDS).toWellFormed()}…` : words);

/** The call, with its first argument if that is text. */
function described(name: string, [first]: readonly WitValue[]): string {
  return typeof first === "string" ? `${name}: ${short(first)}` : name;
}
