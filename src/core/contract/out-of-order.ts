import { isList } from "./json.ts";
import { isTexts } from "./texts.ts";

/** What a client is told of an offer whose author's code fails where it says whether, or with what, the offer can be used. */
export function outOfOrder(ref: string): string {
  return `This ${ref.slice(0, ref.indexOf("/") - 1)} is out of order.`;
}

/** By its name only: a message may hold what it is about. */
export function nameOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name.slice(0, 100) : `a ${typeof thrown}`;
}

/** What an author's code gave, without what is in it. */
export function shapeOf(given: unknown): string {
  if (given === undefined || given === null) return String(given);
  if (typeof given === "string") return "text";
  if (isList(given))
    return isTexts(given) ? "a list of texts" : `a list that holds ${shapeOf(given.find((one) => typeof one !== "string"))}`;
  if (typeof given === "object") return "then" in given ? "a promise" : "an object";
  return `a ${typeof given}`;
}

/** The class that made an object, whatever its own members are called. */
export function classOf(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  const made: unknown = typeof prototype === "object" && prototype !== null ? Reflect.get(prototype, "constructor") : undefined;
  return typeof made === "function" && made.name !== "" ? made.name : "object without a plain prototype";
}
