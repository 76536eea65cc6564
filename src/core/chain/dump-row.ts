import { isBag, type KeyedCall, type Message, type Policy, type Reply, type Row, type SetWake, type Status } from "../contract/index.ts";
import { hasOwn, isAddress, isTexts } from "../contract/internal.ts";
import { MOST_WAKES } from "./turn.ts";

// What hostile JSON must be before it is taken for what its place says.

const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const isTrue = (value: unknown): value is true => value === true;
const isMaybe = <T>(value: unknown, is: (value: unknown) => value is T): value is T | undefined => value === undefined || is(value);
const isStatus = (value: unknown): value is Status => value === "live" || value === "failed" || value === "stopped";
const isPolicy = (value: unknown): value is Partial<Policy> => isBag(value) && isMaybe(value["expireMs"], isNumber);

/** Far enough below what a number counts exactly to be counted on from. */
const MOST = 2 ** 52;
export const isCount = (value: unknown): value is number => isNumber(value) && Number.isInteger(value) && value >= 0 && value <= MOST;

/** What a `Date` can be. What is far beyond, a database keeps and cannot be read from it any more, with all rows beside it. */
export const isTime = (value: unknown): value is number => isNumber(value) && Math.abs(value) <= 8.64e15;

const isVersion = (value: unknown): value is number => Number.isSafeInteger(value);
const isInterval = (value: unknown): value is number => isNumber(value) && value >= 1;

const isWake = (value: unknown): value is SetWake =>
  isBag(value) &&
  isNumber(value["at"]) &&
  isText(value["action"]) &&
  isMaybe(value["everyMs"], isInterval) &&
  isMaybe(value["cause"], isText) &&
  isMaybe(value["rang"], isTime);

export const isRow = (value: unknown): value is Row =>
  isBag(value) &&
  isText(value["uid"]) &&
  isText(value["life"]) &&
  isVersion(value["version"]) &&
  isTime(value["createdAt"]) &&
  isTime(value["lastMessageAt"]) &&
  isCount(value["messageCount"]) &&
  isMaybe(value["policy"], isPolicy) &&
  isStatus(value["status"]) &&
  isMaybe(value["owner"], isText) &&
  isMaybe(value["parent"], isAddress) &&
  isMaybe(value["muted"], isTrue) &&
  isBag(value["wakes"]) &&
  Object.keys(value["wakes"]).length <= MOST_WAKES &&
  Object.values(value["wakes"]).every(isWake) &&
  isBag(value["pending"]);

const isReply = (value: unknown): value is Reply =>
  isBag(value) &&
  (hasOwn(value, "ok") ||
    isBag(value["needs"]) ||
    (isBag(value["refused"]) && isText(value["refused"]["code"]) && isText(value["refused"]["message"])));

export const isCall = (value: unknown): value is KeyedCall =>
  isBag(value) && isText(value["key"]) && isText(value["call"]) && isNumber(value["until"]) && isMaybe(value["reply"], isReply);

export const isMessage = (value: unknown): value is Message =>
  isBag(value) &&
  isText(value["id"]) &&
  isAddress(value["to"]) &&
  isText(value["action"]) &&
  value["args"] !== undefined &&
  isTime(value["at"]) &&
  isText(value["seed"]) &&
  isMaybe(value["viewer"], isViewer) &&
  isMaybe(value["policy"], isPolicy) &&
  isMaybe(value["replyAs"], isText) &&
  isMaybe(value["from"], isAddress) &&
  isMaybe(value["cause"], isText) &&
  isMaybe(value["deadline"], isNumber) &&
  isMaybe(value["trace"], isBag) &&
  isMaybe(value["answers"], isBag) &&
  isMaybe(value["can"], isTexts);

const isViewer = (value: unknown): value is NonNullable<Message["viewer"]> =>
  isBag(value) && isMaybe(value["principal"], isText) && isMaybe(value["self"], isAddress) && isTexts(value["scopes"]);

const wakeOf = ({ at, everyMs, action, args, cause, rang }: SetWake): SetWake => ({
  at,
  ...(everyMs === undefined ? {} : { everyMs }),
  action,
  ...(args === undefined ? {} : { args }),
  ...(cause === undefined ? {} : { cause }),
  ...(rang === undefined ? {} : { rang }),
});

/** Key by key, in this order: the same row has the same text whoever built it, and nothing unknown comes along. */
export const rowOf = (row: Row): Row => {
  const { uid, life, version, createdAt, lastMessageAt, messageCount, policy, status, owner, parent, muted, wakes, pending } = row;
  return {
    uid,
    life,
    version,
    createdAt,
    lastMessageAt,
    messageCount,
    ...(policy === undefined ? {} : { policy }),
    status,
    ...(owner === undefined ? {} : { owner }),
    ...(parent === undefined ? {} : { parent }),
    ...(muted === undefined ? {} : { muted }),
    wakes: Object.fromEntries(Object.entries(wakes).map(([name, wake]) => [name, wakeOf(wake)])),
    pending,
  };
};
