import type { WitValue } from "../../../wasm/index.ts";
import type { UnlinkedEvent } from "../link.ts";
import { field, text } from "../values.ts";
import { MESSAGES } from "./messages.ts";
import { ENVIRONMENT, FILESYSTEM, HTTP_CLIENT } from "./outside.ts";
import { RANDOM, RUNTIME, TIMING } from "./runtime.ts";
import { STORE } from "./store.ts";
import { SUPERVISOR } from "./supervisor.ts";
import type { HostInterface, HostCallEvents } from "./told.ts";

const INTERFACES: Readonly<Record<string, HostInterface>> = {
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
const unknownFunction = (name: string): HostCallEvents => ({ family: "Runtime", called: { Log: { level: "debug", message: name } } });

/** The events of one host call, by the name of its import (`runtime.log`). */
export function hostEvents(name: string, args: readonly WitValue[], result: WitValue, at: number): readonly UnlinkedEvent[] {
  const [interfaceName = "", functionName = ""] = name.split(".", 2);
  const eventType = `theater:simple/${interfaceName}/${functionName}`;
  const family = Object.hasOwn(INTERFACES, interfaceName) ? INTERFACES[interfaceName] : undefined;
  const describe = family !== undefined && Object.hasOwn(family, functionName) ? family[functionName] : undefined;
  const err = field(result, "err");
  const error = err === undefined ? undefined : text(err);
  const ok = field(result, "ok") ?? (isResult(result) ? undefined : result);
  const described = describe?.({ args, ok, error, at }) ?? unknownFunction(name);
  const outcome = error === undefined ? described.returned : (described.failed ?? described.returned);
  return [
    ...(described.called === undefined ? [] : [{ eventType, data: { [described.family]: described.called }, description: callDescription(name, args) }]),
    ...(outcome === undefined
      ? []
      : [
          {
            eventType,
            data: { [described.family]: outcome },
            description: error === undefined ? `${name} succeeded` : `${name} failed: ${shortened(error)}`,
          },
        ]),
  ];
}

const isResult = (value: WitValue): boolean => typeof value === "object" && value !== null && ("ok" in value || "err" in value);

const MAX_DESCRIPTION_LENGTH = 200;
const shortened = (message: string): string => (message.length > MAX_DESCRIPTION_LENGTH ? `${message.slice(0, MAX_DESCRIPTION_LENGTH).toWellFormed()}…` : message);

/** The call, with its first argument if that is text. */
function callDescription(name: string, [first]: readonly WitValue[]): string {
  return typeof first === "string" ? `${name}: ${shortened(first)}` : name;
}
