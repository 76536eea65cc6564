import type { WitValue } from "../wit.ts";
import { type Codec, type CoreType, isRecord, roundUp, u32At, unfit } from "./codec.ts";
import { GuestTrap } from "./errors.ts";
import { joined, sharing } from "./join.ts";
import type { GuestMemory } from "./memory.ts";

/** How one case looks outside: its value, and what of it is the payload. */
interface Case {
  readonly codec?: Codec | undefined;
  readonly wrap: (payload: WitValue) => WitValue;
}

interface Choice {
  /** In WIT's words, for errors. */
  readonly type: string;
  readonly cases: readonly Case[];
  /** Which case the value is of; negative: none. */
  readonly which: (value: WitValue) => number;
  readonly payload: (value: WitValue, which: number) => WitValue;
}

export function optionOf(some: Codec): Codec {
  return choiceOf({
    type: "option",
    cases: [{ wrap: () => undefined }, { codec: some, wrap: (payload) => payload }],
    which: (value) => (value === undefined ? 0 : 1),
    payload: (value) => value,
  });
}

export function resultOf(ok: Codec | undefined, err: Codec | undefined): Codec {
  return choiceOf({
    type: "result",
    cases: [
      { codec: ok, wrap: (payload) => ({ ok: payload }) },
      { codec: err, wrap: (payload) => ({ err: payload }) },
    ],
    which: (value) => (!isRecord(value) ? -1 : "err" in value ? 1 : "ok" in value ? 0 : -1),
    payload: (value, which) => (isRecord(value) ? value[which === 0 ? "ok" : "err"] : undefined),
  });
}

export function enumOf(names: readonly string[]): Codec {
  return choiceOf({
    type: "enum",
    cases: names.map((name) => ({ wrap: () => name })),
    which: (value) => (typeof value === "string" ? names.indexOf(value) : -1),
    payload: () => undefined,
  });
}

export function variantOf(cases: Readonly<Record<string, Codec | undefined>>): Codec {
  const names = Object.keys(cases);
  return choiceOf({
    type: "variant",
    cases: Object.entries(cases).map(([name, codec]) => ({ codec, wrap: (payload) => ({ [name]: payload }) })),
    which: (value) => (isRecord(value) ? names.findIndex((name) => Object.hasOwn(value, name)) : -1),
    payload: (value, which) => (isRecord(value) ? value[names[which] ?? ""] : undefined),
  });
}

function choiceOf({ type, cases, which, payload }: Choice): Codec {
  const tag = cases.length <= 0x100 ? 1 : cases.length <= 0x10000 ? 2 : 4;
  const align = Math.max(tag, ...cases.map(({ codec }) => codec?.align ?? 1));
  const offset = roundUp(tag, Math.max(1, ...cases.map(({ codec }) => codec?.align ?? 1)));
  const size = roundUp(offset + Math.max(0, ...cases.map(({ codec }) => codec?.size ?? 0)), align);
  const shared: readonly CoreType[] = joined(cases.map(({ codec }) => codec?.flat ?? []));
  const whole = cases.map((one) => ({ ...one, passed: sharing(one.codec, shared) }));
  const chosen = (index: number): (typeof whole)[number] => {
    const one = whole[index];
    if (one === undefined) throw new GuestTrap(`The guest gave case ${index} of a type ${type} that has ${cases.length}.`);
    return one;
  };
  const indexOf = (value: WitValue): number => {
    const index = which(value);
    if (index < 0) throw unfit(type);
    return index;
  };
  return {
    size,
    align,
    flat: ["i32", ...shared],
    load(memory, at) {
      const { codec, wrap } = chosen(readTag(memory, at, tag));
      return wrap(codec?.load(memory, at + offset));
    },
    store(memory, value, at) {
      const index = indexOf(value);
      writeTag(memory, at, tag, index);
      chosen(index).codec?.store(memory, payload(value, index), at + offset);
    },
    lift(memory, flat, at) {
      const { passed, wrap } = chosen(u32At(flat, at));
      return wrap(passed.lift(memory, flat, at + 1));
    },
    lower(memory, value, flat, at) {
      const index = indexOf(value);
      flat[at] = index;
      chosen(index).passed.lower(memory, payload(value, index), flat, at + 1);
    },
  };
}

function readTag({ view }: GuestMemory, at: number, bytes: number): number {
  if (bytes === 1) return view.getUint8(at);
  return bytes === 2 ? view.getUint16(at, true) : view.getUint32(at, true);
}

function writeTag({ view }: GuestMemory, at: number, bytes: number, index: number): void {
  if (bytes === 1) view.setUint8(at, index);
  else if (bytes === 2) view.setUint16(at, index, true);
  else view.setUint32(at, index, true);
}
