// Owns: what a handler returns, as JSON that fits its definition. Does not own: refusals and failures (registry.ts).

import {
  type Bag,
  BARE_RESULT,
  CONTENT,
  isBag,
  isBareResult,
  type Json,
  TroupeError,
  isList,
  EngineError,
} from "../../core/contract/index.ts";
import { isContent, invalidInBlock, DEEPEST, setOwn } from "../../core/contract/internal.ts";
import { isStandard, type Schema } from "../../core/schema/index.ts";
import { check } from "./json.ts";

const NOTHING: readonly Json[] = [];

/** A result that has been looked at already, by whoever wanted to hear what is wrong with it. */
export class Settled {
  readonly value: Json;
  constructor(value: Json) {
    this.value = value;
  }
}

/**
 * What a handler returned as its callers get it: JSON, of a tool with `output` as that schema makes it. Throws `STATE_NOT_JSON`, and
 * `BAD_TURN` for what no caller should read; neither quotes a value.
 */
export function settle(value: unknown, ref: string, output?: Schema): Json | Promise<Json> {
  const where = `What ${ref} returned`;
  if (typeof value === "object" && value !== null && ref.startsWith("tools/") && isBareResult(value))
    throw new TroupeError("BAD_TURN", `${where} ${BARE_RESULT}.`);
  if (output !== undefined) return fitting(value, where, output).then((made) => readable(made, ref, where));
  return readable(plain(value, where), ref, where);
}

/** With blocks that clients can read: over one that they cannot they refuse the whole result. */
function readable(made: Json, ref: string, where: string): Json {
  if (!isBag(made)) return made;
  for (const [at, block] of blocksIn(made, ref).entries()) {
    const wrong = isBag(block) ? invalidInBlock(block) : undefined;
    if (wrong !== undefined)
      throw new TroupeError("BAD_TURN", `${where} has a block no client can read, /${at}: ${wrong}. Make blocks with text(), image(), ….`);
  }
  return made;
}

function blocksIn(made: Bag, ref: string): readonly Json[] {
  if (isContent(made)) return made[CONTENT];
  const { messages } = made;
  if (!isList(messages) || !ref.startsWith("prompts/")) return NOTHING;
  return messages.map((one) => (isBag(one) ? (one["content"] ?? null) : null));
}

async function fitting(value: unknown, where: string, output: Schema): Promise<Json> {
  if (!isContent(value)) return plain(await fitted(value, where, output), where);
  if (value["isError"] === true) return plain(value, where);
  return plain({ ...value, structured: await fitted(value["structured"], where, output) }, where);
}

async function fitted(value: unknown, where: string, output: Schema): Promise<unknown> {
  // A library's own schema may take more than JSON, and make JSON of it.
  const checked = await check(output, isStandard(output) ? value : plain(value, where));
  if ("value" in checked) return checked.value;
  throw new TroupeError("BAD_TURN", `${where} is not its \`output\`: ${checked.wrong}.`);
}

/** Where it is not JSON, and why. */
class NotJson {
  readonly path: readonly (string | number)[];
  readonly why: string;
  constructor(why: string, path: readonly (string | number)[] = []) {
    this.why = why;
    this.path = path;
  }
}

/**
 * What JSON keeps of a value, as `JSON.stringify` has it (`toJSON`, what is undefined left out); but what would become `{}` or a list
 * of numbers without a word is refused. Throws `STATE_NOT_JSON`, naming the path.
 */
function plain(value: unknown, where: string): Json {
  // Most results are text, which nothing has to be done for.
  if (typeof value === "string") return value;
  if (value === undefined) return null;
  let copy: Json | NotJson | undefined;
  try {
    copy = copied(value, 0);
  } catch (cause) {
    throw new EngineError("STATE_NOT_JSON", `${where} is not JSON: it cannot be read.`, { applied: "unknown", cause });
  }
  if (copy !== undefined && !(copy instanceof NotJson)) return copy;
  const { why, path } = copy ?? new NotJson(`is a ${typeof value} (return text, or plain values)`);
  const at = path.length === 0 ? "it" : `/${path.join("/").slice(0, 200)}`;
  throw new EngineError("STATE_NOT_JSON", `${where} is not JSON: ${at} ${why}.`, { applied: "unknown" });
}

/** Undefined: JSON leaves it out. */
function copied(value: unknown, depth: number): Json | NotJson | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "bigint":
      return new NotJson("is a bigint (use its text)");
    case "object":
      if (value === null) return null;
      return depth >= DEEPEST ? new NotJson(`is deeper than ${DEEPEST} levels, or holds itself`) : copiedObject(value, depth);
    default:
      return undefined;
  }
}

function copiedObject(object: object, depth: number): Json | NotJson | undefined {
  if (Array.isArray(object)) return copiedList(object, depth);
  const prototype: unknown = Object.getPrototypeOf(object);
  const isPlain = prototype === Object.prototype || prototype === null;
  const why = isPlain ? undefined : lost(object);
  if (why !== undefined) return new NotJson(why);
  if ("toJSON" in object && typeof object.toJSON === "function") {
    const written: unknown = object.toJSON();
    return written === object ? new NotJson("gives itself for its JSON") : copied(written, depth + 1);
  }
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(object)) {
    const made = copied(Reflect.get(object, key), depth + 1);
    if (made instanceof NotJson) return new NotJson(made.why, outer(key, made));
    if (made === undefined) continue;
    setOwn(copy, key, made);
  }
  return copy;
}

function copiedList(list: readonly unknown[], depth: number): Json | NotJson {
  const copy: Json[] = [];
  for (const item of list) {
    const made = copied(item, depth + 1);
    if (made instanceof NotJson) return new NotJson(made.why, outer(copy.length, made));
    copy.push(made ?? null);
  }
  return copy;
}

// Of what holds itself the path has no end: its beginning says enough.
const outer = (step: string | number, { path }: NotJson): readonly (string | number)[] => [step, ...path.slice(0, 15)];

function lost(object: object): string | undefined {
  if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer)
    return "is bytes (return blob(bytes) of a resource, content([image(bytes, type)]) of a tool)";
  if (object instanceof Promise) return "is a promise (await it)";
  if (object instanceof Error) return "is an error (throw it, or return failure(…))";
  if (object instanceof Map || object instanceof Set) return `is a ${object.constructor.name} (use Object.fromEntries(…), or a list of it)`;
  return undefined;
}
