import { type Bag, isBag, isList } from "../../../core/contract/index.ts";
import { EXTENSION } from "../../../core/contract/internal.ts";
import { type Call, type Members, type Refusal, REFUSED_META } from "../call.ts";
import { toolError } from "../content.ts";
import { Fault } from "../errors.ts";
import { shortText } from "../json.ts";
import { eraOf } from "../revision.ts";

/** The text for a client that cannot be asked: a tool's result where it is a tool. */
export function cannotAsk(call: Call, missing: readonly string[]): Members {
  const message = `This needs a client that can be asked (${missing.join(", ")}), and this one did not declare it.`;
  if (call.method !== "tools/call" || eraOf(call.revision) === "modern")
    throw new Fault("CAPABILITY", message, { data: { requiredCapabilities: capabilities(missing) } });
  return { members: toolError(message), meta: { [REFUSED_META]: { code: "CAPABILITY" } } };
}

// An author's own "cannot ask" is the same fault as a need the client did not declare.
export const CANNOT_ASK = "CANNOT_ASK";

const MOST_NAMED = 64;

export function capabilitiesIn({ data }: Refusal): readonly string[] {
  const named = isBag(data) && isList(data["capabilities"]) ? data["capabilities"] : [isBag(data) ? (data["capability"] ?? null) : null];
  const known = named.slice(0, MOST_NAMED).flatMap((one) => shortText(one, 256) ?? []);
  return known.length === 0 ? ["elicitation"] : known;
}

function capabilities(missing: readonly string[]): Bag {
  const extensions = missing.filter((one) => one.startsWith(EXTENSION)).map((one) => [one.slice(EXTENSION.length), {}] as const);
  const own = missing.filter((one) => !one.startsWith(EXTENSION)).map(nested);
  return { ...Object.fromEntries(own), ...(extensions.length === 0 ? undefined : { extensions: Object.fromEntries(extensions) }) };
}

function nested(one: string): readonly [string, Bag] {
  const [name = "", part] = one.split(".");
  return [name, part === undefined ? {} : { [part]: {} }];
}
