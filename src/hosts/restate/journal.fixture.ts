import { type DurableContext, type Handler, InvocationCancelled } from "./durable-context.ts";
import type { MapText } from "./map-text.fixture.ts";

/**
 * Where an attempt ends at its nth step: nothing of it is journalled (`before`), it goes on by itself (`during`), its end is lost (`done`),
 * or it is journalled (`kept`). What the attempt does not run itself is journalled by what runs it.
 */
export interface Cut {
  readonly step: number;
  readonly place: (typeof PLACES)[number];
}

export const PLACES = ["before", "during", "done", "kept"] as const;

export interface Faults {
  /** One per attempt; the attempt after the last of them runs to its end. */
  readonly cuts?: readonly Cut[];
  /** The nth wait ends with a cancellation. `begun`: what it waited for was in progress. */
  readonly cancelled?: { readonly wait: number; readonly begun: boolean };
}

/** The environment of the invocation. */
export interface InvocationEnvironment {
  readonly invocation: string;
  readonly keys: MapText;
  call(to: Handler, input: unknown): Promise<unknown>;
  send(to: Handler, input: unknown, afterMs: number | undefined): void;
  sleep(ms: number): Promise<void>;
  /** Another attempt starts. */
  again(): void;
}

export interface Invoked {
  readonly outcome: unknown;
  readonly attempts: number;
  /** Of the last attempt. */
  readonly steps: number;
  readonly waits: number;
  /** It was cancelled. */
  readonly cancelled: boolean;
  /** Commands that change something, in order. */
  readonly effects: readonly string[];
}

interface Entry {
  /** The command: another attempt must have the same, as the server checks. */
  readonly command: string;
  /** Its answer as text, once it is known. */
  answer?: Promise<string>;
  cancelled?: true;
}

const MOST_ATTEMPTS = 1_000;
/** Of one entry in a server's journal: it accepts no longer one, and retries for ever. */
const MOST_BYTES = 32 * 2 ** 20;

export function assertAccepted(what: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > MOST_BYTES) throw new Error(`The server takes no ${what} of ${bytes} bytes, in any attempt.`);
}

/**
 * One invocation on a durable engine: it runs from the start after each cut, journalled steps once. Everything is stored as text, and takes
 * effect as soon as it is journalled.
 */
export class Journal {
  readonly #environment: InvocationEnvironment;
  readonly #faults: Faults;
  readonly #entries: Entry[] = [];

  constructor(environment: InvocationEnvironment, faults: Faults = {}) {
    this.#environment = environment;
    this.#faults = faults;
  }

  async run(handler: (context: DurableContext) => Promise<unknown>): Promise<Invoked> {
    for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts += 1) {
      const attempt = new Attempt(this.#environment, this.#entries, this.#faults.cuts?.[attempts - 1], this.#faults.cancelled);
      const ended = await Promise.race([handler(attempt).then((value) => ({ text: JSON.stringify(value) ?? "null" })), attempt.cutOff]);
      if (ended === undefined) {
        this.#environment.again();
        continue;
      }
      assertAccepted("output", ended.text);
      const { steps, waits } = attempt;
      if (steps < this.#entries.length)
        throw new Error(`This attempt ended before step ${steps}, where one before it did: ${this.#entries[steps]?.command}`);
      const effects = this.#entries.flatMap(({ command }) => (/^(set|clear|send|call) /.test(command) ? [command] : []));
      const outcome: unknown = JSON.parse(ended.text);
      const cancelled = this.#entries.some((entry) => entry.cancelled === true);
      return { outcome, attempts, steps, waits, cancelled, effects };
    }
    throw new Error(`It was run ${MOST_ATTEMPTS} times and came to no end.`);
  }
}

class Attempt implements DurableContext {
  readonly #environment: InvocationEnvironment;
  readonly #entries: Entry[];
  readonly #cut: Cut | undefined;
  readonly #withdrawal: Faults["cancelled"];
  readonly #superseded = new AbortController();
  readonly #over = Promise.withResolvers<undefined>();
  steps = 0;
  waits = 0;

  constructor(environment: InvocationEnvironment, entries: Entry[], cut: Cut | undefined, withdrawal: Faults["cancelled"]) {
    this.#environment = environment;
    this.#entries = entries;
    this.#cut = cut;
    this.#withdrawal = withdrawal;
  }

  get cutOff(): Promise<undefined> {
    return this.#over.promise;
  }

  invocation(): string {
    return this.#environment.invocation;
  }

  superseded(): AbortSignal {
    return this.#superseded.signal;
  }

