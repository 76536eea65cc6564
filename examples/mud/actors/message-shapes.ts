import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { fromJsonSchema } from "troupe";
import type { JsonObject } from "troupe/contract";

/** A minimal schema. Messages between the game's own actors need no more. */
export interface Shape<T> extends StandardSchemaV1<T, T> {
  /** Throws `InvalidValue`. */
  read(value: unknown, path: string): T;
}

class InvalidValue extends Error {
  readonly path: string;
  constructor(path: string, expected: string) {
    super(`must be ${expected}`);
    this.path = path;
  }
}

function shape<T>(read: (value: unknown, path: string) => T): Shape<T> {
  return {
    read,
    "~standard": {
      version: 1,
      vendor: "mud",
      validate(value) {
        try {
          return { value: read(value, "") };
        } catch (error) {
          if (error instanceof InvalidValue) return { issues: [{ message: error.message, path: error.path.split(".").slice(1) }] };
          throw error;
        }
      },
    },
  };
}

export const text: Shape<string> = shape((value, path) => {
  if (typeof value === "string") return value;
  throw new InvalidValue(path, "text");
});

export const number: Shape<number> = shape((value, path) => {
  if (typeof value === "number") return value;
  throw new InvalidValue(path, "a number");
});

export const flag: Shape<boolean> = shape((value, path) => {
  if (typeof value === "boolean") return value;
  throw new InvalidValue(path, "true or false");
});

export function oneOf<const T extends string>(words: readonly T[]): Shape<T> {
  return shape((value, path) => {
    const found = words.find((one) => one === value);
    if (found === undefined) throw new InvalidValue(path, `one of ${words.join(", ")}`);
    return found;
  });
}

export function nullable<T>(inner: Shape<T>): Shape<T | null> {
  return shape((value, path) => (value === null || value === undefined ? null : inner.read(value, path)));
}

export function list<T>(inner: Shape<T>): Shape<T[]> {
  return shape((value, path) => {
    if (!Array.isArray(value)) throw new InvalidValue(path, "a list");
    return value.map((item, index) => inner.read(item, `${path}.${index}`));
  });
}

type Fields<F> = { [K in keyof F]: F[K] extends Shape<infer T> ? T : never };

export function fields<F extends Readonly<Record<string, Shape<unknown>>>>(inner: F): Shape<Fields<F>>;
export function fields(inner: Readonly<Record<string, Shape<unknown>>>): Shape<object> {
  return shape((value, path) => {
    if (typeof value !== "object" || value === null) throw new InvalidValue(path, "an object");
    return Object.fromEntries(Object.entries(inner).map(([key, one]) => [key, one.read(Reflect.get(value, key), `${path}.${key}`)]));
  });
}

/** The arguments of a message that carries the reply to an earlier one. */
export interface ReplyArguments<T> {
  /** Id of the message that this replies to. */
  requestId: string;
  /** Null if it was refused. */
  value: T | null;
  /** Whether it was refused because its receiver has stopped or does not exist. */
  receiverStopped: boolean;
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

export function replyArguments<T>(inner: Shape<T>): Shape<ReplyArguments<T>> {
  return shape((value, path) => {
    const reply = member(value, "reply");
    const ok = member(reply, "ok") ?? null;
    const code = member(member(reply, "refused"), "code");
    const requestId = text.read(member(value, "of"), `${path}.of`);
    return {
      requestId,
      value: ok === null ? null : inner.read(ok, `${path}.reply.ok`),
      receiverStopped: code === "ACTOR_STOPPED" || code === "NO_ACTOR",
    };
  });
}

/**
 * The arguments of a tool. Clients see `schema`, and arguments that do not match it are refused. `inner` gives them a type, and `tidy`
 * normalises them.
 */
export function argument<T>(
  schema: JsonObject,
  inner: Shape<T>,
  tidy: (value: T) => T = (value) => value,
): StandardSchemaV1<T, T> & StandardJSONSchemaV1<T, T> {
  // Compiled on first use, since loading the compiler takes longer than loading the game.
  let compiled: StandardSchemaV1<T, T> | undefined;
  const { validate: read } = shape((value, path) => tidy(inner.read(value, path)))["~standard"];
  const validate = (value: unknown): ReturnType<typeof read> => {
    const taken = read(value);
    if (taken instanceof Promise || taken.issues !== undefined) return taken;
    const fitting = (compiled ??= fromJsonSchema<T>(schema))["~standard"].validate(value);
    return fitting instanceof Promise || fitting.issues !== undefined ? fitting : taken;
  };
  return {
    "~standard": { version: 1, vendor: "mud", validate, jsonSchema: { input: () => ({ ...schema }), output: () => ({ ...schema }) } },
  };
}
