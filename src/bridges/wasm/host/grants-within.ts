import type { Grants } from "../manifest.ts";

type Granted<K extends keyof Grants> = NonNullable<Grants[K]>;

const environment = (child: Granted<"environment">, parent: Granted<"environment">): boolean =>
  child.allowed.every((name) => parent.allowed.includes(name) || parent.prefixes.some((prefix) => name.startsWith(prefix))) &&
  child.prefixes.every((name) => parent.prefixes.some((prefix) => name.startsWith(prefix))) &&
  (!child.listAll || parent.listAll) &&
  parent.denied.every((name) => child.denied.includes(name));

// A directory of its own takes nothing of anybody's.
const filesystem = (child: Granted<"filesystem">, parent: Granted<"filesystem">): boolean =>
  (child.path === undefined || child.path === parent.path) && (!child.write || parent.write);

const timing = (child: Granted<"timing">, parent: Granted<"timing">): boolean =>
  child.minSleepMs >= parent.minSleepMs && child.maxSleepMs <= parent.maxSleepMs;

const random = (child: Granted<"random">, parent: Granted<"random">): boolean =>
  child.maxBytes <= parent.maxBytes && child.maxInt <= parent.maxInt;

const httpClient = (child: Granted<"httpClient">, parent: Granted<"httpClient">): boolean =>
  parent.allowed.includes("*") || child.allowed.every((entry) => parent.allowed.includes(entry));

/** Whether the first is granted no more than the second; both are there. */
const within = <T>(child: T | undefined, parent: T | undefined, holds: (child: T, parent: T) => boolean = () => true): boolean =>
  child === undefined || (parent !== undefined && holds(child, parent));

/** By their names in manifests. */
const CHECKS: Readonly<Record<string, (child: Grants, parent: Grants) => boolean>> = {
  "message-server": (child, parent) => within(child.messageServer, parent.messageServer),
  supervisor: (child, parent) => within(child.supervisor, parent.supervisor),
  store: (child, parent) => within(child.store, parent.store),
  timing: (child, parent) => within(child.timing, parent.timing, timing),
  random: (child, parent) => within(child.random, parent.random, random),
  environment: (child, parent) => within(child.environment, parent.environment, environment),
  filesystem: (child, parent) => within(child.filesystem, parent.filesystem, filesystem),
  "http-client": (child, parent) => within(child.httpClient, parent.httpClient, httpClient),
};

/** What the first grants beyond the second; undefined: nothing. */
export const excessOf = (child: Grants, parent: Grants): string | undefined =>
  Object.keys(CHECKS).find((name) => CHECKS[name]?.(child, parent) === false);
