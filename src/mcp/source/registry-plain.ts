import { EngineError, type Json } from "../../core/contract/index.ts";
import { DEEPEST, setOwn } from "../../core/contract/internal.ts";

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
export function plain(value: unknown, where: string): Json {
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