  async get(name: string): Promise<string | undefined> {
    const text = await this.#wait(`get ${name}`, async () => this.#environment.keys.values.get(name.toWellFormed()), false);
    return typeof text === "string" ? text : undefined;
  }

  set(name: string, text: string): void {
    this.#command(`set ${name} ${text}`, () => this.#environment.keys.write([name, text]));
  }

  clear(name: string): void {
    this.#command(`clear ${name}`, () => this.#environment.keys.clear(name));
  }

  run(name: string, action: () => Promise<unknown>): Promise<unknown> {
    return this.#wait(`run ${name}`, action, true);
  }

  call(to: Handler, input: unknown): Promise<unknown> {
    const text = JSON.stringify(input);
    return this.#wait(`call ${named(to)} ${text}`, () => this.#environment.call(to, JSON.parse(text)), false);
  }

  /** As the server sees it: one call after the other, and then their answers. */
  async callAll(calls: readonly (readonly [to: Handler, input: unknown])[]): Promise<readonly unknown[]> {
    const answers: unknown[] = [];
    for (const [to, input] of calls) answers.push(await this.call(to, input));
    return answers;
  }

  /** The delay is not part of the command: the server does not compare it either. */
  send(to: Handler, input: unknown, afterMs?: number): void {
    const text = JSON.stringify(input);
    this.#command(`send ${named(to)} ${text}`, () => this.#environment.send(to, JSON.parse(text), afterMs));
  }

  async sleep(ms: number): Promise<void> {
    await this.#wait("sleep", () => this.#environment.sleep(ms), false);
  }

  #command(command: string, apply: () => void): void {
    if (this.#superseded.signal.aborted || this.#cutAt("before")) return;
    const entry = this.#entry(command);
    if (entry === undefined) return;
    if (entry.answer === undefined) {
      entry.answer = Promise.resolve("null");
      apply();
    }
    this.steps += 1;
    if (this.#cut?.step === this.steps - 1) void this.#end();
  }

  /** `own`: the attempt itself does it, so that its end can be lost. */
  async #wait(command: string, make: () => Promise<unknown>, own: boolean): Promise<unknown> {
    if (this.#superseded.signal.aborted || this.#cutAt("before")) return NEVER;
    const entry = this.#entry(command);
    if (entry === undefined) return NEVER;
    const place = this.#cut?.step === this.steps ? this.#cut.place : undefined;
    this.steps += 1;
    const wait = this.waits++;
    if (entry.cancelled || (this.#withdrawal?.wait === wait && entry.answer === undefined)) {
      if (!entry.cancelled && this.#withdrawal?.begun === true) make().catch(() => undefined);
      entry.cancelled = true;
      if (place !== undefined) return this.#end();
      throw new InvocationCancelled("The invocation was cancelled.");
    }
    const making = entry.answer ?? make().then((value) => JSON.stringify(value) ?? "null");
    if (!own) entry.answer = making;
    if (place === "during") {
      // Aborted, but not abandoned: its result counts.
      if (own) making.then(() => (entry.answer = making)).catch(() => undefined);
      return this.#end(making);
    }
    let text: string;
    try {
      text = await making;
      assertAccepted("answer", text);
    } catch {
      // A rejected step is run again.
      return this.#end();
    }
    if (this.#superseded.signal.aborted || place === "done") return this.#end();
    entry.answer = making;
    if (place === "kept") return this.#end();
    const answer: unknown = JSON.parse(text);
    return answer;
  }

  #entry(command: string): Entry | undefined {
    const known = this.#entries[this.steps];
    try {
      assertAccepted("command", command);
    } catch (error) {
      this.#over.reject(error);
      this.#superseded.abort();
      return undefined;
    }
    if (known === undefined) {
      const entry: Entry = { command };
      this.#entries.push(entry);
      return entry;
    }
    if (known.command === command) return known;
    this.#over.reject(
      new Error(
        `Step ${this.steps} of another attempt is another:\n  first ${known.command}\n  then  ${command}\nThe server refuses that.`,
      ),
    );
    this.#superseded.abort();
    return undefined;
  }

  #cutAt(place: "before"): boolean {
    if (this.#cut?.step !== this.steps || this.#cut.place !== place) return false;
    void this.#end();
    return true;
  }

  /** Waiters never settle. The next attempt starts once this one's own step has seen that it is over. */
  #end(doing?: Promise<unknown>): Promise<never> {
    this.#superseded.abort();
    void Promise.allSettled([doing]).then(() => this.#over.resolve(undefined));
    return NEVER;
  }
}

const NEVER = new Promise<never>(() => undefined);

const named = ({ object, key, handler }: Handler): string => `${object}/${key ?? ""}/${handler}`;
